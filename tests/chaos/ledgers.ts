import type { OnUncertain } from '../../src/core/outcome.ts'
import type { SendStatus } from '../../src/core/timeline.ts'
import { groupBy } from './group-by.ts'
import type { Effect } from './provider.ts'

/** What a client knows of a send: the requestIds that it was told with a 202, each once. */
export interface ToldSend {
  key: string
  contact: string
  requestIds: readonly string[]
}

export interface CallEffect {
  requestId: string
  effect: Effect
}

/** What the database says of a send. */
export interface SendRow {
  requestId: string
  contact: string
  status: SendStatus
  failure: string | null
  onUncertain: OnUncertain
}

export interface Ledgers {
  told: readonly ToldSend[]
  calls: readonly CallEffect[]
  rows: readonly SendRow[]
}

/** What is wrong with one send. */
export interface Fault {
  requestId: string
  what: string
}

export interface Comparison {
  /** Sends acknowledged with a 202. */
  accepted: number
  lost: Fault[]
  doubled: Fault[]
  uncertain: number
}

/**
 * Compares what clients were told, what the provider saw and what the database says. Every send has a contact of its
 * own, which ties a client's key to its rows.
 *
 * - acknowledged: a client was told its requestId with a 202.
 * - lost: acknowledged, and absent from the database; or recorded, and unfinished, or `sent` although no call was
 *   accepted, or `failed` although one was accepted, or `failed` for a reason that is not the provider's; but for a
 *   parked send, and for one of which the service says, rightly, that its provider was not called.
 * - doubled: more than one call that was not definitely refused, under `hold`; or more than one send for a key, be it
 *   that its client was told two requestIds or that the database has two.
 * - uncertain: recorded as `uncertain`.
 *
 * A send that is recorded although its client was told a 503, or nothing, counts like any other.
 */
export function compareLedgers({ told, calls, rows }: Ledgers): Comparison {
  const callsOf = groupBy(calls, ({ requestId }) => requestId)
  const acknowledged = new Set(told.flatMap(({ requestIds }) => requestIds))
  const recorded = new Set(rows.map(({ requestId }) => requestId))
  const absent = [...acknowledged].filter((requestId) => !recorded.has(requestId))
  return {
    accepted: told.filter(({ requestIds }) => requestIds.length > 0).length,
    lost: [
      ...absent.map((requestId) => ({ requestId, what: 'acknowledged, but not in the database' })),
      ...rows.flatMap((row) => lossOf(row, effectsOf(callsOf, row))),
    ],
    doubled: [
      ...told.flatMap(twiceTold),
      ...twiceRecorded(rows),
      ...rows.flatMap((row) => repeatOf(row, effectsOf(callsOf, row))),
    ],
    uncertain: rows.filter(({ status }) => status === 'uncertain').length,
  }
}

function lossOf({ requestId, status, failure }: SendRow, effects: readonly Effect[]): Fault[] {
  const isAccepted = effects.includes('accepted')
  const lost = (what: string) => [{ requestId, what: `${what} (calls: ${effects.join(', ') || 'none'})` }]
  if (status === 'queued' || status === 'sending') return lost(`unfinished, still ${status}`)
  if (status === 'sent' && !isAccepted) return lost('sent, but the provider accepted no call')
  if (status !== 'failed') return []
  if (isAccepted) return lost('failed, but the provider accepted a call')
  const isRefused = effects.length > 0 && effects.every((effect) => effect === 'refused')
  const isNotCalled = effects.length === 0 && failure?.endsWith('the provider was not called')
  return isRefused || isNotCalled || failure?.startsWith('parked')
    ? []
    : lost(`failed without a refusal: ${failure}`)
}

function repeatOf({ requestId, onUncertain }: SendRow, effects: readonly Effect[]): Fault[] {
  const notRefused = effects.filter((effect) => effect !== 'refused')
  if (onUncertain === 'resend' || notRefused.length < 2) return []
  return [
    { requestId, what: `called ${notRefused.length} times without a refusal (calls: ${effects.join(', ')})` },
  ]
}

function twiceTold({ key, requestIds }: ToldSend): Fault[] {
  const [first, ...others] = requestIds
  return others.map((requestId) => ({ requestId, what: `told for key ${key}, as was ${first}` }))
}

function twiceRecorded(rows: readonly SendRow[]): Fault[] {
  return [...groupBy(rows, ({ contact }) => contact).values()].flatMap(([first, ...others]) =>
    others.map(({ requestId }) => ({ requestId, what: `recorded for one key, as was ${first?.requestId}` })),
  )
}

function effectsOf(callsOf: ReadonlyMap<string, readonly CallEffect[]>, { requestId }: SendRow): Effect[] {
  return (callsOf.get(requestId) ?? []).map(({ effect }) => effect)
}
