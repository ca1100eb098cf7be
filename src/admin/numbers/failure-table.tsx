import type { FailureCount } from '../../../db/counters/read.ts'
import { DataTable } from '../page/data-table.tsx'
import { State } from '../page/inline-elements.tsx'
import { type CountedOf, CountLink } from './figure-link.tsx'
import { formatCount } from './spans.ts'

/** Whose fault it was, in words. Other reasons are the service's own, and say themselves. */
const faultWords: Record<string, string> = {
  provider: 'at the provider, or on the way to it',
  recipient: 'by the recipient: their number, mailbox or a limit of messages to them',
  message: 'by the message or its media',
  sender: 'by the channel: its credentials, sender or account',
}

interface FailureTableProps {
  failures: readonly FailureCount[]
  title: string
  of: CountedOf
  /** Sends that were accepted since then count. */
  from: Date
}

/** Failures by reason and code, the most frequent first. */
export function FailureTable({ failures, title, of, from }: FailureTableProps) {
  return (
    <section aria-labelledby="reasons">
      <h2 id="reasons">{title}</h2>
      {failures.length === 0 ? (
        <p class="muted">Nothing went wrong. Sends that fail would be here, by their reason and code.</p>
      ) : (
        <DataTable
          label={title}
          rows={failures}
          idOf={({ state, reason, code }) => [state, reason, code].join(' ')}
          columns={[
            { name: 'State', cell: ({ state }) => <FailureState state={state} /> },
            {
              name: 'Reason',
              cell: ({ reason }) => faultWords[reason] ?? (reason || 'as the provider reported'),
            },
            { name: 'Code', cell: ({ code }) => code || '–' },
            { name: 'Sends', isNumber: true, cell: (failure) => <Sends {...{ failure, of, from }} /> },
          ]}
        />
      )}
    </section>
  )
}

const FailureState = ({ state }: Pick<FailureCount, 'state'>) =>
  state === 'undelivered' ? <span class="state failed">undelivered</span> : <State status={state} />

/** Leads to the sends by their state and code, which is the only filter: not where other reasons have this code too, or there is none. */
function Sends({
  failure: { state, code, isOnlyOfCode, sends },
  ...shown
}: Pick<FailureTableProps, 'of' | 'from'> & { failure: FailureCount }) {
  if (code === '' || !isOnlyOfCode) return <>{formatCount(sends)}</>
  const ofState = state === 'undelivered' ? ({ status: 'sent', delivery: state } as const) : { status: state }
  return <CountLink {...shown} filter={{ ...ofState, providerCode: code }} count={sends} />
}
