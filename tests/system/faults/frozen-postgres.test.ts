import { eq } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { beat } from '../../../db/delivery/leases.ts'
import { workers } from '../../../db/schema.ts'
import { type Reaper, startReaper } from '../../../src/dev/embedded/index.ts'
import { startHeartbeat } from '../../../workers/upkeep/heartbeat.ts'
import { beginAttempt, lapse, rowOf, timelineOf } from '../../support/attempts.ts'
import { type BreakableServers, startBreakableServers } from '../../support/breakable-servers.ts'
import { type Account, accept, buildAccount, textBody } from '../../support/builders.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { eventually } from '../../support/wait.ts'

/** A little less than a lease: clocks are read at different places. */
const almostALeaseMs = 7500

let reaper: Reaper
let servers: BreakableServers
let service: TestService
let account: Account

beforeAll(async () => {
  reaper = startReaper()
  servers = await startBreakableServers(reaper)
  service = await startTestService({}, servers)
  account = await buildAccount(service)
})
afterAll(async () => {
  await service?.stop()
  await servers?.stop()
  await reaper?.close()
})

/** A send whose attempt the worker has begun; no process of that name continues it. */
async function claimedBy(worker: string): Promise<string> {
  const requestId = await accept(service, account, textBody())
  await beginAttempt(service, requestId, worker)
  return requestId
}

const lostAt = (requestId: string, withinMs: number) =>
  eventually(
    `the claim of ${requestId} given up`,
    async () => {
      const { events } = await timelineOf(service, requestId)
      const lost = events.find(({ event }) => event === 'attempt_lost')
      return lost && Date.parse(lost.at)
    },
    withinMs,
  )

async function leaseOf(worker: string): Promise<number> {
  const [row] = await service.runtime.db.select().from(workers).where(eq(workers.name, worker))
  return row?.aliveUntil.getTime() ?? 0
}

const renewed = async (worker: string) => {
  const before = await leaseOf(worker)
  await eventually(`a beat of ${worker}`, async () => (await leaseOf(worker)) > before)
}

test("a worker counts others as dead only when its own beats have gone through for a lease's time, also after PostgreSQL was away", async () => {
  const dead = await claimedBy('dead')
  const neighbour = await claimedBy('neighbour')
  const survivor = await claimedBy('survivor')
  await lapse(service, 'dead')

  const startedAt = Date.now()
  const observed = startHeartbeat(service.runtime, 'observed')
  await service.startWorker('observer')
  await eventually('the first beat', async () => observed.holdsLease())
  expect(observed.maySweep()).toBe(false)
  expect((await lostAt(dead, 20_000)) - startedAt).toBeGreaterThanOrEqual(almostALeaseMs)
  await eventually('the judgement', async () => observed.maySweep())

  servers.freezePostgres()
  try {
    await eventually('the doubt about others', async () => !observed.maySweep())
    expect(observed.holdsLease()).toBe(true)
    await eventually('the end of the lease', async () => !observed.holdsLease())
  } finally {
    servers.thawPostgres()
  }
  const thawedAt = Date.now()
  // Simulates that their heartbeats failed too.
  for (const worker of ['neighbour', 'survivor']) await lapse(service, worker)
  await eventually('the lease again', async () => observed.holdsLease())
  expect(observed.maySweep()).toBe(false)
  await renewed('observer')
  await renewed('observer')
  await beat(service.runtime.db, 'survivor', 60_000)

  expect((await lostAt(neighbour, 20_000)) - thawedAt).toBeGreaterThanOrEqual(almostALeaseMs)
  expect((await rowOf(service, survivor)).status).toBe('sending')
  await observed.stop()
})
