import { randomBytes } from 'node:crypto'
import { eq } from 'drizzle-orm'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { insertSends, insertSendWithMedia } from '../../db/accepts.ts'
import { isTooLate, isUnavailable } from '../../db/errors.ts'
import { media, sends } from '../../db/schema.ts'
import { buildNewSend } from '../support/batches.ts'
import { type Account, accept, buildAccount } from '../support/builders.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { waitingForLocks } from '../support/stores.ts'
import { eventually } from '../support/wait.ts'

const kibibyte = 1024
const late = new Date('2020-01-01')
const inTime = new Date('2100-01-01')

let service: TestService
let account: Account

beforeAll(async () => {
  service = await startTestService()
  account = await buildAccount(service)
})
afterAll(() => service.stop())

const buildRow = (more: object = {}) => buildNewSend({ ...account, ...more })
const insert = (row: ReturnType<typeof buildRow>, content = Buffer.from('content'), commitBy = inTime) =>
  insertSendWithMedia(service.runtime.db, row, content, commitBy)

async function storedOf({ requestId }: { requestId: string }) {
  const { db } = service.runtime
  const rows = await db.select().from(sends).where(eq(sends.requestId, requestId))
  const [content] = await db.select().from(media).where(eq(media.requestId, requestId))
  return { sends: rows.length, content: content?.content }
}
const nothing = { sends: 0, content: undefined }

test.each([1, 256 * kibibyte, 256 * kibibyte + 1, 3_000_003])(
  'content of %i bytes is stored to the byte, and its send with it',
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

test('posted one after the other, each content is its own, a shorter one after a longer one too', async () => {
  for (const length of [3_000_000, 200_000, 1_500_000, 150_000]) {
    const content = randomBytes(length)
    const requestId = await accept(service, account, {
      contact: { value: '+4915112345678' },
      message: { type: 'media', media: { mediaType: 'document', base64: content.toString('base64') } },
    })
    expect((await storedOf({ requestId })).content?.equals(content)).toBe(true)
  }
})

test('what comes after its moment, or with a key that is taken, is not recorded, and its content goes, too', async () => {
  const tooLate = buildRow({ recordBy: late })
  expect(await insert(tooLate)).toBeUndefined()
  expect(await storedOf(tooLate)).toEqual(nothing)

  const idempotency = { hash: randomBytes(32).toString('hex'), fingerprint: '00' }
  await insertSends(service.runtime.db, [buildRow({ idempotency })])
  const taken = buildRow({ idempotency })
  expect(await insert(taken)).toBeUndefined()
  expect(await storedOf(taken)).toEqual(nothing)
})

test('where the process stood still before the commit, nothing is recorded any more', async () => {
  const row = buildRow()
  const error = await insert(row, undefined, late).catch((fault: unknown) => fault)
  expect(isTooLate(error)).toBe(true)
  expect(await storedOf(row)).toEqual(nothing)
})

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
  expect(await insert(row)).toBeDefined()
})
