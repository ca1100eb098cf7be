import { setTimeout as sleep } from 'node:timers/promises'
import { eq } from 'drizzle-orm'
import { v7 as uuidv7 } from 'uuid'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Database } from '../../db/connection/client.ts'
import { claimSends, reclaimSends } from '../../db/delivery/claims.ts'
import { enterConversations, listConversations } from '../../db/delivery/conversations.ts'
import { recordOutcomes } from '../../db/delivery/outcomes.ts'
import { findRefusals } from '../../db/delivery/refusals.ts'
import { sandboxMessages, sends } from '../../db/schema.ts'
import type { AttemptRecord } from '../../src/core/sends/timeline.ts'
import { openProviders, type Senders } from '../../workers/providers/index.ts'
import { type Slot, unlimitedSlot } from '../../workers/queue/slots.ts'
import { createPermits } from '../../workers/sends/claim/permits.ts'
import { createClaim } from '../../workers/sends/claim.ts'
import { lapse } from '../support/attempts.ts'
import { type Account, accept, buildAccount, textBody } from '../support/builders.ts'
import { deliverAs } from '../support/deliver-as.ts'
import { livingWorker } from '../support/living-worker.ts'
import { alikeProviders } from '../support/providers.ts'
import { startTestService, type TestService, testSuppressionKey } from '../support/service.ts'
import { freshStores } from '../support/stores.ts'
import { eventually } from '../support/wait.ts'

let service: TestService
let account: Account
let senders: Senders

beforeAll(async () => {
  service = await startTestService({}, await freshStores())
  account = await buildAccount(service)
  for (const worker of ['a', 'b', 'c', 'd']) await livingWorker(service, worker)
  ;({ senders } = openProviders(service.runtime))
})
afterAll(() => service.stop())

const record: AttemptRecord = {
  attempt: 1,
  outcome: 'sent',
  durationMs: 1,
  providerStatus: 200,
  providerCode: null,
  providerMessageId: 'x',
}
const sent = { status: 'sent', record, reason: undefined, delayMs: undefined } as const

const by = (worker: string) => ({
  id: uuidv7(),
  worker,
  suppressionKey: testSuppressionKey,
  inAnyOrder: false,
})
const acceptText = () => accept(service, account, textBody())

async function rowOf(requestId: string) {
  const [row] = await service.runtime.db.select().from(sends).where(eq(sends.requestId, requestId))
  return row
}

const callsFor = (requestId: string) =>
  service.runtime.db.select().from(sandboxMessages).where(eq(sandboxMessages.requestId, requestId))

test('if many workers claim the same sends at once, each send goes to one', async () => {
  const { db } = service.runtime
  const ids = await Promise.all(Array.from({ length: 40 }, acceptText))
  const claims = await Promise.all(['a', 'b', 'c', 'd'].map((worker) => claimSends(db, ids, by(worker))))
  expect(
    claims
      .flat()
      .map(({ requestId }) => requestId)
      .sort(),
  ).toEqual([...ids].sort())
})

test('most claims of sends that have waited are HOT updates, which write to no index', async () => {
  const { db } = service.runtime
  const updates = async () => {
    await db.$client.query('select pg_stat_force_next_flush()')
    const { rows } = await db.$client.query<{ all: number; inPlace: number }>(
      `select n_tup_upd::int as all, n_tup_hot_upd::int as "inPlace" from pg_stat_user_tables where relname = 'sends'`,
    )
    return rows[0] ?? { all: 0, inPlace: 0 }
  }
  await db.$client.query(`alter table sends set (autovacuum_enabled = off)`)
  /** The share of a hundred claims. */
  const inPlace = async () => {
    const ids = await Promise.all(Array.from({ length: 100 }, acceptText))
    const before = await updates()
    for (let at = 0; at < ids.length; at += 10) await claimSends(db, ids.slice(at, at + 10), by('a'))
    const after = await updates()
    return (after.inPlace - before.inPlace) / (after.all - before.all)
  }
  // Full pages never give more than 0.6. Pages with room give 0.4 while an older snapshot of this database, such as that of
  // an ANALYZE by autovacuum, keeps the rows that were replaced from being removed.
  await eventually('most in place', async () => (await inPlace()) > 0.75)
})

