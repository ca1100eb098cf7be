import type { FailureCount } from '../../../db/counters/read.ts'
import { formatCount } from './spans.ts'

/** Whose fault it was, in words. Other reasons are the service's own, and say themselves. */
const faultWords: Record<string, string> = {
  provider: 'at the provider, or on the way to it',
  recipient: 'by the recipient: their number, mailbox or a limit of messages to them',
  message: 'by the message or its media',
  sender: 'by the channel: its credentials, sender or account',
}

/** What went wrong, by reason and code, the most frequent first. */
export function FailureTable({ failures, title }: { failures: readonly FailureCount[]; title: string }) {
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
              {failures.map(({ state, reason, code, sends }) => (
                <tr>
                  <td data-label="State">{state}</td>
                  <td data-label="Reason" class="words">
                    {faultWords[reason] ?? (reason || 'as the provider reported')}
                  </td>
                  <td data-label="Code">{code || '–'}</td>
                  <td data-label="Sends">{formatCount(sends)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  )
}
