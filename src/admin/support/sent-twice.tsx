import type { SameContent } from '../../../db/sends/same-content.ts'
import { apiKeyWords, idempotencyKeyWords } from '../../core/sends/posted-by.ts'
import { tableRows } from '../page/each-shown.tsx'
import { Moment, State } from '../page/inline-elements.tsx'

/** Which other sends to the contact have the same content, and what is known of how each was posted. */
export function SentTwice({ same: { sends, isAll }, requestId }: { same: SameContent; requestId: string }) {
  if (sends.length === 0) return null
  const others = sends.length - 1
  return (
    <section aria-labelledby="twice">
      <h2 id="twice">Sent twice?</h2>
      <p>
        {others === 1 ? 'Another send' : `${others} other sends`} to this contact within a day{' '}
        {others === 1 ? 'has' : 'have'} the same content. Of media, the description is compared, not the file.
        {!isAll && ' Only the newest 100 sends to this contact were compared.'}
      </p>
      <div class="scroll">
        <table class="dense">
          <thead>
            <tr>
              <th scope="col">Accepted</th>
              <th scope="col">State</th>
              <th scope="col">API key</th>
              <th scope="col">Idempotency-Key</th>
              <th scope="col">requestId</th>
            </tr>
          </thead>
          <tbody>
            {tableRows(5, {
              rows: sends,
              idOf: ({ requestId }) => requestId,
              render: (send) => (
                <tr>
                  <td>
                    <Moment at={send.acceptedAt} precise />
                  </td>
                  <td>
                    <State status={send.status} />
                  </td>
                  <td>{apiKeyWords(send)}</td>
                  <td>{idempotencyKeyWords(send)}</td>
                  <td class="id">
                    {send.requestId === requestId ? (
                      'this one'
                    ) : (
                      <a href={`/support/${send.requestId}`}>{send.requestId}</a>
                    )}
                  </td>
                </tr>
              ),
            })}
          </tbody>
        </table>
      </div>
      <p class="muted">
        A repeat with the same Idempotency-Key makes no second send: the client posted these with several
        keys, without one, or in one batch. Of an Idempotency-Key only a hash is kept.
      </p>
    </section>
  )
}