test('a send that another worker is claiming at this moment is neither waited for nor claimed twice', async () => {
  const { db } = service.runtime
  const requestId = await acceptText()
  const client = await db.$client.connect()
  try {
    await client.query('begin')
    const claiming = { $client: client } as unknown as Database
    expect(await claimSends(claiming, [requestId], by('a'))).toHaveLength(1)
    const second = claimSends(db, [requestId], by('b'))
    expect(await Promise.race([second, sleep(2000, 'waits')])).toEqual([])
    await client.query('commit')
    expect(await second).toEqual([])
  } finally {
    client.release()
  }
})

test('a send that is claimed, finished or unknown is not claimed again, and asks for no wake-up', async () => {
  const { db } = service.runtime
  const requestId = await acceptText()
  const unknown = uuidv7()
  const claim = by('a')
  expect(await claimSends(db, [requestId], claim)).toMatchObject([{ attempt: 1, worker: 'a' }])
  expect(await claimSends(db, [requestId, unknown], by('b'))).toEqual([])
  await recordOutcomes(db, [{ requestId, claimId: claim.id, ...sent }])
  expect(await claimSends(db, [requestId], by('b'))).toEqual([])
  expect(await findRefusals(db, [requestId, unknown], testSuppressionKey)).toEqual([
    {
      ...{
        requestId,
        isSuppressed: false,
        isToPostpone: false,
        dueInMs: null,
        wakesLaneHead: true,
        waitsForPermitOf: null,
      },
      ...{ channelId: account.channelId, fallsBackFrom: null, goesFirst: null },
    },
  ])
})

test('a claim whose answer was lost is found again, as the same attempt', async () => {
  const { db } = service.runtime
  const requestId = await acceptText()
  const claim = by('a')
  const [first] = await claimSends(db, [requestId], claim)
  expect(await claimSends(db, [requestId], claim)).toEqual([first])
})

test('a claim whose answer was lost is found again although the lease ran out meanwhile: no other worker would end it', async () => {
  const { db } = service.runtime
  const requestId = await acceptText()
  await livingWorker(service, 'lapsing')
  const claim = by('lapsing')
  const [first] = await claimSends(db, [requestId], claim)
  await lapse(service, 'lapsing')
  expect(await claimSends(db, [requestId], claim)).toEqual([first])
})

test('a claim that is repeated while its first statement still runs returns what both have claimed', async () => {
  const { db } = service.runtime
  const requestIds = await Promise.all(Array.from({ length: 20 }, acceptText))
  const claim = by('a')
  const client = await db.$client.connect()
  try {
    await client.query('begin')
    const first = { $client: client } as unknown as Database
    await claimSends(first, requestIds.slice(0, 12), claim)
    const repeat = reclaimSends(db, requestIds, claim)
    await sleep(100)
    await client.query('commit')
    expect(await repeat).toHaveLength(20)
  } finally {
    client.release()
  }
})

test('an outcome counts only for its own claim', async () => {
  const { db } = service.runtime
  const requestId = await acceptText()
  const claim = by('a')
  await claimSends(db, [requestId], claim)
  expect(await recordOutcomes(db, [{ requestId, claimId: uuidv7(), ...sent }])).toEqual([])
  expect((await rowOf(requestId))?.status).toBe('sending')
  expect(await recordOutcomes(db, [{ requestId, claimId: claim.id, ...sent }])).toHaveLength(1)
  expect((await rowOf(requestId))?.status).toBe('sent')
})

test('an outcome whose answer was lost is found again, and changes nothing more', async () => {
  const { db } = service.runtime
  const requestId = await acceptText()
  const claim = by('a')
  await claimSends(db, [requestId], claim)
  const outcome = { requestId, claimId: claim.id, ...sent }
  const first = await recordOutcomes(db, [outcome])
  const row = await rowOf(requestId)
  expect(await recordOutcomes(db, [outcome])).toEqual(first)
  expect(await rowOf(requestId)).toEqual(row)
})

test.each([60_000, 2_592_000_000])(
  'a wake-up that comes %i ms too early is scheduled again for when the send is due',
  async (delayMs) => {
    const { db } = service.runtime
    const requestId = await acceptText()
    const claim = by('a')
    await claimSends(db, [requestId], claim)
    const later = { status: 'queued', record, reason: 'later', delayMs } as const
    await recordOutcomes(db, [{ requestId, claimId: claim.id, ...later }])
    const deliver = await deliverAs(service, 'b', senders)
    const { wakeInMs } = await deliver(requestId)
    expect(wakeInMs).toBeGreaterThan(delayMs - 1000)
    expect(wakeInMs).toBeLessThanOrEqual(delayMs)
  },
)

