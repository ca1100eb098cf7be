import { setTimeout as sleep } from 'node:timers/promises'
import { groupBy } from '../../support/group-by.ts'
import { eventually } from '../../support/wait.ts'
import { acceptedIds, type ClientSend } from '../client-send.ts'
import { cancel, load, maxPerSecond } from '../clients.ts'
import { type Fault, type Findings, lateness, violation, violationsOf } from '../fault.ts'
import type { Phase } from '../phase.ts'
import { endSlowStart, killWorker, uncertainOnlyInFlight, youngest } from './workers.ts'

/** Time between the last accept and the first moment, so that all are accepted before. */
const marginMs = 8000
const spreadMs = 1000
/** Within this time, a machine that dispatches `usualPerSecond` has called the provider for all. */
const withinMs = 10_000
const usualPerSecond = 3000
/** Share of the sends whose dispatch shows how fast this machine is. */
const shareToMeasure = 0.2
const joinWithinMs = 60_000

/**
 * Schedules sends for a time soon, spread over it, and waits until it begins.
 *
 * @returns its beginning, and the sends.
 */
async function schedule(phase: Phase, count: number, spread = spreadMs) {
  const { clients, channelId, world } = phase
  const seconds = count / maxPerSecond
  const dueAt = Date.now() + seconds * 1000 + marginMs
  const first = clients.length
  await load(phase, { count, seconds, sendAt: (index) => new Date(dueAt + (index / count) * spread) })
  if (Date.now() > dueAt) phase.violations.push('too late: the sends were accepted after their moment')
  await until(dueAt - 1000)
  await endSlowStart(world)
  await until(dueAt)
  return { dueAt, sends: clients.slice(first), channelId }
}

const until = (at: number) => sleep(Math.max(0, at - Date.now()))

/** Waits until all scheduled sends of the phase have joined the others. */
async function untilJoined({ world, channelId }: Phase): Promise<void> {
  const haveJoined = async () => {
    const { rowCount } = await world.db.$client.query(
      'select from scheduled_sends where channel_id = $1 limit 1',
      [channelId],
    )
    return rowCount === 0
  }
  await eventually('all scheduled sends have joined the others', haveJoined, joinWithinMs)
}

/** Calls that came before their send's moment. All clocks are those of this machine. */
function early({ clients, provider }: Phase): string[] {
  const dueAt = new Map(clients.flatMap((send) => acceptedIds(send).map((id) => [id, momentOf(send)])))
  const calls = provider.calls.filter(({ requestId, arrivedAt }) => arrivedAt < (dueAt.get(requestId) ?? 0))
  return calls.map(({ requestId }) => `${requestId}: called before its sendAt`)
}

const momentOf = ({ sendAt }: ClientSend) => sendAt?.getTime() ?? 0

/** Dispatches of sends that are due at one moment, without a fault, in the middle half of their calls. */
async function dispatchesPerSecond(phase: Phase, count: number): Promise<number> {
  const { sends } = await schedule(phase, count, 0)
  const ids = new Set(sends.flatMap(acceptedIds))
  const callsOfThem = () => phase.provider.calls.filter(({ requestId }) => ids.has(requestId))
  await eventually('all are called', async () => callsOfThem().length >= ids.size, joinWithinMs)
  const times = callsOfThem()
    .map(({ arrivedAt }) => arrivedAt)
    .sort((a, b) => a - b)
  const at = (share: number) => times[Math.floor(share * (times.length - 1))] ?? 0
  return times.length / 2 / (Math.max(1, at(0.75) - at(0.25)) / 1000)
}

const limits = new WeakMap<Phase, { withinMs: number; sends: readonly ClientSend[] }>()

export const dueTogether: Fault = {
  name: 'due-together',
  share: 0,
  times: () => 1,
  async strike(phase, { dueTogether: count }) {
    const { world } = phase
    const perSecond = await dispatchesPerSecond(phase, Math.round(count * shareToMeasure))
    // A slower machine gets the time that it needs longer for the dispatch alone.
    const longerMs = Math.max(0, count / perSecond - count / usualPerSecond) * 1000
    phase.notes.push(
      `it dispatches ${Math.round(perSecond)}/s, so all have to be called within ${inSeconds(withinMs + longerMs)}`,
    )
    const { dueAt, sends } = await schedule(phase, count)
    limits.set(phase, { withinMs: withinMs + longerMs, sends })
    await until(dueAt + spreadMs / 3)
    await world.servers.emptyRedis()
    await killWorker(phase, youngest(world))
    await until(dueAt + (2 * spreadMs) / 3)
    await world.servers.emptyRedis()
    await world.fleet.complete()
    await untilJoined(phase)
    phase.notes.push(`${phase.inFlightAtKills.length} sends in flight at the killed worker`)
    // Their time counts from their moment, not from the kill.
    phase.faultsOver.length = 0
  },
  reach: (phase, findings) => [
    ...early(phase),
    ...uncertainOnlyInFlight(phase, findings),
    ...lateCalls(phase, findings),
    ...violation(
      findings.rows.length !== phase.clients.length,
      `${findings.rows.length} rows for ${phase.clients.length} sends`,
    ),
  ],
}

