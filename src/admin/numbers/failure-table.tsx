import type { FailureCount } from '../../../db/counters/read.ts'
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
        <p class="muted">Nothing went wrong.</p>
      ) : (
        <div class="scroll">
          <table class="numbers">
            <thead>
              <tr>
                <th scope="col">State</th>
                <th scope="col">Reason</th>
                <th scope="col">Code</th>
                <th scope="col">Sends</th>
              </tr>
            </thead>
            <tbody>
              {failures.map((failure) => (
                <tr>
                  <td data-label="State">{failure.state}</td>
                  <td data-label="Reason" class="words">
                    {faultWords[failure.reason] ?? (failure.reason || 'as the provider reported')}
                  </td>
                  <td data-label="Code">{failure.code || '–'}</td>
                  <td data-label="Sends">
                    <Sends {...{ failure, of, from }} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  )
}

/** Leads to the sends by their state and code, which is the only filter: not where other reasons have this code too, or there is none. */
function Sends({
  failure: { state, code, isOnlyOfCode, sends },
  ...shown
}: Pick<FailureTableProps, 'of' | 'from'> & { failure: FailureCount }) {
  if (code === '' || !isOnlyOfCode) return <>{formatCount(sends)}</>
  const ofState = state === 'undelivered' ? ({ status: 'sent', delivery: state } as const) : { status: state }
  return <CountLink {...shown} filter={{ ...ofState, providerCode: code }} count={sends} />
}