test('ten wake-ups of one send call the provider once', async () => {
  const deliver = await deliverAs(service, 'a', senders)
  const requestId = await acceptText()
  await Promise.all(Array.from({ length: 10 }, () => deliver(requestId)))
  expect(await callsFor(requestId)).toHaveLength(1)
})

test('a send of the ordinary queue is not claimed in the statement of a backlog', async () => {
  const claim = createClaim(service.runtime, 'a', createPermits(service.runtime))
  const statements = async () => {
    const { values } = await service.runtime.metrics.claimBatch.get()
    return values.find(({ metricName }) => metricName?.endsWith('_count'))?.value ?? 0
  }
  const before = await statements()
  const [ordinary, ...backlog] = await Promise.all(Array.from({ length: 4 }, acceptText))
  await Promise.all([
    ...backlog.map((requestId) => claim(requestId, { ...unlimitedSlot, queue: 'overflow' })),
    claim(ordinary as string),
  ])
  expect((await statements()) - before).toBe(2)
})

test('a slot learns for which account its send is claimed, and is paused during the call; a refused claim changes nothing', async () => {
  const steps: string[] = []
  const slot: Slot = {
    queue: 'ordinary',
    claimedFor: (accountId) => steps.push(`claimed for ${accountId}`),
    pauseWork: () => steps.push('paused'),
    resumeWork: () => steps.push('resumed'),
  }
  const provider = alikeProviders({
    async send() {
      steps.push('called')
      return { outcome: 'sent' }
    },
  })
  const deliver = await deliverAs(service, 'a', provider)
  const requestId = await acceptText()
  await deliver(requestId, slot)
  await deliver(requestId, slot)
  expect(steps).toEqual([`claimed for ${account.accountId}`, 'paused', 'called', 'resumed'])
})

test('a send that was woken twice while PostgreSQL was away calls the provider once', async () => {
  const { runtime } = service
  let isAway = true
  const client = new Proxy(runtime.db.$client, {
    get: (pool, name) =>
      name === 'query' && isAway
        ? () => Promise.reject(Object.assign(new Error('away'), { code: 'ECONNREFUSED' }))
        : Reflect.get(pool, name, pool),
  })
  const cutOff = { ...runtime, db: { $client: client } as unknown as Database }
  const claim = createClaim(cutOff, 'a', createPermits(service.runtime))
  const [other, twice] = [await acceptText(), await acceptText()]
  const claims = [claim(other), claim(twice), claim(twice)]
  await sleep(50)
  isAway = false
  expect((await Promise.all(claims)).map((claimed) => 'send' in claimed && claimed.send.requestId)).toEqual([
    other,
    twice,
    false,
  ])
})

test('entering a conversation again changes nothing', async () => {
  const { db } = service.runtime
  const body = { ...textBody('Hi', '+4915112340000'), closeConversation: true }
  const [claimed] = await claimSends(db, [await accept(service, account, body)], by('a'))
  if (!claimed) throw new Error('not claimed')
  const [first] = await enterConversations(db, [claimed])
  const [again] = await enterConversations(db, [claimed])
  expect(again).toEqual(first)
  expect(await listConversations(db, account.accountId, claimed.contact)).toHaveLength(1)
})

test('a channel whose config cannot be opened calls no provider, and its sends go back to the queue without an attempt', async () => {
  const other = await startTestService(
    { CREDENTIALS_KEY: Buffer.alloc(32, 9).toString('base64') },
    service.stores,
  )
  try {
    const requestId = await acceptText()
    await other.startWorker()
    const finished = await eventually('the end of the attempt', async () =>
      other.logs.find((line) => line.requestId === requestId && line.event === 'attempt_finished'),
    )
    expect(finished).toMatchObject({ outcome: 'not_called' })
    expect(await rowOf(requestId)).toMatchObject({ status: 'queued', attempt: 0 })
    expect(await callsFor(requestId)).toEqual([])
  } finally {
    await other.stop()
  }
})
