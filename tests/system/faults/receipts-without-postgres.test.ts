import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Reaper, startReaper } from '../../../src/dev/embedded/index.ts'
import { attemptedSend, timelineOf } from '../../support/attempts.ts'
import { type BreakableServers, startBreakableServers } from '../../support/breakable-servers.ts'
import { type Account, buildAccount } from '../../support/builders.ts'
import { expectError } from '../../support/expect-error.ts'
import { longestAnswerMs } from '../../support/longest-answer.ts'
import { buildProviderChannel } from '../../support/provider-channel.ts'
import { sendReport, whatsAppConfig, whatsAppReport } from '../../support/receipts.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { expectSooner, timed } from '../../support/standstill.ts'

const sendsOfEach = 5
const providers = 8

let reaper: Reaper
let servers: BreakableServers
let service: TestService
let account: Account

beforeAll(async () => {
  reaper = startReaper()
  servers = await startBreakableServers(reaper)
  service = await startTestService({}, servers)
  const owner = await buildAccount(service)
  account = {
    ...owner,
    channelId: await buildProviderChannel(service, owner.accountId, 'whatsapp-cloud', whatsAppConfig),
  }
})
afterAll(async () => {
  await service?.stop()
  await servers?.stop()
  await reaper?.close()
})

const attempt = () => attemptedSend(service, account, { outcome: 'sent', providerStatus: 200 })

/** Posts until it is taken, as a provider does. @returns how many answers were a 503. */
async function postUntilTaken(requestIds: readonly string[]): Promise<number> {
  const statuses = requestIds.map((requestId) => ({ requestId, kind: 'delivered' as const }))
  const report = whatsAppReport(service, account.channelId, statuses)
  for (let refused = 0; ; refused++) {
    const answer = await timed(() => sendReport(report))
    if (answer.status === 200) return refused
    expectError(answer, 503)
    expect(answer.headers.get('Retry-After')).toMatch(/^[1-9]/)
    expectSooner(answer, longestAnswerMs)
    await sleep(100)
  }
}

test.each([
  ['stopped', () => servers.stopPostgres(), () => servers.startPostgres()],
  ['crashed', () => servers.crashPostgres(), () => servers.startPostgres()],
  ['frozen', async () => servers.freezePostgres(), async () => servers.thawPostgres()],
])(
  'while PostgreSQL is %s, each request gets a 503 in time; posted again, each receipt is there, once',
  async (_, away, back) => {
    const ids = await Promise.all(Array.from({ length: sendsOfEach * providers }, attempt))
    const batches = Array.from({ length: providers }, (_, at) =>
      ids.slice(at * sendsOfEach, (at + 1) * sendsOfEach),
    )
    const [first = [], ...others] = batches
    await postUntilTaken(first)
    await away()
    const posting = Promise.all([first, ...others].map(postUntilTaken))
    await sleep(3000)
    await back()
    const refused = await posting
    expect(Math.min(...refused)).toBeGreaterThan(0)
    for (const requestId of ids) {
      const { delivery, events } = await timelineOf(service, requestId)
      const told = events.filter(({ event }) => event === 'delivered')
      expect({ delivery, told: told.length }).toEqual({ delivery: 'delivered', told: 1 })
    }
  },
)

test('without Redis, receipts are recorded all the same', async () => {
  const requestId = await attempt()
  await servers.stopRedis()
  try {
    expect(await postUntilTaken([requestId])).toBe(0)
  } finally {
    await servers.startRedis()
  }
  expect(await timelineOf(service, requestId)).toMatchObject({ delivery: 'delivered' })
})
