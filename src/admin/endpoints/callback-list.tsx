import type { ShownCallback } from '../../../db/callbacks/shown-callbacks.ts'
import type { Count } from '../../../db/sends/list-count.ts'
import { type CallbackState, callbackStates } from '../../core/callbacks/callback.ts'
import { totalOf } from '../numbers/spans.ts'
import { CallbackTable } from './callback-table.tsx'

export interface CallbackListProps {
  callbacks: readonly ShownCallback[]
  total: Count
  state: CallbackState | undefined
  /** After which callback the next page begins. */
  next: string | undefined
}

/** The callbacks of an endpoint in a state, on its page. */
export function callbacksLink(
  endpointId: string,
  { state, after }: { state?: CallbackState | undefined; after?: string },
): string {
  const query = new URLSearchParams({ ...(state && { state }), ...(after !== undefined && { after }) })
  return `/endpoints/${endpointId}${query.size > 0 ? `?${query}` : ''}#callbacks`
}

const stateNames: Record<CallbackState, string> = {
  waiting: 'Waiting',
  delivered: 'Delivered',
  given_up: 'Given up',
}

/** The callbacks of an endpoint, the newest first, in all states or in one. */
export function CallbackList({
  endpointId,
  callbacks,
  total,
  state,
  next,
}: CallbackListProps & { endpointId: string }) {
  return (
    <section aria-labelledby="callbacks">
      <div class="head">
        <h2 id="callbacks">Callbacks</h2>
        <nav class="tabs" aria-label="State">
          {[undefined, ...callbackStates].map((one) => (
            <a
              href={callbacksLink(endpointId, { state: one })}
              aria-current={one === state ? 'true' : undefined}
            >
              {one ? stateNames[one] : 'All'}
            </a>
          ))}
        </nav>
      </div>
      <p class="muted">{totalOf(total, 'callback')}, the newest first</p>
      {callbacks.length > 0 ? (
        <CallbackTable callbacks={callbacks} of="endpoint" />
      ) : (
        <p class="empty">
          {next === undefined
            ? 'No callback found. One for each change of a send would be here.'
            : 'No callback found among the newest.'}
        </p>
      )}
      {next !== undefined && (
        <p>
          <a class="button" href={callbacksLink(endpointId, { state, after: next })}>
            Older
          </a>
        </p>
      )}
    </section>
  )
}
