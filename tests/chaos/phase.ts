import { setTimeout as sleep } from 'node:timers/promises'
import type { OnUncertain } from '../../src/core/sends/outcome.ts'
import { miscountsOf } from '../support/counted.ts'
import { groupBy } from '../support/group-by.ts'
import { between, type Random } from '../support/random.ts'
import type { ProviderCall } from './behaviours.ts'
import { acceptedIds, type ClientSend } from './client-send.ts'
import { type Comparison, compareLedgers, type SendRow } from './ledgers.ts'
import type { ProviderLedger } from './provider.ts'
import type { World } from './world.ts'

/** A send's row, with the times for computing the recovery. */
export interface PhaseRow extends SendRow {
  attempt: number
  worker: string | null
  /** Whether its claim was given up, and a late outcome ended it. */
  isLate: boolean
  acceptedAt: number
  finishedAt: number | undefined
}

/** One running fault: its channel, its share of the sends, and their entries in the three ledgers. */
export interface Phase {
  world: World
  /** Chooses times and victims. */
  random: Random
  /** Number of its sends. */
  sends: number
  channelId: string
  clients: ClientSend[]
  provider: ProviderLedger
  /** The calls as the ledgers are compared; by default those of the provider. */
  calls: () => readonly ProviderCall[]
  /** The sends that the provider reported as delivered, with receipts that were taken. */
  delivered: Set<string>
  /** The sends in flight at a worker when it was killed. Only these may end uncertain. */
  inFlightAtKills: AtKill[]
  /** The sends that waited when a worker was killed. It may have had their wake-ups. */
  waitingAtKills: AtKill[]
  /** From this time on, a request answered with 503 must not be recorded. */
  struckAt: number | undefined
  /** The end of each fault, from which recovery is measured. */
  faultsOver: number[]
  /** Violations that the ledgers don't show. */
  violations: string[]
  /** The actions of the phase, as text. */
  notes: string[]
  newSend(options?: NewSend): ClientSend
  /** Creates another channel, by default with the same provider and ledgers. */
  openChannel(onUncertain: OnUncertain, path?: string): Promise<string>
  rows(): Promise<PhaseRow[]>
  /** How the counters differ from a count of its sends, as text. */
  miscounts(): Promise<string[]>
}

export interface AtKill {
  requestId: string
  killedAt: number
}

interface NewSend {
  /** By default one that no other send has. */
  contact?: string | undefined
  channelId?: string | undefined
  isKeyed?: boolean
  sendAt?: Date | undefined
}

interface PhaseOptions {
  name: string
  random: Random
  sends: number
}

const settleWithinMs = 60_000
const askEveryMs = 250

export async function openPhase(world: World, { name, random, sends }: PhaseOptions): Promise<Phase> {
  const path = `/${name}`
  const provider = world.provider.open(path, Math.floor(random() * 2 ** 31))
  const channelIds: string[] = []
  const openChannel = async (onUncertain: OnUncertain, to = path) => {
    const id = await world.openChannel(to, onUncertain)
    channelIds.push(id)
    return id
  }
  const clients: ClientSend[] = []
  const newContact = contactsFrom(random)
  const channelId = await openChannel('hold')
  const newSend = ({ channelId: to = channelId, contact = newContact(), ...more }: NewSend = {}) => {
    const key = `${name}-${clients.length + 1}`
    const send: ClientSend = { channelId: to, key, contact, isKeyed: true, ...more, answers: [] }
    clients.push(send)
    return send
  }
  return {
    world,
    random,
    sends,
    channelId,
    clients,
    provider,
    calls: () => provider.calls,
    delivered: new Set(),
    inFlightAtKills: [],
    waitingAtKills: [],
    struckAt: undefined,
    faultsOver: [],
    violations: [],
    notes: [],
    newSend,
    openChannel,
    rows: () => readRows(world, channelIds),
    miscounts: () => miscountsOf(world.db, channelIds),
  }
}

/** Creates a generator of distinct contacts. */
function contactsFrom(random: Random): () => string {
  const given = new Set<string>()
  const next = (): string => {
    const contact = `+49${Math.floor(between(random, 1e9, 1e10))}`
    if (given.has(contact)) return next()
    given.add(contact)
    return contact
  }
  return next
}

