import type { Database } from '../../../db/connection/client.ts'
import { type Count, countSends } from '../../../db/sends/list-count.ts'
import { formatCount } from '../numbers/spans.ts'
import { maxOfList, type SentList } from './change-list.ts'
import { type ListField, type ListInput, queryOf, readListForm } from './list-form.ts'
import { resolveList } from './resolve-list.ts'

/** Sends that a filter leaves out of a list, although the others match. */
export interface LeftOut extends Count {
  why: string
}

/** The filters that narrow a list, and what is said of the sends that each of them alone leaves out. */
const narrowing: readonly (readonly [fields: readonly ListField[], why: string])[] = [
  [['acceptedFrom', 'acceptedTo'], 'accepted at another time'],
  [['dueFrom', 'dueTo'], 'due at another time'],
  [['reason'], 'with another reason'],
  [['fault'], 'by the fault of another, or for another cause'],
  [['providerCode'], 'with another code'],
  [['channelId'], 'of another channel'],
  [['flowId'], 'of another flow, or of none'],
  [['reference'], 'with another reference, or without one'],
  [['contact'], 'to another contact'],
]

/**
 * Counts what each filter of a list leaves out, before all sends of the list are changed: who asks for tomorrow's sends may have
 * meant those, too.
 *
 * @param canBeChanged whether a list may be changed as a whole: a filter without which it may not isn't tried.
 */
export async function leftOutOf(
  db: Database,
  { input, form, resolved }: SentList,
  canBeChanged: (input: ListInput) => boolean,
): Promise<LeftOut[]> {
  const listed = await countSends(db, resolved.accountId, queryOf(form, resolved, 0), maxOfList)
  const used = narrowing.filter(([fields]) => fields.some((field) => input[field] !== undefined))
  const leftOut: LeftOut[] = []
  for (const [fields, why] of used) {
    const wider = await countWithout(db, input, fields, canBeChanged)
    if (wider) leftOut.push({ why, count: wider.count - listed.count, isMore: wider.isMore })
  }
  const all = await countWithout(
    db,
    input,
    used.length > 1 ? used.flatMap(([fields]) => fields) : [],
    canBeChanged,
  )
  if (all) {
    const others = leftOut.reduce((left, { count }) => left - count, all.count - listed.count)
    leftOut.push({ why: 'for several of these reasons', count: others, isMore: all.isMore })
  }
  return leftOut.filter(({ count }) => count > 0)
}

async function countWithout(
  db: Database,
  input: ListInput,
  fields: readonly ListField[],
  canBeChanged: (input: ListInput) => boolean,
): Promise<Count | undefined> {
  const left = Object.entries(input).filter(([name]) => !fields.some((field) => field === name))
  const wider: ListInput = Object.fromEntries(left)
  const read = readListForm(wider)
  if (fields.length === 0 || !canBeChanged(wider) || 'issues' in read) return undefined
  const resolved = await resolveList(db, read.form)
  return 'issues' in resolved
    ? undefined
    : await countSends(db, resolved.accountId, queryOf(read.form, resolved, 0), maxOfList)
}

/** @param state of the sends of the list. */
export function LeftOutByFilter({
  state,
  leftOut,
}: {
  state: string | undefined
  leftOut: readonly LeftOut[]
}) {
  if (leftOut.length === 0) return null
  return (
    <>
      <p>The filter leaves out:</p>
      <ul>
        {leftOut.map(({ why, count, isMore }) => (
          <li>
            {isMore && 'at least '}
            {formatCount(count)} more {state} {count === 1 ? 'send' : 'sends'} {why}
          </li>
        ))}
      </ul>
    </>
  )
}
