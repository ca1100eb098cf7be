import type { OnUncertain } from '../../src/core/sends/outcome.ts'
import { ownReasons } from '../../src/core/sends/own-reasons.ts'
import type { SendStatus } from '../../src/core/sends/timeline.ts'
import { causeOfReason } from '../../src/core/suppression/suppression.ts'
import { groupBy } from '../support/group-by.ts'
import type { Effect } from './behaviours.ts'

/** A client's view of its send: the distinct requestIds that it got with a 202. */
export interface ClientLedgerEntry {
  key: string
  contact: string
  requestIds: readonly string[]
  /** Whether it sent without a key after the fault, and got a 503, which means that nothing was accepted. */
  isRefused: boolean
}

export interface CallEffect {
  requestId: string
  contact: string
  effect: Effect
}

/** A send in the database. */
export interface SendRow {
  requestId: string
  contact: string
  status: SendStatus
  failure: string | null
  onUncertain: OnUncertain
}

export interface Ledgers {
  clients: readonly ClientLedgerEntry[]
  calls: readonly CallEffect[]
  rows: readonly SendRow[]
  /** The sends that the provider reported as delivered, with receipts that were taken. */
  delivered: ReadonlySet<string>
  /** Attempts per send, by the service's settings. */
  attempts: number
}

/** A fault of one send. */
export interface Discrepancy {
  requestId: string
  what: string
}

export interface Comparison {
  /** Sends acknowledged with a 202. */
  accepted: number
  lost: Discrepancy[]
  doubled: Discrepancy[]
  contradicted: Discrepancy[]
  uncertain: number
}

/**
 * Compares the answers to clients, the provider's calls and the database. A contact connects its clients' keys to its rows:
 * mostly one of each.
 *
 * - acknowledged: a client got its requestId with a 202.
 * - lost: acknowledged, but not in the database; or recorded, but unfinished, or `sent` although no call was accepted, or
 *   `failed` although one was accepted, or `failed` before the provider refused all its attempts. Except for a send that was
 *   given up, and for one that the service correctly reports as not called, or as suppressed without a call. A receipt
 *   shows that a call was accepted whose caller was killed before the answer: such a send must be `sent`.
 * - doubled: more than one call that was not definitely refused, under `hold`; or more than one send for a key, in the answers
 *   to its client or in the database.
 * - contradicted: a call for a send that isn't recorded, or to another contact; a client that got the requestId of another
 *   contact's send; or a client that got a 503, although its send is recorded or was called.
 * - uncertain: recorded as `uncertain`.
 *
 * A recorded send whose client got a 503 or no answer counts like any other.
 */
export function compareLedgers(ledgers: Ledgers): Comparison {
  const { clients, calls, rows } = ledgers
  const callsOf = groupBy(calls, ({ requestId }) => requestId)
  const acknowledged = new Set(clients.flatMap(({ requestIds }) => requestIds))
  const recorded = new Set(rows.map(({ requestId }) => requestId))
  const absent = [...acknowledged].filter((requestId) => !recorded.has(requestId))
  return {
    accepted: clients.filter(({ requestIds }) => requestIds.length > 0).length,
    lost: [
      ...absent.map((requestId) => ({ requestId, what: 'acknowledged, but not in the database' })),
      ...rows.flatMap((row) => lossOf(row, effectsOf(callsOf, row), ledgers)),
    ],
    doubled: [
      ...clients.flatMap(acceptedTwice),
      ...twiceRecorded(ledgers),
      ...rows.flatMap((row) => repeatOf(row, effectsOf(callsOf, row))),
    ],
    contradicted: contradictions(ledgers),
    uncertain: rows.filter(({ status }) => status === 'uncertain').length,
  }
}

