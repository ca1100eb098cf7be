import type { SameContent } from '../../../db/sends/same-content.ts'
import { apiKeyWords, idempotencyKeyWords } from '../../core/sends/posted-by.ts'
import { DataTable } from '../page/data-table.tsx'
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
      <DataTable
        label="Sends with the same content"
        rows={sends}
        idOf={({ requestId }) => requestId}
        columns={[
          {
            name: 'Accepted',
            cell: (send) => (
              <>
                <Moment at={send.acceptedAt} precise short />
                <small class="below id">
                  {send.requestId === requestId ? (
                    'this one'
                  ) : (
                    <a href={`/support/${send.requestId}`}>{send.requestId}</a>
                  )}
                </small>
              </>
            ),
          },
          { name: 'State', cell: ({ status }) => <State status={status} /> },
          { name: 'API key', cell: apiKeyWords },
          { name: 'Idempotency-Key', cell: idempotencyKeyWords },
        ]}
      />
      <p class="muted">
        A repeat with the same Idempotency-Key makes no second send: the client posted these with several
        keys, without one, or in one batch. Of an Idempotency-Key only a hash is kept.
      </p>
    </section>
  )
}
