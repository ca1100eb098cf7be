import { eq, sql } from 'drizzle-orm'
import { v7 as uuidv7 } from 'uuid'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { connectDatabase, type Database } from '../../db/connection/client.ts'
import { listConversations } from '../../db/delivery/conversations.ts'
import { findMedia } from '../../db/delivery/media.ts'
import { conversations, idempotencyKeys, sandboxMessages, sendEvents, sends } from '../../db/schema.ts'
import { replaySends } from '../../db/sends/replay-sets.ts'
import { replaySend } from '../../db/sends/replays.ts'
import { eraseContact } from '../../db/upkeep/erase.ts'
import type { ContactType } from '../../src/core/contacts/contact.ts'
import { noneSkipped } from '../../src/core/sends/left-out.ts'
import type { AttemptOutcome } from '../../src/core/sends/outcome.ts'
import {
  attemptedSend,
  beginAttempt,
  buildSendRow,
  endAttempt,
  loseAttempt,
  namesOf,
  rowOf,
  sweepOnce,
  timelineOf,
} from '../support/attempts.ts'
import { type Account, accept, buildAccount, newContact, post, textBody } from '../support/builders.ts'
import { runCli } from '../support/cli.ts'
import { dumpDatabase } from '../support/dumps.ts'
import { expectError } from '../support/expect-error.ts'
import { inSeconds, postBatch } from '../support/later.ts'
import { finishedTimeline, startTestService, type TestService } from '../support/service.ts'
import { waitingForLocks } from '../support/stores.ts'
import { eventually } from '../support/wait.ts'

const content = 'Zebrastreifen'
const name = 'Rumpelstilz'
const phone = '+4915155501234'
const words = {
  outcome: 'rejected',
  fault: 'recipient',
  reason: `${phone} is no number`,
  providerStatus: 400,
} as const
const sentOutcome: AttemptOutcome = {
  outcome: 'sent',
  providerMessageId: `wamid-${phone}`,
  providerStatus: 200,
}

let service: TestService
let account: Account
/** As the operator's command line connects: an API gives its statements up after a second. */
let db: Database

beforeAll(async () => {
  service = await startTestService()
  const { databaseUrl } = service.stores
  db = connectDatabase(databaseUrl, { poolSize: 3, queryTimeoutMs: 10_000, onConnectionLost: () => {} })
})
beforeEach(async () => {
  const tables = 'sends, send_events, permits, media, sandbox_messages, conversations, idempotency_keys'
  await db.$client.query(`truncate ${tables}`)
  account = await buildAccount(service)
})
afterAll(async () => {
  await db.$client.end()
  await service.stop()
})

const erase = (value = phone, type: ContactType = 'phone', { accountId } = account) =>
  eraseContact(db, { accountId, contact: { type, value } })

async function eraseByCli(value: string, { accountId } = account) {
  const { status, stdout, stderr } = await runCli(
    service,
    ...['contact', 'erase', '--account', accountId, '--contact', value],
  )
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  return JSON.parse(stdout)
}

const conversationsOf = (value: string, { accountId } = account) =>
  listConversations(db, accountId, { type: 'phone', value })

const everythingStored = async () => Object.values(await dumpDatabase(service)).join('\n')

const bodies = {
  text: { type: 'text', text: { value: content } },
  template: { type: 'template', template: { name: content, variables: [{ key: content, value: content }] } },
  media: {
    type: 'media',
    media: {
      mediaType: 'document',
      base64: Buffer.from(content.repeat(9)).toString('base64'),
      filename: content,
      caption: content,
    },
  },
}

test('the fingerprint of a batch with a send to the contact is gone, and its key stays: a repeat is a 422', async () => {
  const key = { 'Idempotency-Key': 'batch' }
  const others = { 'Idempotency-Key': 'others' }
  const messages = [textBody(), textBody(content, phone), { ...textBody(), sendAt: inSeconds(86_400) }]
  expect((await postBatch(service, account, messages, key)).status).toBe(202)
  const unrelated = [textBody(), textBody()]
  expect((await postBatch(service, account, unrelated, others)).status).toBe(202)
  const past = { status: 'sent', finishedAt: new Date() } as const
  await db.update(sends).set(past).where(eq(sends.contactValue, phone))
  expect(await erase()).toEqual({ erased: 1, unfinished: 0 })
  const kept = await db.select().from(idempotencyKeys)
  expect(kept.map(({ fingerprint }) => fingerprint.length).toSorted()).toEqual([0, 32])
  expectError(await postBatch(service, account, messages, key), 422)
  expect((await postBatch(service, account, unrelated, others)).headers.get('Idempotent-Replayed')).toBe(
    'true',
  )
})