function lossOf(
  { requestId, status, failure }: SendRow,
  effects: readonly Effect[],
  { attempts, delivered }: Pick<Ledgers, 'attempts' | 'delivered'>,
): Discrepancy[] {
  const isDelivered = delivered.has(requestId)
  const isAccepted = isDelivered || effects.includes('accepted')
  const lost = (what: string) => [{ requestId, what: `${what} (calls: ${effects.join(', ') || 'none'})` }]
  if (status === 'queued' || status === 'sending') return lost(`unfinished, still ${status}`)
  if (status === 'sent' && !isAccepted) return lost('sent, but the provider accepted no call')
  if (status === 'uncertain' && isDelivered) return lost('uncertain, but the provider reported it delivered')
  if (status !== 'failed') return []
  if (isAccepted) return lost('failed, but the provider accepted a call')
  const isRefused = effects.length === attempts && effects.every((effect) => effect === 'refused')
  const isSuppressed = causeOfReason(failure ?? '') !== undefined
  const isNotCalled =
    effects.length === 0 && (isSuppressed || failure?.endsWith('the provider was not called'))
  return isRefused || isNotCalled || failure?.startsWith(ownReasons.givenUp)
    ? []
    : lost(`failed without ${attempts} refusals: ${failure}`)
}

function repeatOf({ requestId, onUncertain }: SendRow, effects: readonly Effect[]): Discrepancy[] {
  const notRefused = effects.filter((effect) => effect !== 'refused')
  if (onUncertain === 'resend' || notRefused.length < 2) return []
  return [
    { requestId, what: `called ${notRefused.length} times without a refusal (calls: ${effects.join(', ')})` },
  ]
}

function acceptedTwice({ key, requestIds }: ClientLedgerEntry): Discrepancy[] {
  const [first, ...others] = requestIds
  return others.map((requestId) => ({ requestId, what: `accepted for key ${key}, as was ${first}` }))
}

/** Clients that share a contact have a send each. */
function twiceRecorded({ clients, rows }: Pick<Ledgers, 'clients' | 'rows'>): Discrepancy[] {
  const clientsOf = groupBy(clients, ({ contact }) => contact)
  return [...groupBy(rows, ({ contact }) => contact)].flatMap(([contact, sends]) =>
    sends
      .slice(clientsOf.get(contact)?.length ?? 1)
      .map(({ requestId }) => ({ requestId, what: `recorded for one key, as was ${sends[0]?.requestId}` })),
  )
}

function contradictions({ clients, calls, rows }: Ledgers): Discrepancy[] {
  const contactOf = new Map(rows.map(({ requestId, contact }) => [requestId, contact]))
  return [
    ...calls.flatMap(({ requestId, contact }) => {
      const recorded = contactOf.get(requestId)
      if (recorded === undefined) return [{ requestId, what: 'called, but not in the database' }]
      return recorded === contact ? [] : [{ requestId, what: `for ${recorded}, but called for ${contact}` }]
    }),
    ...clients.flatMap(({ key, contact, requestIds }) =>
      requestIds
        .filter((requestId) => (contactOf.get(requestId) ?? contact) !== contact)
        .map((requestId) => ({ requestId, what: `accepted for key ${key}, but not of its contact` })),
    ),
    ...sentThoughRefused({ clients, calls, rows }),
  ]
}

function sentThoughRefused({
  clients,
  calls,
  rows,
}: Pick<Ledgers, 'clients' | 'calls' | 'rows'>): Discrepancy[] {
  const traces: { requestId: string; contact: string }[] = [...rows, ...calls]
  const sendOf = new Map(traces.map(({ requestId, contact }) => [contact, requestId]))
  return clients.flatMap(({ contact, isRefused }) => {
    const requestId = isRefused && sendOf.get(contact)
    return requestId ? [{ requestId, what: 'refused with 503, but sent' }] : []
  })
}

function effectsOf(callsOf: ReadonlyMap<string, readonly CallEffect[]>, { requestId }: SendRow): Effect[] {
  return (callsOf.get(requestId) ?? []).map(({ effect }) => effect)
}