/** Sends that were called for the first time later than they should be. Sends in flight at the killed worker may never be. */
function lateCalls(phase: Phase, { rows }: Findings): string[] {
  const { withinMs, sends } = limits.get(phase) ?? {}
  if (withinMs === undefined || !sends) return ['it broke off']
  const callsOf = groupBy(phase.provider.calls, ({ requestId }) => requestId)
  const inFlight = new Set(phase.inFlightAtKills.map(({ requestId }) => requestId))
  const momentOfContact = new Map(sends.map((send) => [send.contact, momentOf(send)]))
  const delays = rows
    .filter(({ requestId, contact }) => momentOfContact.has(contact) && !inFlight.has(requestId))
    .map(({ requestId, contact }) => {
      const calledAt = callsOf.get(requestId)?.[0]?.arrivedAt ?? Infinity
      return calledAt - (momentOfContact.get(contact) ?? 0)
    })
  const slowest = Math.max(...delays)
  phase.notes.push(
    `${delays.length} of ${sends.length} due in one second, the slowest called ${inSeconds(slowest)} after its sendAt`,
  )
  return lateness(slowest > withinMs, `called ${inSeconds(slowest)} after its sendAt`)
}

const inSeconds = (ms: number) => `${(ms / 1000).toFixed(2)} s`

type CancelAnswer = NonNullable<Awaited<ReturnType<typeof cancel>>>

const answers = new WeakMap<Phase, Map<string, CancelAnswer>>()

export const cancelAtDue: Fault = {
  name: 'cancel-at-due',
  share: 0,
  times: ({ cancels }) => cancels,
  async strike(phase, { cancels: count }) {
    const { world } = phase
    const got = new Map<string, CancelAnswer>()
    answers.set(phase, got)
    const { dueAt, sends } = await schedule(phase, count)
    const cancelOne = async (send: ClientSend) => {
      const [requestId] = acceptedIds(send)
      if (requestId === undefined) return
      // Around its moment: a little before, or when a worker has it already.
      await until(momentOf(send) - 80 + phase.random() * 120)
      for (let tries = 0; tries < 20; tries++) {
        const answer = await cancel(world, requestId)
        if (answer && answer.status < 500) return void got.set(requestId, answer)
        await sleep(200)
      }
    }
    const canceled = sends.map(cancelOne)
    await until(dueAt + spreadMs / 2)
    await killWorker(phase, youngest(world))
    await Promise.all([...canceled, world.fleet.complete()])
    await untilJoined(phase)
    phase.faultsOver.length = 0
  },
  reach(phase, findings) {
    const got = answers.get(phase) ?? new Map<string, CancelAnswer>()
    const callsOf = groupBy(phase.provider.calls, ({ requestId }) => requestId)
    const inFlight = new Set(phase.inFlightAtKills.map(({ requestId }) => requestId))
    const callsFor = (requestId: string) => callsOf.get(requestId)?.length ?? 0
    const canceled = findings.rows.filter(({ requestId }) => isCanceled(got.get(requestId)))
    const tooLate = findings.rows.filter(({ requestId }) => got.get(requestId)?.status === 409)
    const others = findings.rows.filter((row) => !canceled.includes(row) && !tooLate.includes(row))
    // The call of a send that was in flight at the killed worker may not have begun, which nobody knows.
    const mayBeUncalled = (row: (typeof findings.rows)[number]) =>
      row.status === 'uncertain' && inFlight.has(row.requestId) && callsFor(row.requestId) === 0
    phase.notes.push(`${canceled.length} canceled, ${tooLate.length} too late`)
    return [
      ...early(phase),
      ...uncertainOnlyInFlight(phase, findings),
      ...violationsOf(
        canceled.filter(({ requestId, status }) => callsFor(requestId) > 0 || status !== 'canceled'),
        'its cancel got a 200, but it was called, or is not canceled',
      ),
      ...violationsOf(
        tooLate.filter((row) => callsFor(row.requestId) !== 1 && !mayBeUncalled(row)),
        'its cancel got a 409, but it was not called once',
      ),
      ...violationsOf(others, 'its cancel got neither a 200 `canceled` nor a 409'),
      ...violation(canceled.length === 0, 'none was canceled'),
      ...violation(tooLate.length === 0, 'no cancel was too late'),
    ]
  },
}

const isCanceled = (answer: CancelAnswer | undefined) =>
  answer?.status === 200 && answer.sendStatus === 'canceled'
