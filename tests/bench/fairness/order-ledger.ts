import { groupBy } from '../../support/group-by.ts'
import type { ProviderCall } from '../provider.ts'

/** A send in the database. */
export interface OrderRow {
  requestId: string
  contact: string
  /** Its position in the order of accept. */
  seq: number
  status: string
}

export interface OrderFindings {
  outOfOrder: number
  lost: number
  doubled: number
  uncertain: number
}

type Call = Pick<ProviderCall, 'requestId' | 'status' | 'arrivedAt'>

/**
 * - out of order: one of its calls came after a call for a later send to the same contact. So the first and the final calls of
 *   a contact's sends have to follow the order of accept.
 * - lost: accepted, but not in the database or unfinished; or `sent`, although no call was answered 2xx.
 * - doubled: more than one call was answered 2xx.
 */
export function compareOrder(
  accepted: readonly string[],
  rows: readonly OrderRow[],
  calls: readonly Call[],
): OrderFindings {
  const callsOf = groupBy(calls, ({ requestId }) => requestId)
  const callsFor = ({ requestId }: OrderRow) => callsOf.get(requestId) ?? []
  const taken = (row: OrderRow) => callsFor(row).filter(({ status }) => status === 200).length
  const recorded = new Set(rows.map(({ requestId }) => requestId))
  const isLost = (row: OrderRow) =>
    row.status === 'queued' || row.status === 'sending' || (row.status === 'sent' && taken(row) === 0)
  const lanes = [...groupBy(rows, ({ contact }) => contact).values()]
  return {
    outOfOrder: lanes.reduce((sum, lane) => sum + outOfOrderIn(lane, callsFor), 0),
    lost: accepted.filter((requestId) => !recorded.has(requestId)).length + rows.filter(isLost).length,
    doubled: rows.filter((row) => taken(row) > 1).length,
    uncertain: rows.filter(({ status }) => status === 'uncertain').length,
  }
}

function outOfOrderIn(lane: readonly OrderRow[], callsFor: (row: OrderRow) => readonly Call[]): number {
  let firstCallOfLater = Infinity
  let found = 0
  for (const row of lane.toSorted((a, b) => b.seq - a.seq)) {
    const moments = callsFor(row).map(({ arrivedAt }) => arrivedAt)
    if (Math.max(...moments) > firstCallOfLater) found++
    firstCallOfLater = Math.min(firstCallOfLater, ...moments)
  }
  return found
}
