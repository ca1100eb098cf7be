import { randomBytes } from 'node:crypto'
import { eq } from 'drizzle-orm'
import { v7 as uuidv7 } from 'uuid'
import { expect, onTestFinished, test } from 'vitest'
import type { Caller } from '../../db/accounts/api-keys.ts'
import { insertSends, insertSendWithMedia } from '../../db/admission/accepts.ts'
import { connectDatabase } from '../../db/connection/client.ts'
import { isTooLate, isUnavailable } from '../../db/connection/errors.ts'
import { media, sends } from '../../db/schema.ts'
import { createRecord } from '../../src/api/send/record.ts'
import { Deadline } from '../../src/platform/deadline.ts'
import { buildNewSend } from '../support/batches.ts'
import { accept, buildAccount } from '../support/builders.ts'
import { serviceOfFile } from '../support/service.ts'
import { waitingForLocks } from '../support/stores.ts'
import { startTcpProxy } from '../support/tcp-proxy.ts'
import { eventually } from '../support/wait.ts'

/** Small media is in one statement with its send; large media is copied before it. */
const small = Buffer.from('content')
const large = Buffer.alloc(1_000_000, 'content')
const bothKinds = [
  ['small', small],
  ['large', large],
] as const
const kibibyte = 1024
const late = new Date('2020-01-01')

const service = await serviceOfFile()
const account = await buildAccount(service)

const buildRow = (more: object = {}) => buildNewSend({ ...account, ...more })
const insert = (row: ReturnType<typeof buildRow>, content: Buffer, db = service.runtime.db) =>
  insertSendWithMedia(db, row, content)

async function storedOf({ requestId }: { requestId: string }) {
  const { db } = service.runtime
  const rows = await db.select().from(sends).where(eq(sends.requestId, requestId))
  const [content] = await db.select().from(media).where(eq(media.requestId, requestId))
  return { sends: rows.length, content: content?.content }
}
const nothing = { sends: 0, content: undefined }

test.each([1, 512 * kibibyte - 1, 512 * kibibyte, 3_000_003])(
  'content of %i bytes is stored byte for byte, together with its send',
  async (length) => {
    const row = buildRow()
    const content = randomBytes(length)
    expect(await insert(row, content)).toEqual({
      requestId: row.requestId,
      overflowOf: null,
      isBehind: false,
    })
    const stored = await storedOf(row)
    expect(stored.sends).toBe(1)
    expect(stored.content?.equals(content)).toBe(true)
  },
)

test('of requests one after the other each stores its own content, also a shorter one after a longer one', async () => {
  for (const length of [3_000_000, 200_000, 1_500_000, 150_000]) {
    const content = randomBytes(length)
    const requestId = await accept(service, account, {
      contact: { value: '+4915112345678' },
      message: { type: 'media', media: { mediaType: 'document', base64: content.toString('base64') } },
    })
    expect((await storedOf({ requestId })).content?.equals(content)).toBe(true)
  }
})

test.each(bothKinds)(
  'content that comes after its deadline, or with a used key, leaves nothing: %s',
  async (_, content) => {
    const tooLate = buildRow({ recordBy: late })
    expect(await insert(tooLate, content)).toBeUndefined()
    expect(await storedOf(tooLate)).toEqual(nothing)

    const idempotency = { hash: randomBytes(32).toString('hex'), fingerprint: '00' }
    await insertSends(service.runtime.db, [buildRow({ idempotency })])
    const taken = buildRow({ idempotency })
    expect(await insert(taken, content)).toBeUndefined()
    expect(await storedOf(taken)).toEqual(nothing)
  },
)

test.concurrent.for<[string, Buffer, string?]>([
  ['insert_send_with_media', small],
  ['copy media', large],
  ['insert_send', large],
  ['to_be_committed_by', large],
  ['commit', large, 'commit\0'],
])(
  'if the connection stalls at “%s” until after the deadline, nothing is recorded',
  async ([name, content, text = name], { onTestFinished }) => {
    const proxy = await startTcpProxy(service.stores.databaseUrl)
    onTestFinished(() => proxy.close())
    const db = connectDatabase(proxy.url, { poolSize: 1, queryTimeoutMs: 20_000, onConnectionLost: () => {} })
    onTestFinished(() => db.$client.end())
    const row = buildRow({ recordBy: new Date(Date.now() + 1000) })
    proxy.stallOnce(text, 1700)
    const outcome = await insert(row, content, db).catch((fault: unknown) => fault)
    expect(outcome === undefined || isTooLate(outcome) || isUnavailable(outcome)).toBe(true)
    expect(await storedOf(row)).toEqual(nothing)
  },
)

test('a connection that is lost while content is written loses both, and the next send is recorded', async () => {
  const { $client } = service.runtime.db
  const blocker = await $client.connect()
  onTestFinished(() => blocker.release(true))
  await blocker.query('begin; lock table media in exclusive mode')
  const row = buildRow()
  const inserting = insert(row, randomBytes(8_000_000)).catch((fault: unknown) => fault)
  await eventually('the content waits', async () => {
    const { rowCount } = await $client.query(
      `select pg_terminate_backend(pid) from (${waitingForLocks}) waiting`,
    )
    return rowCount === 1
  })
  expect(isUnavailable(await inserting)).toBe(true)
  await blocker.query('rollback')
  expect(await storedOf(row)).toEqual(nothing)
  expect(await insert(row, large)).toBeDefined()
})

/** Lets the pipeline's step record it. @returns whether it did. */
async function recordByStep(content: Buffer, db = service.runtime.db): Promise<boolean> {
  const record = createRecord({ ...service.runtime, db }, async () => undefined)
  const { contact, message, flowId, closeConversation } = buildRow()
  const request = { contact, message, flowId, closeConversation, mediaContent: content }
  const channel = {
    channelId: account.channelId,
    provider: 'sandbox',
    ordering: 'none',
    expireAfterSeconds: null,
    countries: null,
    sealedConfig: null,
    isDeleted: false,
    hasCeiling: false,
  } as const
  const state = {
    requestId: uuidv7(),
    deadline: new Deadline(20_000),
    caller: { accountId: account.accountId } as Caller,
  }
  const send = { request, channel, when: 'now', sms: undefined, traceparent: undefined } as const
  return await record(state, send, undefined).then(
    () => true,
    () => false,
  )
}

test('content is freed once it is recorded', async () => {
  const content = Buffer.from(large)
  expect(await recordByStep(content)).toBe(true)
  expect(content.length).toBe(0)
})

test('content whose recording failed is kept in memory: some of it may still be being written', async () => {
  const { databaseUrl } = service.stores
  const db = connectDatabase(databaseUrl, { poolSize: 1, queryTimeoutMs: 300, onConnectionLost: () => {} })
  onTestFinished(() => db.$client.end())
  const blocker = await service.runtime.db.$client.connect()
  onTestFinished(() => blocker.release(true))
  await blocker.query('begin; lock table media in exclusive mode')
  const content = Buffer.from(large)
  expect(await recordByStep(content, db)).toBe(false)
  expect(content.equals(large)).toBe(true)
})
