import { namesOf } from '../../../db/accounts/names.ts'
import type { Database } from '../../../db/connection/client.ts'
import type { ListedSend } from '../../../db/sends/list.ts'
import { summaryOf } from '../../core/sends/timeline.ts'
import { tableRows } from '../page/each-shown.tsx'
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

/** Sends, a line each. A text that is cut has the whole as its title. */
export function SendsTable({ sends, names, contacts }: SendsTableProps) {
  return (
    <div class="scroll">
      <table class="dense">
        <thead>
          <tr>
            <th scope="col">Accepted</th>
            <th scope="col">State</th>
            <th scope="col">Reason</th>
            <th scope="col">Contact</th>
            <th scope="col">Type</th>
            <th scope="col">Account</th>
            <th scope="col">Channel</th>
            <th scope="col">requestId</th>
          </tr>
        </thead>
        <tbody>
          {tableRows(8, {
            rows: sends,
            idOf: ({ requestId }) => requestId,
            render: (send) => (
              <tr>
                <td>
                  <Moment at={send.acceptedAt} />
                </td>
                <td>
                  <StateAt send={send} />
                </td>
                <Reason send={send} />
                <td>{showContact(send, contacts)}</td>
                <td>{send.messageType}</td>
                <Cut text={names.get(send.accountId) ?? send.accountId} />
                <Cut text={names.get(send.channelId) ?? send.channelId} />
                <td class="id">
                  <a href={`/support/${send.requestId}`}>{send.requestId}</a>
                </td>
              </tr>
            ),
          })}
        </tbody>
      </table>
    </div>
  )
}

/** Its state, and since when; a send that waits for its time says when that is. */
function StateAt({ send }: { send: ListedSend }) {
  const { status, isScheduled, sendAt, finishedAt, delivery, deliveryAt } = send
  if (isScheduled && sendAt)
    return (
      <>
        <State status={status} /> for <Moment at={sendAt} />
      </>
    )
  const at = deliveryAt ?? finishedAt
  return (
    <>
      <State status={status} />
      {delivery !== null && ` ${delivery}`} {at !== null && <Moment at={at} />}
    </>
  )
}

function Reason({ send }: { send: ListedSend }) {
  const { reason, providerCode } = summaryOf(send, 'masked')
  // A sent one may have a code, too, such as that of a message that is held back.
  if (reason === null && providerCode === null) return <td />
  return <Cut text={[providerCode, reason].filter(Boolean).join(': ')} />
}

function Cut({ text }: { text: string }) {
  return (
    <td class="cut" title={text}>
      {text}
    </td>
  )
}
