import { eq, inArray } from 'drizzle-orm'
import { expect } from 'vitest'
import type { ChannelFields } from '../../db/accounts/channels.ts'
import { channels, sends } from '../../db/schema.ts'
import { readSettings } from '../../src/platform/settings/settings.ts'
import type { WorkerTimes } from '../../workers/worker-times.ts'
import { type Account, accept, buildAccount, buildWebhookChannel, newContact, textBody } from './builders.ts'
import { finishedTimeline, startTestService, type TestService, type WorkerOptions } from './service.ts'
import { expectSooner, type Span, StoodStill, spanBetween } from './standstill.ts'
import type { Stores } from './stores.ts'
import { eventually } from './wait.ts'
import { type Behaviour, openWebhookReceiver, type WebhookCall } from './webhook-receiver.ts'

interface Test {
  onTestFinished(stop: () => Promise<void>): void
}

const loopback = { ALLOWED_PRIVATE_NETWORKS: '127.0.0.0/8', CLIENT_PRIVATE_NETWORKS: '127.0.0.0/8' }

export type Traffic = Awaited<ReturnType<typeof startTraffic>>

/**
 * A service whose stores are empty, with an account and a webhook receiver: sends that wait in one test must not delay
 * those of another.
 *
 * @param test at whose end the service stops.
 * @param settings of its workers.
 * @param options.stores if the test needs a service of its own.
 * @param options.times of its workers, in place of production's.
 */
export async function startTraffic(
  test: Test,
  settings: Record<string, string> = {},
  { stores, times = {} }: { stores?: Stores; times?: Partial<WorkerTimes> } = {},
) {
  const receiver = await openWebhookReceiver()
  test.onTestFinished(() => receiver.stop())
  const started = await startTestService(stores ? { ...loopback, ...settings } : loopback, stores)
  const service = withWorkers(started, { settings, times })
  test.onTestFinished(() => service.stop())
  return { service, receiver, ...trafficOn(service, receiver, await buildAccount(service)) }
}

/** So that one API serves tests of workers with different settings. */
function withWorkers(
  service: TestService,
  { settings: changes = {}, times: given = {} }: WorkerOptions,
): TestService {
  return {
    ...service,
    runtime: {
      ...service.runtime,
      settings: readSettings(undefined, { ...service.environment, ...changes }),
    },
    startWorker: (name, { settings, times } = {}) =>
      service.startWorker(name, { settings: { ...changes, ...settings }, times: { ...given, ...times } }),
  }
}

const idOf = ({ headers }: WebhookCall) => String(headers['webhook-id'])

function trafficOn(
  service: TestService,
  receiver: Awaited<ReturnType<typeof openWebhookReceiver>>,
  account: Account,
) {
  const { accountId, apiKey } = account
  /** The calls about these sends, in the order in which they came. */
  const callsOf = (requestIds: readonly string[]) =>
    receiver.calls.filter((call) => requestIds.includes(idOf(call)))
  const ended = (requestId: string) => finishedTimeline(service, requestId, apiKey)
  const send = (channelId: string, contact = newContact()) =>
    accept(service, { apiKey, channelId }, textBody('Hello', contact))
  const sendEach = async (channelId: string, count: number, contactOf: () => string) => {
    const ids: string[] = []
    for (let i = 0; i < count; i++) ids.push(await send(channelId, contactOf()))
    return ids
  }
  return {
    account,
    async startWorkers(...names: string[]) {
      return await Promise.all(names.map((name) => service.startWorker(name)))
    },
    buildWebhook: (behaviour: Behaviour, options: Partial<ChannelFields> = {}) =>
      buildWebhookChannel(service, accountId, receiver.at(behaviour), 'hold', options),
    send,
    /** One after the other, in the order of their ids: each to a contact of its own. */
    sendSome: (channelId: string, count: number) => sendEach(channelId, count, newContact),
    /** The same, all to one contact. */
    sendLane: (channelId: string, count: number, contact = newContact()) =>
      sendEach(channelId, count, () => contact),
    ended,
    allEnded: (requestIds: readonly string[]) => endedRows(service, requestIds),
    async expectSent(requestIds: readonly string[], attempts = 1): Promise<void> {
      for (const row of await endedRows(service, requestIds))
        expect(row).toEqual({ requestId: row.requestId, status: 'sent', attempts })
    },
    callsOf,
    /** The sends of the calls, in the order in which they came. */
    orderOf: (requestIds: readonly string[]) => callsOf(requestIds).map(idOf),
    async channelRow(channelId: string) {
      const [row] = await service.runtime.db.select().from(channels).where(eq(channels.id, channelId))
      if (!row) throw new Error(`no channel ${channelId}`)
      return row
    },
  }
}

