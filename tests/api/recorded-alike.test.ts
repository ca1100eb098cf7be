import { randomBytes } from 'node:crypto'
import { eq } from 'drizzle-orm'
import { v7 as uuidv7 } from 'uuid'
import { expect, test } from 'vitest'
import { insertSends, type RecordedSend } from '../../db/admission/accepts.ts'
import type { NewSend } from '../../db/admission/new-send.ts'
import { idempotencyKeys, sends } from '../../db/schema.ts'
import { type BatchedSend, buildNewSend } from '../support/batches.ts'
import { type Account, buildAccount, buildChannel } from '../support/builders.ts'
import { serviceOfFile } from '../support/service.ts'

const service = await serviceOfFile()

/** The fields of a send but for its channel, with usual defaults. */
interface GivenSend extends Partial<NewSend> {
  /** The first, the second … of its account. */
  channel: number
}

const times = (count: number, send: GivenSend): GivenSend[] => Array.from({ length: count }, () => send)
const contact = (value: string) => ({ type: 'phone', value }) as const
const tooLate = { recordBy: new Date('2020-01-01') }

/** Records them for an account of its own, and returns the result of each, with positions in the given order instead of ids. */
async function record(
  givenSends: readonly GivenSend[],
  insert: (rows: readonly NewSend[]) => Promise<RecordedSend[]>,
) {
  const account: Account = await buildAccount(service)
  const channels: string[] = []
  for (const { channel } of givenSends) {
    while (channels.length <= channel) channels.push(await buildChannel(service, account.accountId))
  }
  const rows = givenSends.map(({ channel, ...rest }, n) =>
    buildNewSend({
      accountId: account.accountId,
      channelId: channels[channel] ?? '',
      contact: contact(`+49151${n}`),
      message: { type: 'text', text: { value: `No. ${n}` } },
      ...rest,
    }),
  )
  const placeOf = (id: string | null | undefined) =>
    id ? rows.findIndex(({ requestId }) => requestId === id) : id
  const recorded = new Map((await insert(rows)).map((one) => [one.requestId, one]))
  const stored = await service.runtime.db.select().from(sends).where(eq(sends.accountId, account.accountId))
  return rows.map(({ requestId }) => {
    const answer = recorded.get(requestId)
    const row = stored.find((one) => one.requestId === requestId)
    return {
      answer: answer && {
        overflowOf: answer.overflowOf && channels.indexOf(answer.overflowOf),
        isBehind: answer.isBehind,
      },
      row: row && {
        ...row,
        ...{ requestId: placeOf(requestId), channelId: channels.indexOf(row.channelId), accountId: '' },
        ...{ seq: undefined, lane: row.lane !== null, behind: placeOf(row.behind) },
        ...{ acceptedAt: undefined, nextAttemptAt: undefined },
        expiresAt: row.expiresAt && Math.round((row.expiresAt.getTime() - row.acceptedAt.getTime()) / 1000),
      },
    }
  })
}

const inOneInsert = (rows: readonly NewSend[]) => insertSends(service.runtime.db, rows)
const oneByOne = async (rows: readonly NewSend[]) => {
  const recorded: RecordedSend[] = []
  for (const row of rows) recorded.push(...(await insertSends(service.runtime.db, [row])))
  return recorded
}
const inOneInsertWithKeys = (rows: readonly NewSend[]) => {
  const hash = () => randomBytes(32).toString('hex')
  return inOneInsert(rows.map((row) => ({ ...row, idempotency: { hash: hash(), fingerprint: hash() } })))
}

const someone = contact('+4915112345678')

/** Another value of each field than `buildNewSend` gives it. */
const otherFields = {
  apiKeyId: uuidv7(),
  contact: contact('+4915187654321'),
  message: { type: 'text', text: { value: 'Good morning' } },
  flowId: uuidv7(),
  closeConversation: true,
  ordering: 'none',
  expireAfterSeconds: 90,
  idempotency: { hash: randomBytes(32).toString('hex'), fingerprint: randomBytes(32).toString('hex') },
  traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  sendAt: new Date('2100-01-01'),
  reference: 'order 7',
  expiresInSeconds: 60,
  metadata: { shop: 'Berlin' },
  segments: 1,
  encoding: 'gsm-7',
  priority: 'urgent',
  ...tooLate,
} satisfies Omit<Required<NewSend>, 'requestId' | 'accountId' | 'channelId'>

/** The stored fields of a send that don't differ with each one. */
async function stored(send: BatchedSend) {
  const requestId = uuidv7()
  const { db } = service.runtime
  await insertSends(db, [buildNewSend({ contact: someone, ...send, requestId })])
  const [row] = await db.select().from(sends).where(eq(sends.requestId, requestId))
  const keys = await db.select().from(idempotencyKeys).where(eq(idempotencyKeys.requestId, requestId))
  if (!row) return undefined
  const { seq, behind, lane, acceptedAt, nextAttemptAt, expiresAt, ...rest } = row
  const isBounded = { hasLane: lane !== null, expires: expiresAt !== null }
  return { ...rest, ...isBounded, requestId: '', keys: keys.length }
}

test.each(Object.keys(otherFields) as (keyof typeof otherFields)[])(
  'a new send’s %s changes what is recorded',
  async (field) => {
    const { accountId, channelId } = await buildAccount(service)
    const usual = await stored({ accountId, channelId })
    expect(usual).toBeDefined()
    expect(await stored({ accountId, channelId })).toEqual(usual)
    expect(await stored({ accountId, channelId, [field]: otherFields[field] })).not.toEqual(usual)
  },
)

test.each<[string, GivenSend[]]>([
  [
    'all that a send can have',
    [
      { channel: 0 },
      { channel: 0, flowId: uuidv7(), closeConversation: true, expireAfterSeconds: 90 },
      { channel: 0, contact: { type: 'email', value: 'a@example.com', name: 'Ann' }, traceparent: 'trace' },
    ],
  ],
  ['what comes after its deadline', [{ channel: 0 }, { channel: 0, ...tooLate }, { channel: 0 }]],
  [
    'lanes, of a contact in a channel',
    [
      ...times(3, { channel: 0, contact: someone }),
      ...times(2, { channel: 1, contact: someone }),
      { channel: 0, contact: { ...someone, type: 'email' } },
      { channel: 0, contact: someone, ordering: 'none' },
      { channel: 0, contact: someone },
    ],
  ],
  ['the quota of channels', [...times(18, { channel: 0 }), ...times(2, { channel: 1 })]],
  [
    'the quota of an account',
    [0, 1, 2, 3, 4, 5, 6, 7].flatMap((channel) => times(13, { channel })).concat(times(6, { channel: 0 })),
  ],
])('one by one, in one insert, or with keys, sends are recorded alike: %s', async (_, givenSends) => {
  const alone = await record(givenSends, oneByOne)
  expect(await record(givenSends, inOneInsert)).toEqual(alone)
  expect(await record(givenSends, inOneInsertWithKeys)).toEqual(alone)
  expect(alone.map(({ answer }) => answer !== undefined)).toEqual(givenSends.map(({ recordBy }) => !recordBy))
})