async function readRows({ db }: World, channelIds: readonly string[]): Promise<PhaseRow[]> {
  const { rows } = await db.$client.query(
    `select request_id as "requestId", contact_value as contact, status, failure, attempt, worker,
            (coalesce(attempt_record->>'late' = 'true', false) and exists (
               select from send_events e
               where e.request_id = sends.request_id and event = 'attempt_lost' and at <= finished_at)) as "isLate",
            on_uncertain as "onUncertain", extract(epoch from accepted_at)::float8 * 1000 as "acceptedAt",
            extract(epoch from finished_at)::float8 * 1000 as "finishedAt"
     from sends join channels on channels.id = channel_id where channel_id = any($1)`,
    [channelIds],
  )
  return rows.map((row) => ({ ...row, finishedAt: row.finishedAt ?? undefined }))
}

/** Waits until all recorded sends have ended. A send that hasn't by the deadline counts as lost. */
export async function settle(phase: Phase): Promise<void> {
  for (const deadline = Date.now() + settleWithinMs; Date.now() < deadline; await sleep(askEveryMs)) {
    const rows = await phase.rows()
    if (rows.every(({ finishedAt }) => finishedAt !== undefined)) return
  }
}

export function compare(phase: Phase, rows: readonly PhaseRow[]): Comparison {
  const { world, clients, calls, delivered } = phase
  const entries = clients.map((send) => ({
    ...send,
    requestIds: acceptedIds(send),
    isRefused: isRefused(phase, send),
  }))
  const { attempts } = world
  return compareLedgers({ clients: entries, calls: calls(), rows, delivered, attempts })
}

/** A send with a key doesn't count: an earlier request may have recorded it. */
export function isRefused({ struckAt = Infinity }: Phase, { isKeyed, answers }: ClientSend): boolean {
  return !isKeyed && answers.some(({ at, status }) => at > struckAt && status === 503)
}

/** The largest value, or 0. Unlike `Math.max`, it takes more values than a function may have arguments. */
export const largest = (values: readonly number[]): number =>
  values.reduce((most, value) => Math.max(most, value), 0)

/** The slowest recovery from a fault. Undefined if no fault has an end. */
export function slowestRecoveryMs(phase: Phase, rows: readonly PhaseRow[]): number | undefined {
  return phase.faultsOver.length === 0 ? undefined : largest(recoveriesMs(phase, rows))
}

/** From each fault's end until each send that was accepted but unfinished had ended, or was called again; 0 for others. */
export function recoveriesMs(phase: Phase, rows: readonly PhaseRow[]): number[] {
  const { faultsOver, provider } = phase
  const callsOf = groupBy(provider.calls, ({ requestId }) => requestId)
  const nextHit = nextHits(phase)
  const recovery = (row: PhaseRow, overAt: number) => {
    if (row.acceptedAt > overAt || (row.finishedAt ?? Infinity) < overAt) return 0
    const calledAgainAt = callsOf.get(row.requestId)?.find(({ arrivedAt }) => arrivedAt > overAt)?.arrivedAt
    const recoveredAt = Math.min(row.finishedAt ?? Infinity, calledAgainAt ?? Infinity)
    return Math.min(recoveredAt, nextHit(row.requestId, overAt)) - overAt
  }
  return faultsOver.flatMap((overAt) => rows.map((row) => recovery(row, overAt)))
}

/**
 * @returns when a worker was killed next that had the send, or may have had its wake-up: the recovery goes on from that kill. Infinity
 * if none was.
 */
export function nextHits({
  inFlightAtKills,
  waitingAtKills,
}: Pick<Phase, 'inFlightAtKills' | 'waitingAtKills'>) {
  const killsOf = groupBy([...inFlightAtKills, ...waitingAtKills], ({ requestId }) => requestId)
  return (requestId: string, after: number): number =>
    (killsOf.get(requestId) ?? []).reduce(
      (next, { killedAt }) => (killedAt > after ? Math.min(next, killedAt) : next),
      Infinity,
    )
}

export function slowestAnswerMs({ clients }: Phase): number {
  return largest(clients.flatMap(({ answers }) => answers.map(({ ms }) => ms)))
}

/** The number of answers with each status; 0 for no answer. */
export function statusesOf({ clients }: Phase): Map<number, number> {
  const statuses = new Map<number, number>()
  for (const { status = 0 } of clients.flatMap(({ answers }) => answers)) {
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
  }
  return statuses
}

/** The longest time that a call occupied a worker's slot. */
export function longestCallMs(calls: readonly ProviderCall[]): number {
  return largest(calls.map(({ arrivedAt, closedAt = Infinity }) => closedAt - arrivedAt))
}