test('content and contact are gone from every table, and the redacted timelines stay', async () => {
  const worker = await service.startWorker()
  const contact = { value: phone, name }
  const requestIds: string[] = []
  for (const message of Object.values(bodies)) {
    requestIds.push(await accept(service, account, { contact, message, closeConversation: true }))
  }
  for (const id of requestIds) await finishedTimeline(service, id, account.apiKey)
  await worker.stop()
  const refused = await attemptedSend(service, account, words, { contact, message: bodies.text })
  const retried = await accept(service, account, { contact, message: bodies.text })
  await endAttempt(service, await beginAttempt(service, retried, 'first'), {
    ...words,
    outcome: 'retry_later',
    fault: 'provider',
  })
  await db.update(sends).set({ status: 'failed', finishedAt: new Date() }).where(eq(sends.requestId, retried))
  requestIds.push(refused, retried)
  const before = await Promise.all(requestIds.map((id) => timelineOf(service, id)))
  expect(await everythingStored()).toMatch(new RegExp(`${content}[^]*${name}[^]*\\${phone}`))

  expect(await eraseByCli('0049 (0)151 555.012\u20113\u200e4')).toEqual({
    erased: requestIds.length,
    unfinished: 0,
  })

  const stored = await everythingStored()
  for (const hidden of [content, name, phone, phone.slice(1)]) expect(stored).not.toContain(hidden)
  for (const [index, requestId] of requestIds.entries()) {
    const timeline = await finishedTimeline(service, requestId, account.apiKey)
    const kept = before[index]
    expect(timeline).toMatchObject({
      ...{ requestId, status: kept?.status, messageType: kept?.messageType, attempts: kept?.attempts },
      ...{ acceptedAt: kept?.acceptedAt, finishedAt: kept?.finishedAt },
      ...{ conversationId: kept?.conversationId, contact: { type: 'phone', value: 'erased' } },
      providerMessageId: null,
    })
    expect(timeline.contact).not.toHaveProperty('name')
    expect(namesOf(timeline)).toEqual([...(kept ? namesOf(kept) : []), 'erased'])
    expect(timeline.events.filter(({ reason, providerMessageId }) => reason || providerMessageId)).toEqual([])
  }
  const { events } = await timelineOf(service, retried)
  expect(events.find(({ event }) => event === 'retry_scheduled')).toMatchObject({
    nextAttemptAt: expect.any(String),
  })
  expect((await rowOf(service, retried)).lane).toBeNull()
  expect(await findMedia(db, requestIds[2] ?? '', true)).toBeUndefined()
  expect(await erase()).toEqual({ erased: 0, unfinished: 0 })
})

test('a contact without sends answers 0', async () => {
  expect(await erase(newContact())).toEqual({ erased: 0, unfinished: 0 })
})

test("other accounts' sends to the contact stay, and so do the account's sends to others", async () => {
  const other = await buildAccount(service)
  const kept = [
    await attemptedSend(service, other, sentOutcome, textBody(content, phone)),
    await attemptedSend(service, account, sentOutcome, textBody(content, '+4915155501235')),
    await attemptedSend(service, account, sentOutcome, textBody(content, 'ann@example.com')),
  ]
  const before = await Promise.all(kept.map((id) => rowOf(service, id)))
  const erased = await attemptedSend(service, account, sentOutcome, textBody(content, phone))
  expect(await erase()).toEqual({ erased: 1, unfinished: 0 })
  expect(await Promise.all(kept.map((id) => rowOf(service, id)))).toEqual(before)
  expect(await conversationsOf(phone, other)).toMatchObject([{ closedAt: null }])
  expect((await rowOf(service, erased)).contactValue).toBe('erased')
})

