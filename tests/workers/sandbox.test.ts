import { eq } from 'drizzle-orm'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { connectDatabase, type Database } from '../../db/connection/client.ts'
import { sandboxMessages } from '../../db/schema.ts'
import { providers } from '../../src/providers/index.ts'
import { createSandboxSender } from '../../workers/providers/sandbox.ts'
import { describeProvider, type FakeServer } from '../rules/providers/contract.ts'
import { buildDelivery } from '../support/deliveries.ts'
import { freshDatabase, waitingForLocks } from '../support/stores.ts'
import { closedPort, startSilentServer } from '../support/tcp-proxy.ts'
import { eventually } from '../support/wait.ts'

const recipients: Record<FakeServer, string | undefined> = {
  accept: undefined,
  reject: '+15550100103',
  fail_for_a_while: '+15550100102',
  limit_rate: '+15550100104',
  drop_after_taking: '+15550100105',
  never_answer: '+15550100101',
}

let db: Database
const noReceipts = async () => []

beforeAll(async () => {
  const databaseUrl = await freshDatabase()
  db = connectDatabase(databaseUrl, { poolSize: 3, queryTimeoutMs: 5000, onConnectionLost: () => {} })
  await eventually('a connection', () => db.$client.query('select').catch(() => false as const))
})
afterAll(() => db.$client.end())

const messagesOf = (requestId: string) =>
  db.select().from(sandboxMessages).where(eq(sandboxMessages.requestId, requestId))

describeProvider('sandbox', async () => ({
  provider: createSandboxSender(db, noReceipts),
  goodConfig: {},
  badConfig: { url: 'https://example.com' },
  async arrange(behaviour, delivery) {
    const value = recipients[behaviour]
    return value === undefined ? delivery : { ...delivery, contact: { type: 'phone', value } }
  },
  taken: messagesOf,
  failsByRecipient: true,
  stop: async () => {},
}))

test.concurrent.each([
  ['slow', 1, 'sent'],
  ['retry', 1, 'retry_later'],
  ['retry', 2, 'retry_later'],
  ['retry', 3, 'sent'],
  ['rejected', 1, 'rejected'],
  ['ratelimited', 1, 'retry_later'],
  ['ratelimited', 2, 'sent'],
  ['uncertain', 1, 'uncertain'],
  ['anybody', 1, 'sent'],
  // A name that every object has.
  ['constructor', 1, 'sent'],
])(
  'the sandbox behaves by the local part at any domain: %s@, attempt %i: %s',
  async (localPart, attempt, outcome) => {
    const contact = { type: 'email', value: `${localPart}@any.example` } as const
    const delivery = buildDelivery(providers.sandbox, {}, { contact, attempt })
    const result = await createSandboxSender(db, noReceipts).send(delivery, AbortSignal.timeout(100_000))
    expect(result.outcome).toBe(outcome)
  },
)

test('the sandbox stores the messages that it accepts, with media', async () => {
  const delivery = buildDelivery(
    providers.sandbox,
    {},
    {
      message: { type: 'media', media: { mediaType: 'document', filename: 'a.txt', sizeBytes: 5 } },
      mediaContent: Buffer.from('Hello'),
    },
  )
  const outcome = await createSandboxSender(db, noReceipts).send(delivery, AbortSignal.timeout(100_000))
  const kept = await messagesOf(delivery.requestId)
  expect(kept).toMatchObject([{ message: delivery.message, contactValue: delivery.contact.value }])
  expect(kept[0]?.mediaContent).toEqual(delivery.mediaContent)
  expect(outcome).toMatchObject({ providerMessageId: kept[0]?.id })
})

test('a connection that is lost before the answer leaves the outcome uncertain', async () => {
  const blocker = await db.$client.connect()
  await blocker.query('begin; lock table sandbox_messages in share mode')
  const delivery = buildDelivery(providers.sandbox, {})
  const sending = createSandboxSender(db, noReceipts).send(delivery, AbortSignal.timeout(100_000))
  await eventually('the insert waits', async () => {
    const { rowCount } = await db.$client.query(
      `select pg_terminate_backend(pid) from (${waitingForLocks}) waiting`,
    )
    return rowCount === 1
  })
  expect((await sending).outcome).toBe('uncertain')
  await blocker.query('rollback')
  blocker.release()
})

test.each([
  ['where no server listens', async () => ({ port: await closedPort(), close: async () => {} })],
  ['that takes connections and says nothing', startSilentServer],
])('with a database %s the message is not accepted', async (_, start) => {
  const { port, close } = await start()
  onTestFinished(close)
  const away = connectDatabase(`postgres://postgres@127.0.0.1:${port}/none`, {
    poolSize: 1,
    queryTimeoutMs: 1000,
    onConnectionLost: () => {},
  })
  onTestFinished(() => away.$client.end())
  const delivery = buildDelivery(providers.sandbox, {})
  const { outcome } = await createSandboxSender(away, noReceipts).send(delivery, AbortSignal.timeout(100_000))
  expect(outcome).toBe('retry_later')
})