/**
 * Waits until all have ended, and returns their rows: to request the timeline of each takes longer than to send them. Otherwise fails with the log lines of those that haven't, and of faults.
 */
async function endedRows({ runtime, logs }: TestService, requestIds: readonly string[]) {
  const found = () =>
    runtime.db
      .select({
        requestId: sends.requestId,
        status: sends.status,
        attempts: sends.attempt,
        at: sends.finishedAt,
      })
      .from(sends)
      .where(inArray(sends.requestId, [...requestIds]))
  let waiting: string[] = []
  const rows = await eventually('the end of all', async () => {
    const rows = await found()
    const ended = new Set(rows.filter(({ at }) => at).map(({ requestId }) => requestId))
    waiting = requestIds.filter((id) => !ended.has(id))
    return waiting.length === 0 && rows
  }).catch((error: Error) => {
    const lines = logs.filter(({ requestId = '', level }) => waiting.includes(requestId) || level !== 'info')
    error.message += lines.map((line) => `\n${JSON.stringify(line)}`).join('')
    throw error
  })
  return rows.map(({ at, ...row }) => row)
}

/** How much longer one call may take to the receiver than another one, on a busy machine. */
export const wayMs = 50

/** From each call until so many others have come. */
function windowsOf(calls: readonly WebhookCall[], count: number) {
  const moments = calls.map(({ at }) => at).sort((a, b) => a - b)
  return moments.slice(count).map((to, index) => ({ from: moments[index] ?? 0, to }))
}

/** The shortest time that so many calls and the one after them came in. */
export const shortestSpanMs = (calls: readonly WebhookCall[], count: number): number =>
  Math.min(...windowsOf(calls, count).map(({ from, to }) => to - from))

/** Expects that so many calls and the one after them never came in less time, but for a first that was held up on its way. */
export function expectRate(calls: readonly WebhookCall[], count: number, ms: number): void {
  expect(calls.length).toBeGreaterThan(count)
  // By how much the last came too soon is by how much the first came late: only a standstill then explains it.
  for (const { from, to } of windowsOf(calls, count)) expectSooner(spanBetween(to - ms, from), wayMs)
}

/** From the first to the last. */
export function spanOf(calls: readonly WebhookCall[]): Span {
  const moments = calls.map(({ at }) => at)
  return spanBetween(Math.min(...moments), Math.max(...moments))
}

/** Expects that few came before others that had been accepted earlier: those that missed their moment come later. */
export function expectOrder(
  calls: readonly WebhookCall[],
  accepted: readonly string[],
  maxOvertakings: number,
) {
  const positions = calls.map((call) => accepted.indexOf(idOf(call)))
  const overtakings = positions
    .slice(1)
    .filter((position, index) => position < (positions[index] ?? 0)).length
  const { stoodStillMs } = spanOf(calls)
  if (overtakings > maxOvertakings && stoodStillMs > 0) throw new StoodStill(`for ${stoodStillMs} ms`)
  expect(overtakings).toBeLessThanOrEqual(maxOvertakings)
}
