import { NIL } from 'uuid'
import type { ListCursor } from '../../src/core/requests/list-query.ts'
import { canBeRecordId } from '../../src/core/requests/record-id.ts'
import type { Database } from '../connection/client.ts'
import { isUnfinished } from '../delivery/lane-rule.ts'
import { microsOf } from '../page.ts'
import { prepared, sqlText } from '../statement.ts'
import { type CanceledSend, cancelSends } from './cancel.ts'

/** The sends of an account that wait with this reference, or in this flow. */
export interface WaitingSet {
  accountId: string
  by: { reference: string } | { flowId: string }
  /** Only those after this place in the order of accepts. */
  after?: ListCursor | undefined
}

/** The result of the cancel of a set. */
export interface CanceledSet {
  canceled: number
  uncertain: number
  /** They were being sent. */
  tooLate: number
  /** Where the next call goes on; undefined if none is left. */
  next: ListCursor | undefined
}

/** Limit of the sends of one call. */
export const maxCanceled = 10_000
/** Sends canceled by one transaction, which has to end within the deadline of a request. */
const pageSize = 200

const inOrder = (limit: string) => `order by s.accepted_at, s.request_id limit ${limit}`

/** SQL of the sends of a table that are in the set, by the index of `column`. */
const partOf = (table: string, column: string, which: string) => sqlText`
  (select s.accepted_at, s.request_id
   from ${table} s
   where s.${column} = $2 and s.account_id = $1 and ${which}
     and (s.accepted_at, s.request_id) > (timestamptz 'epoch' + $3::float8 * interval '1 microsecond', $4::uuid)
   ${inOrder('$5')})`

const waitingBy = (name: string, purpose: string, column: string) =>
  prepared<ListCursor>(
    name,
    purpose,
    sqlText`
      -- $1: the account; $2: its reference or flow; $3: after this time, in microseconds; $4: and this send; $5: how many.
      select ${microsOf('s.accepted_at')} as "acceptedAtMicros",
             s.request_id as "requestId"
      from (
        ${partOf('sends', column, isUnfinished('s'))}
        union all
        ${partOf('scheduled_sends', column, 'true')}) s
      ${inOrder('$5')}`,
  )

const ofReferenceStatement = waitingBy(
  'waiting_of_reference',
  'Finds the oldest sends of an account that have not ended, by their reference.',
  'reference',
)
const ofFlowStatement = waitingBy(
  'waiting_of_flow',
  'Finds the oldest sends of an account that have not ended, by their flow.',
  'flow_id',
)

async function findWaiting(db: Database, { accountId, by, after }: WaitingSet): Promise<ListCursor[]> {
  const { acceptedAtMicros, requestId } = after ?? { acceptedAtMicros: '0', requestId: NIL }
  const place = [acceptedAtMicros, requestId, maxCanceled + 1]
  if ('reference' in by) return await ofReferenceStatement(db, [accountId, by.reference, ...place])
  // Ids are opaque: one that no record can have is that of none.
  return canBeRecordId(by.flowId) ? await ofFlowStatement(db, [accountId, by.flowId, ...place]) : []
}

/** How the steps of a cancel are taken. */
interface Steps {
  /** Takes one. */
  take: <Result>(step: () => Promise<Result>) => Promise<Result>
  /** Called with the sends that each has ended. */
  onEnded: (ended: CanceledSend[]) => void
}

/**
 * Cancels the sends of a set that wait now, the oldest first, at most `maxCanceled`. It works page by page: each is committed by
 * itself, so that no worker waits long for a lock, and a call that is interrupted can be repeated.
 */
export async function cancelWaiting(
  db: Database,
  set: WaitingSet,
  { take, onEnded }: Steps = { take: (step) => step(), onEnded: () => {} },
): Promise<CanceledSet> {
  const found = await take(() => findWaiting(db, set))
  const chosen = found.slice(0, maxCanceled)
  const total = { canceled: 0, uncertain: 0, tooLate: 0 }
  for (let first = 0; first < chosen.length; first += pageSize) {
    const ids = chosen.slice(first, first + pageSize).map(({ requestId }) => requestId)
    const cancelPage = async () => {
      const found = await cancelSends(db, ids, set.accountId)
      onEnded(found.ended)
      return found
    }
    const { ended, others } = await take(cancelPage)
    for (const { status } of ended) total[status]++
    total.tooLate += others.filter(({ status }) => status === 'sending').length
  }
  return { ...total, next: found.length > maxCanceled ? chosen.at(-1) : undefined }
}
