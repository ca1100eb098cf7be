import type { ListCursor } from '../../src/core/requests/list-query.ts'
import type { Database } from '../connection/client.ts'
import { type CanceledSend, cancelSends } from './cancel.ts'
import { maxCanceled } from './cancel-sets.ts'
import { listSends, type SendsQuery } from './list.ts'

/** Sends that wait, as a list has them. */
export interface WaitingList {
  accountId: string | undefined
  query: Omit<SendsQuery, 'limit'>
}

export interface CanceledPart {
  canceled: number
  /** Ended, but an earlier attempt may have got through. */
  uncertain: string[]
  /** They were being sent, or had ended. */
  tooLate: string[]
  /** Where the next part begins; undefined if this was the last one. */
  next: ListCursor | undefined
}

const countedAtOnce = 1000
/** Sends of one transaction, so that no worker waits long for a lock. */
const canceledAtOnce = 200

/** How many sends a list has, up to `most`. */
export async function countListed(
  db: Database,
  { accountId, query }: WaitingList,
  most: number,
): Promise<number> {
  let count = 0
  for (let after = query.after; count < most; ) {
    const { sends, next } = await listSends(db, accountId, { ...query, after, limit: countedAtOnce })
    count += sends.length
    if (!next) break
    after = next
  }
  return Math.min(count, most)
}

/**
 * Cancels the next sends of a list, at most `maxCanceled`. Each step is committed by itself, so that a call that is interrupted can be
 * repeated.
 */
export async function cancelListPart(
  db: Database,
  { accountId, query }: WaitingList,
  onEnded: (ended: CanceledSend) => void,
): Promise<CanceledPart> {
  const part: CanceledPart = { canceled: 0, uncertain: [], tooLate: [], next: query.after }
  for (let looked = 0; looked < maxCanceled; ) {
    const page = await listSends(db, accountId, { ...query, after: part.next, limit: canceledAtOnce })
    const ids = page.sends.map(({ requestId }) => requestId)
    const { ended, others } = await cancelSends(db, ids)
    ended.forEach(onEnded)
    part.canceled += ended.filter(({ status }) => status === 'canceled').length
    part.uncertain.push(
      ...ended.filter(({ status }) => status === 'uncertain').map(({ requestId }) => requestId),
    )
    part.tooLate.push(
      ...others.filter(({ status }) => status !== 'canceled').map(({ requestId }) => requestId),
    )
    part.next = page.next
    if (!page.next) break
    looked += ids.length
  }
  return part
}
