import { namesOf } from '../../../db/accounts/names.ts'
import type { Database } from '../../../db/connection/client.ts'
import type { ListedSend } from '../../../db/sends/list.ts'
import { summaryOf } from '../../core/sends/timeline.ts'
import { DataTable } from '../page/data-table.tsx'
import { Moment, State } from '../page/inline-elements.tsx'
import { type Contacts, showContact } from '../page/masking.ts'

/** The names of the accounts and channels of sends. */
export type Names = ReadonlyMap<string, string>

/** @param more further ids whose names are wanted. */
export const namesIn = (
  db: Database,
  sends: readonly ListedSend[],
  more: readonly string[] = [],
): Promise<Names> =>
  namesOf(db, [...more, ...sends.flatMap(({ accountId, channelId }) => [accountId, channelId])])

interface SendsTableProps {
  sends: readonly ListedSend[]
  names: Names
  contacts: Contacts
}

/** Sends, each with its state, the reason of that, its contact and its channel. */
export function SendsTable({ sends, names, contacts }: SendsTableProps) {
  return (
    <DataTable
      label="Sends"
      rows={sends}
      idOf={({ requestId }) => requestId}
      columns={[
        {
          name: 'Send',
          cell: (send) => (
            <>
              <b>{showContact(send, contacts)}</b> <span class="muted">{send.messageType}</span>
              <small class="below fixed id">
                <a href={`/support/${send.requestId}`}>{send.requestId}</a>
              </small>
            </>
          ),
        },
        { name: 'State', cell: (send) => <StateAt send={send} /> },
        { name: 'Reason', cell: (send) => reasonOf(send) },
        {
          name: 'Channel',
          cell: ({ channelId, accountId }) => (
            <>
              <a href={`/channels/${channelId}`}>{names.get(channelId) ?? channelId}</a>
              <small class="below">{names.get(accountId) ?? accountId}</small>
            </>
          ),
        },
        { name: 'Accepted', cell: ({ acceptedAt }) => <Moment at={acceptedAt} short /> },
      ]}
    />
  )
}

/** Its state, and since when; a send that waits for its time says when that is. */
function StateAt({ send }: { send: ListedSend }) {
  const { status, isScheduled, sendAt, finishedAt, delivery, deliveryAt } = send
  const at = isScheduled ? sendAt : (deliveryAt ?? finishedAt)
  return (
    <>
      <State status={status} />
      {delivery !== null && ` ${delivery}`}
      {at !== null && (
        <small class="below fixed">
          {isScheduled && 'for '}
          <Moment at={at} short />
        </small>
      )}
    </>
  )
}

/** A sent one may have a code, too, such as that of a message that is held back. */
function reasonOf(send: ListedSend): string {
  const { reason, providerCode } = summaryOf(send, 'masked')
  return [providerCode, reason].filter(Boolean).join(': ')
}