test('an address is found in any case of its letters', async () => {
  const requestId = await attemptedSend(service, account, sentOutcome, textBody(content, 'Ann@example.com'))
  expect(await eraseByCli('aNN@EXAMPLE.com')).toEqual({ erased: 1, unfinished: 0 })
  expect((await timelineOf(service, requestId)).contact).toEqual({ type: 'email', value: 'erased' })
})

describe('a send that has not ended', () => {
  test('is left as it is and counted, with the advice to run it again, which then erases it', async () => {
    await attemptedSend(service, account, sentOutcome, textBody(content, phone))
    const requestId = await accept(service, account, textBody(content, phone))
    const { status, message, contactValue, lane } = await rowOf(service, requestId)
    expect(await eraseByCli(phone)).toEqual({
      erased: 1,
      unfinished: 1,
      advice: expect.stringContaining('again'),
    })
    expect(await rowOf(service, requestId)).toMatchObject({ status, message, contactValue, lane })
    const worker = await service.startWorker()
    expect((await finishedTimeline(service, requestId, account.apiKey)).status).toBe('sent')
    await worker.stop()
    expect(await erase()).toEqual({ erased: 1, unfinished: 0 })
    expect(await everythingStored()).not.toContain(phone)
  })

  test('because it was replayed at this moment is one of them', async () => {
    const requestId = await attemptedSend(service, account, words, textBody(content, phone))
    const client = await db.$client.connect()
    await client.query('begin')
    await client.query('select from sends where request_id = $1 for no key update', [requestId])
    const erasing = erase()
    await eventually('the erasure comes to the send', async () => {
      const { rows } = await db.$client.query(waitingForLocks)
      return rows.length > 0
    })
    const replay = `
      update sends set status = 'queued', finished_at = null, failure = null, attempt_record = null
      where request_id = $1`
    await client.query(replay, [requestId])
    await client.query('commit')
    client.release()
    expect(await erasing).toEqual({ erased: 0, unfinished: 1 })
    expect(await rowOf(service, requestId)).toMatchObject({ contactValue: phone, status: 'queued' })
  })
})

describe('an erased send', () => {
  test('is not replayed, and the answer says why', async () => {
    const requestId = await attemptedSend(service, account, words, textBody(content, phone))
    await erase()
    const { status, stderr } = await runCli(service, 'replay', requestId)
    expect({ status, stderr }).toEqual({ status: 4, stderr: expect.stringContaining('was erased') })
    const set = { channelId: account.channelId, status: 'failed', limit: 10, includeRefused: true } as const
    expect(await replaySends(db, set)).toEqual({ replayed: 0, skipped: noneSkipped })
    expect(await rowOf(service, requestId)).toMatchObject({ status: 'failed', finishedAt: expect.any(Date) })
  })

  test.each([
    ['sent', sentOutcome],
    ['failed', words],
  ] as const)('records a late outcome without its text: %s', async (status, outcome) => {
    const requestId = await accept(service, account, textBody(content, phone))
    const lost = await loseAttempt(service, requestId, 'frozen')
    expect(await erase()).toEqual({ erased: 1, unfinished: 0 })
    // The message that the sandbox took while its worker counted as dead.
    const { accountId: _, ...late } = { ...buildSendRow(account), contactValue: phone }
    await db.insert(sandboxMessages).values({ ...late, requestId, id: uuidv7(), conversationId: uuidv7() })
    await endAttempt(service, lost, outcome)
    const timeline = await timelineOf(service, requestId)
    expect(timeline).toMatchObject({ status, providerMessageId: null })
    expect(timeline.events.at(-2)).toMatchObject({ event: 'attempt_finished', late: true, attempt: 1 })
    expect(await replaySend(db, requestId)).toBe(false)
    expect(await everythingStored()).not.toContain(phone)
  })

  test('shows a late outcome that changes nothing, also without its text', async () => {
    const requestId = await accept(service, account, textBody(content, phone))
    const lost = await loseAttempt(service, requestId, 'frozen')
    await erase()
    const unsure = { outcome: 'uncertain', fault: 'provider', reason: `${phone} hung up` } as const
    for (const _ of ['once', 'and again, for its answer was lost']) await endAttempt(service, lost, unsure)
    const names = namesOf(await timelineOf(service, requestId))
    expect(names.filter((event) => event === 'attempt_finished')).toHaveLength(1)
    expect(await everythingStored()).not.toContain(phone)
  })

  test('is deleted when its retention ends, like any other', async () => {
    const longAgo = new Date('2026-01-01')
    const requestId = uuidv7({ msecs: longAgo.getTime() })
    const changes = { requestId, status: 'sent', finishedAt: longAgo, contactValue: phone } as const
    await db.insert(sends).values(buildSendRow(account, changes))
    expect(await erase()).toEqual({ erased: 1, unfinished: 0 })
    await sweepOnce(service)
    expect(await db.select().from(sends)).toEqual([])
    expect(await db.select().from(sendEvents)).toEqual([])
  })

  test('keeps its Idempotency-Key, so that a repeat is refused and sends nothing', async () => {
    const key = { 'Idempotency-Key': 'order-4711' }
    const { body } = await post(service, account, textBody(content, phone), key)
    const ended = { status: 'sent', finishedAt: new Date() } as const
    await db.update(sends).set(ended).where(eq(sends.requestId, body.requestId))
    const fingerprints = sql<{ length: number }>`select length(fingerprint) as length from idempotency_keys`
    expect((await db.execute(fingerprints)).rows).toEqual([{ length: 32 }])
    await erase()
    expect((await db.execute(fingerprints)).rows).toEqual([{ length: 0 }])
    expect((await post(service, account, textBody(content, phone), key)).status).toBe(422)
    expect(await db.select().from(sends)).toHaveLength(1)
  })
})

