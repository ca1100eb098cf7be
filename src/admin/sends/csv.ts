import type { Database } from '../../../db/connection/client.ts'
import { type ListedSend, listSends, type SendsQuery } from '../../../db/sends/list.ts'
import { byteOrderMark, csvRecord } from '../../core/requests/csv.ts'
import type { ListCursor } from '../../core/requests/list-query.ts'
import { summaryOf } from '../../core/sends/timeline.ts'
import { type Contacts, showContact } from '../page/masking.ts'
import { maxOfList } from './change-list.ts'
import { type Names, namesIn } from './sends-table.tsx'

const columns: Record<
  string,
  (send: ListedSend, names: Names, contacts: Contacts) => string | null | undefined
> = {
  requestId: ({ requestId }) => requestId,
  acceptedAt: ({ acceptedAt }) => acceptedAt.toISOString(),
  accountId: ({ accountId }) => accountId,
  account: ({ accountId }, names) => names.get(accountId),
  channelId: ({ channelId }) => channelId,
  channel: ({ channelId }, names) => names.get(channelId),
  contactType: ({ contactType }) => contactType,
  contact: (send, _, contacts) => showContact(send, contacts),
  messageType: ({ messageType }) => messageType,
  status: ({ status, isScheduled }) => (isScheduled ? 'scheduled' : status),
  finishedAt: ({ finishedAt }) => finishedAt?.toISOString(),
  delivery: ({ delivery }) => delivery,
  deliveryAt: ({ deliveryAt }) => deliveryAt?.toISOString(),
  sendAt: ({ sendAt }) => sendAt?.toISOString(),
  attempts: ({ attempt }) => String(attempt),
  reason: (send) => summaryOf(send, 'masked').reason,
  providerCode: (send) => summaryOf(send, 'masked').providerCode,
  priority: ({ priority }) => priority,
  reference: ({ reference }) => reference,
  flowId: ({ flowId }) => flowId,
  segments: ({ segments }) => segments?.toString(),
  encoding: ({ encoding }) => encoding,
  expiresInSeconds: ({ expiresInSeconds }) => expiresInSeconds?.toString(),
  // It may name the contact.
  metadata: ({ metadata }, _, contacts) =>
    contacts === 'whole' && metadata !== null ? JSON.stringify(metadata) : null,
}

/** Rows read, and kept in memory, at a time. */
const pageSize = 1000

interface CsvList {
  accountId: string | undefined
  query: Omit<SendsQuery, 'limit'>
  contacts: Contacts
  /** Before the header. */
  mark?: string
}

/** The mark that the parameter `bom` asks for. */
export const markOf = (bom: unknown): string => (bom === 'true' ? byteOrderMark : '')

/**
 * The list as CSV (RFC 4180), the header first, a page of rows at a time. A provider's message id isn't in it, because it may hold the
 * contact. If the list is longer than `most`, the last record says so.
 */
export async function* csvOf(
  db: Database,
  { accountId, query, contacts, mark = '' }: CsvList,
  most = maxOfList,
): AsyncGenerator<string> {
  let text = `${mark}${Object.keys(columns).join(',')}\r\n`
  let left = most
  for (let after: ListCursor | undefined = query.after; ; ) {
    const limit = Math.min(pageSize, left)
    const { sends, next } = await listSends(db, accountId, { ...query, after, limit })
    const names = await namesIn(db, sends)
    const cells = (send: ListedSend) =>
      Object.values(columns).map((cell) => cell(send, names, contacts) ?? '')
    text += sends.map((send) => csvRecord(cells(send))).join('')
    left -= sends.length
    if (next && left === 0) text += lastRecord(most)
    yield text
    if (!next || left === 0) return
    text = ''
    after = next
  }
}

const lastRecord = (most: number) =>
  csvRecord(
    Object.keys(columns).map((_, column) =>
      column === 0 ? `cut after ${most} rows: ask for less, such as a shorter time` : '',
    ),
  )

/**
 * A body that is read as fast as the client takes it. It resolves with the first text, so that a failure until then is answered as
 * one.
 */
export async function streamOf(texts: AsyncGenerator<string>): Promise<ReadableStream<Uint8Array>> {
  const encoder = new TextEncoder()
  let first: IteratorResult<string> | undefined = await texts.next()
  return new ReadableStream(
    {
      async pull(controller) {
        const { value, done } = first ?? (await texts.next())
        first = undefined
        if (done) controller.close()
        else controller.enqueue(encoder.encode(value))
      },
      async cancel() {
        await texts.return(undefined)
      },
    },
    { highWaterMark: 1 },
  )
}
