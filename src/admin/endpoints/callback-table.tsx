import type { ShownCallback } from '../../../db/callbacks/shown-callbacks.ts'
import { ceilingType, testType } from '../../core/callbacks/callback.ts'
import type { CallbackTry } from '../../core/callbacks/callback-outcome.ts'
import { DataTable } from '../page/data-table.tsx'
import { Moment } from '../page/inline-elements.tsx'

/** Its path and query may hold secrets. */
export const hostOf = (url: string) => URL.parse(url)?.host ?? 'no URL'

/** Callbacks with their tries, and when the next one is. */
export function CallbackTable({
  callbacks,
  of,
}: {
  callbacks: readonly ShownCallback[]
  of: 'send' | 'endpoint'
}) {
  return (
    <DataTable
      label="Callbacks"
      rows={callbacks}
      idOf={({ requestId, sequence }) => `${requestId} ${sequence}`}
      columns={[
        { name: of === 'send' ? 'Endpoint' : 'Send', cell: (callback) => <About of={of} {...callback} /> },
        {
          name: 'Change',
          cell: ({ sequence, type, createdAt }) => (
            <>
              {sequence} {type}
              <small class="below">
                <Moment at={createdAt} short />
              </small>
            </>
          ),
        },
        { name: 'State', cell: (callback) => <CallbackState {...callback} /> },
        { name: 'Tries', cell: ({ tries }) => <Tries tries={tries} /> },
      ]}
    />
  )
}

function About({ of, type, endpointId, url, requestId }: ShownCallback & { of: 'send' | 'endpoint' }) {
  if (of === 'send') return <a href={`/endpoints/${endpointId}`}>{hostOf(url)}</a>
  // Their ids are those of no send.
  if (type === testType || type === ceilingType) return <span class="id">{requestId}</span>
  return (
    <a href={`/support/${requestId}/callbacks`} class="id">
      {requestId}
    </a>
  )
}

function CallbackState({ finishedAt, givenUp, isDisabled, isBehind, tried, nextTryAt }: ShownCallback) {
  if (givenUp) return <>given up</>
  if (finishedAt) return <>delivered</>
  if (isDisabled) return <>kept: the endpoint is disabled</>
  if (isBehind) return <>waits for the one before it</>
  if (nextTryAt.getTime() <= Date.now())
    return <>{tried === 0 ? 'about to be sent' : 'about to be tried again'}</>
  return (
    <>
      next try <Moment at={nextTryAt} short />
    </>
  )
}

function Tries({ tries }: { tries: readonly CallbackTry[] }) {
  if (tries.length === 0) return <span class="muted">none yet</span>
  return (
    <ol class="tries">
      {tries.map(({ at, status, reason, durationMs }) => (
        <li>
          <Moment at={at} short /> {status ?? reason} <span class="muted">{durationMs} ms</span>
        </li>
      ))}
    </ol>
  )
}