test('conversations of an erased contact are closed and forgotten, and a new send begins another', async () => {
  const worker = await service.startWorker()
  const send = async () => {
    const requestId = await accept(service, account, { ...textBody(content, phone), closeConversation: true })
    return (await finishedTimeline(service, requestId, account.apiKey)).conversationId
  }
  const before = [await send(), await send()]
  await erase()
  const rows = await db.select().from(conversations)
  expect(rows.map(({ id }) => id).sort()).toEqual(before.sort())
  for (const { contactValue, closedAt } of rows) {
    expect({ contactValue, closedAt }).toEqual({ contactValue: 'erased', closedAt: expect.any(Date) })
  }
  expect(await conversationsOf(phone)).toEqual([])
  const after = await send()
  await worker.stop()
  expect(before).not.toContain(after)
  expect(await conversationsOf(phone)).toMatchObject([{ conversationId: after, closedAt: null }])
  // A second one that was open may be erased beside the first.
  await erase()
  expect(await conversationsOf(phone)).toEqual([])
})

test('many sends are found among others, page by page, and those that have not ended are counted once', async () => {
  const { accountId, channelId } = account
  await db.execute(sql`
    insert into sends (request_id, account_id, channel_id, contact_type, contact_value, message_type, message,
                       close_conversation, status, finished_at)
    select uuidv7(), ${accountId}, ${channelId}, 'phone', case when n % 2 = 0 then ${phone} else '+49' || n end,
           'text', '{}', false, case when n <= 6 then 'queued' else 'sent' end, case when n > 6 then now() end
    from generate_series(1, 4200) n`)
  expect(await erase()).toEqual({ erased: 2097, unfinished: 3 })
  expect(await db.select().from(sends).where(eq(sends.contactValue, phone))).toHaveLength(3)
})

test('beside workers and accepts nothing is lost, and nothing that has not ended is erased', async () => {
  const worker = await service.startWorker()
  const requestIds: string[] = []
  let isAccepting = true
  const erased: number[] = []
  const erasing = (async () => {
    while (isAccepting) erased.push((await erase()).erased)
  })()
  for (let round = 0; round < 10; round++) {
    const body = { ...textBody(content, phone), closeConversation: round % 2 === 0 }
    requestIds.push(...(await Promise.all(Array.from({ length: 4 }, () => accept(service, account, body)))))
  }
  const rows = await eventually('the end of all', async () => {
    const all = await db.select().from(sends)
    return all.every(({ finishedAt }) => finishedAt) && all
  })
  isAccepting = false
  await erasing
  await worker.stop()
  expect(rows.map(({ status }) => status)).toEqual(requestIds.map(() => 'sent'))
  const { erased: rest } = await erase()
  expect(erased.reduce((sum, count) => sum + count, rest)).toBe(requestIds.length)
  expect(await everythingStored()).not.toContain(phone)
})
