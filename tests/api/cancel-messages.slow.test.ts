import { setTimeout as sleep } from 'node:timers/promises'
import { eq, inArray } from 'drizzle-orm'
import { expect, onTestFinished, test } from 'vitest'
import { callbacks, sandboxMessages, sends } from '../../db/schema.ts'
import type { AttemptOutcome } from '../../src/core/sends/outcome.ts'
import { attemptedSend, beginAttempt, namesOf, received, rowOf, timelineOf } from '../support/attempts.ts'
import { acceptBatch, type BatchedSend, insertBatch } from '../support/batches.ts'
import {
  type Account,
  accept,
  buildAccount,
  buildChannel,
  buildKey,
  newContact,
  textBody,
} from '../support/builders.ts'
import { runCli } from '../support/cli.ts'
import { buildEndpoint } from '../support/endpoints.ts'
import { expectError } from '../support/expect-error.ts'
import {
  cancel,
  cancelAll,
  inSeconds,
  list,
  listAll,
  makeDue,
  moveDue,
  scheduledOf,
  taken,
} from '../support/later.ts'
import { loseWakeUp } from '../support/queue.ts'
import { finishedTimeline, neverReconciled, serviceOfFile } from '../support/service.ts'
import { eventually } from '../support/wait.ts'

const service = await serviceOfFile({ RETRY_DELAYS_SECONDS: '3600,3600,3600', RATE_LIMIT_POINTS: '100000' })

const away: AttemptOutcome = { outcome: 'retry_later', fault: 'provider', reason: 'away' }
const unknown: AttemptOutcome = { outcome: 'uncertain', fault: 'provider', reason: 'no answer' }
const refused: AttemptOutcome = { outcome: 'rejected', fault: 'message', reason: 'no' }

const nothing = { canceled: 0, uncertain: 0, tooLate: 0, next: null }

/** Sends of a reference in each state, and what a cancel of it makes of them. */
async function inEachState(by: Account, marks: object): Promise<Record<string, [from: string, to: string]>> {
  const body = () => ({ ...textBody(), ...marks })
  const resending = { ...by, channelId: await buildChannel(service, by.accountId, 'resend') }
  const queued = await accept(service, by, body())
  await loseWakeUp(service, queued)
  const sending = await accept(service, by, body())
  await beginAttempt(service, sending, 'busy')
  const canceled = await accept(service, by, { ...body(), sendAt: inSeconds(3600) })
  await cancel(service, by, canceled)
  const sent: AttemptOutcome = { outcome: 'sent', providerMessageId: 'm' }
  return {
    [await accept(service, by, { ...body(), sendAt: inSeconds(3600) })]: ['queued', 'canceled'],
    [queued]: ['queued', 'canceled'],
    [await attemptedSend(service, by, away, body())]: ['queued', 'canceled'],
    [await attemptedSend(service, resending, unknown, body())]: ['queued', 'uncertain'],
    [sending]: ['sending', 'sending'],
    [canceled]: ['canceled', 'canceled'],
    [await attemptedSend(service, by, sent, body())]: ['sent', 'sent'],
    [await attemptedSend(service, by, refused, body())]: ['failed', 'failed'],
    [await attemptedSend(service, by, unknown, body())]: ['uncertain', 'uncertain'],
  }
}

test.each([
  ['a reference', (_: Account) => ({ reference: 'campaign' })],
  ['a flow', ({ flowId }: Account) => ({ flowId })],
])(
  'of %s, all that waits is canceled, in each state as by a cancel of its own; a second call finds nothing more',
  async (_, setOf) => {
    const by = await buildAccount(service)
    const set = setOf(by)
    const states = await inEachState(by, set)
    const besides = await accept(service, by, {
      ...textBody(),
      reference: 'campaign 2',
      sendAt: inSeconds(3600),
    })
    const before = await timelineOf(service, Object.keys(states)[3] ?? '')
    for (const [id, [from]] of Object.entries(states))
      expect((await timelineOf(service, id)).status, from).toBe(from)
    const first = await cancelAll(service, by, set)
    expect(first.status).toBe(200)
    const requestId = first.headers.get('X-Request-Id')
    expect(first.body).toStrictEqual({ requestId, canceled: 3, uncertain: 1, tooLate: 1, next: null })
    const second = await cancelAll(service, by, { ...set, after: null })
    expect(second.body).toMatchObject({ ...nothing, tooLate: 1 })
    for (const [id, [from, to]] of Object.entries(states)) {
      const timeline = await timelineOf(service, id)
      expect(timeline.status, from).toBe(to)
      const lines = service.logsOf(id).filter(({ event }) => event === 'canceled')
      expect(lines).toHaveLength(to === 'canceled' ? 1 : 0)
      if (to === 'canceled') expect(lines).toMatchObject([{ accountId: by.accountId }])
    }
    const inDoubt = await timelineOf(service, Object.keys(states)[3] ?? '')
    expect(namesOf(inDoubt)).toEqual([...namesOf(before), 'uncertain'])
    expect(inDoubt.reason).toBe('canceled after an attempt that may have got through')
    expect((await timelineOf(service, besides)).status).toBe('queued')
  },
)

test('sends of another account are not canceled, whatever their reference or flow', async () => {
  const [mine, other] = [await buildAccount(service), await buildAccount(service)]
  const marks = { reference: 'shared', flowId: other.flowId }
  const foreign = [
    await accept(service, other, { ...textBody(), ...marks }),
    await accept(service, other, { ...textBody(), ...marks, sendAt: inSeconds(3600) }),
  ]
  const sets = [{ reference: 'shared' }, { flowId: other.flowId }, { flowId: 'x' }, { reference: 'absent' }]
  for (const set of sets) expect((await cancelAll(service, mine, set)).body).toMatchObject(nothing)
  for (const id of foreign) expect((await timelineOf(service, id)).status).toBe('queued')
})

test.each<[unknown, string | RegExp]>([
  ['', /^body: is empty/],
  ['x', 'body: not valid JSON'],
  ['null', /^body: /],
  ['[]', /^body: /],
  [{}, 'body: send either reference or flowId'],
  [{ reference: null, flowId: null }, 'body: send either reference or flowId'],
  [{ reference: 'a', flowId: 'b' }, 'body: send either reference or flowId'],
  [{ reference: '' }, 'reference: is empty'],
  [{ reference: 'a'.repeat(257) }, 'reference: at most 256 characters'],
  [{ reference: 'a\u0000' }, /^reference: /],
  [{ reference: 7 }, 'reference: has to be a string'],
  [{ flowId: ['a'] }, 'flowId: has to be a string'],
  [{ reference: 'a', after: 'x' }, /^after: /],
  [{ reference: 'a', status: 'queued' }, 'status: unknown field'],
])('%j is a 400, and nothing is canceled', async (body, message) => {
  const by = await buildAccount(service)
  const id = await accept(service, by, { ...textBody(), reference: 'a', sendAt: inSeconds(3600) })
  expectError(await cancelAll(service, by, body), 400, message)
  expect((await timelineOf(service, id)).status).toBe('queued')
})

test('a body of more than a few fields is a 400', async () => {
  const by = await buildAccount(service)
  const answer = await cancelAll(service, by, { reference: 'a'.repeat(200_000) })
  expectError(answer, 400, /^body: /)
})

test('it needs the permission to send, and uses up no rate limit', async () => {
  const by = await buildAccount(service, { rateLimit: { points: 1, seconds: 60 } })
  const reader = await buildKey(service, by.accountId, { permissions: ['messages:read'] })
  const revoked = await buildKey(service, by.accountId, { revoked: true })
  const id = await accept(service, by, { ...textBody(), reference: 'a', sendAt: inSeconds(3600) })
  expectError(await cancelAll(service, reader, { reference: 'a' }), 403)
  for (const key of [revoked, { apiKey: 'omk_x' }])
    expectError(await cancelAll(service, key, { reference: 'a' }), 401)
  expect((await timelineOf(service, id)).status).toBe('queued')
  expect((await cancelAll(service, by, { reference: 'a' })).body).toMatchObject({ canceled: 1 })
})

const many = 10_000

/** So many sends of one channel, each to another contact, with a reference, without their wake-ups; some of them scheduled. */
async function insertMany({ accountId, channelId }: Account, count: number, reference: string) {
  await service.runtime.db.$client.query(
    `insert into sends (request_id, account_id, channel_id, contact_type, contact_value, message_type, message,
                        close_conversation, reference, accepted_at, lane)
     select uuidv7(), $1, $2, 'phone', '+4916' || n, 'text', '{"type": "text", "text": {"value": "Hello"}}', false, $3,
            now() - (${count} - n) * interval '1 ms', n
     from generate_series(1, ${count}) n where n % 4 > 0`,
    [accountId, channelId, reference],
  )
  await service.runtime.db.$client.query(
    `insert into scheduled_sends (request_id, account_id, channel_id, contact_type, contact_value, message_type, message,
                                  close_conversation, reference, accepted_at, send_at)
     select uuidv7(), $1, $2, 'phone', '+4916' || n, 'text', '{"type": "text", "text": {"value": "Hello"}}', false, $3,
            now() - (${count} - n) * interval '1 ms', now() + interval '1 day'
     from generate_series(1, ${count}) n where n % 4 = 0`,
    [accountId, channelId, reference],
  )
}

test('a call cancels 10,000 at most, the oldest first, and next leads to the others', async () => {
  const by = await buildAccount(service)
  const reference = 'many'
  await insertMany(by, many + 3, reference)
  const newest = (await list(service, by, { limit: '3' })).body.messages
  const first = await cancelAll(service, by, { reference })
  expect(first.body).toMatchObject({ canceled: many, uncertain: 0, tooLate: 0, next: expect.any(String) })
  const left = await listAll(service, by, { status: 'queued' })
  expect(left).toEqual(newest.map(({ requestId }: { requestId: string }) => requestId))
  const { next: after } = first.body
  const later = await accept(service, by, { ...textBody(), reference, sendAt: inSeconds(3600) })
  expect((await cancelAll(service, by, { reference, after })).body).toMatchObject({ canceled: 4, next: null })
  expect((await timelineOf(service, later)).status).toBe('canceled')
  expect((await cancelAll(service, by, { reference })).body).toMatchObject(nothing)
})

test('exactly 10,000 are one call', async () => {
  const by = await buildAccount(service)
  await insertMany(by, many, 'exactly')
  expect((await cancelAll(service, by, { reference: 'exactly' })).body).toMatchObject({
    ...nothing,
    canceled: many,
  })
})

test('while workers send, what the cancel has counted is never called, and all else once', async () => {
  const by = await buildAccount(service)
  const reference = 'racing'
  const marked: BatchedSend[] = Array.from({ length: 2000 }, () => ({ ...by, reference }))
  const workers = [await service.startWorker('r1'), await service.startWorker('r2')]
  onTestFinished(async () => void (await Promise.all(workers.map((worker) => worker.stop()))))
  const ids: string[] = []
  for (let first = 0; first < marked.length; first += 500)
    ids.push(...(await acceptBatch(service, marked.slice(first, first + 500))))
  const total = { canceled: 0, uncertain: 0, tooLate: 0 }
  let asked = 0
  // Several clients at once, while the sends go out.
  const answers = await Promise.all(
    Array.from({ length: 4 }, async (_, client) => {
      await sleep(client * 30)
      return await taken(() => {
        asked++
        return cancelAll(service, by, { reference })
      })
    }),
  )
  const { db } = service.runtime
  const canceledAt200 = await db.select().from(sends).where(inArray(sends.requestId, ids))
  const canceled = canceledAt200.filter(({ status }) => status === 'canceled')
  for (const { status, body } of answers) {
    expect(status).toBe(200)
    for (const name of ['canceled', 'uncertain', 'tooLate'] as const) total[name] += body[name]
  }
  // Sends that a 503 has canceled are in no answer.
  expect(total.canceled).toBeLessThanOrEqual(canceled.length)
  if (asked === answers.length) expect(total.canceled).toBe(canceled.length)
  expect(total.uncertain).toBe(0)
  const ended = async () => (await listAll(service, by, { limit: '100', status: 'sent' })).length
  await eventually('all others are sent', async () => (await ended()) === ids.length - canceled.length)
  const messages = await db.select().from(sandboxMessages).where(eq(sandboxMessages.channelId, by.channelId))
  const calledIds = messages.map(({ requestId }) => requestId)
  expect(new Set(calledIds).size).toBe(calledIds.length)
  const notCanceled = ids.filter((id) => !canceled.some(({ requestId }) => requestId === id))
  expect(calledIds.sort()).toEqual(notCanceled.sort())
  expect(canceled.length).toBeGreaterThan(0)
})

test('sends that become due during the call are canceled, wherever they are', async () => {
  const by = await buildAccount(service)
  const reference = 'due'
  const body = () => ({ ...textBody(), reference, sendAt: inSeconds(3600) })
  const ids = await Promise.all(Array.from({ length: 60 }, () => accept(service, by, body())))
  await Promise.all(ids.map((id) => makeDue(service, id)))
  const [answer] = await Promise.all([
    cancelAll(service, by, { reference }),
    ...Array.from({ length: 20 }, () => moveDue(service)),
  ])
  expect(answer?.body).toMatchObject({ ...nothing, canceled: ids.length })
  for (const id of ids) expect((await rowOf(service, id)).status).toBe('canceled')
  expect(await scheduledOf(service, by)).toEqual([])
})

test("an endpoint gets a callback about each, and a contact's next send goes on, woken by the API itself", async () => {
  const by = await buildAccount(service)
  const { endpointId } = await buildEndpoint(service, by.accountId, 'https://example.com/hook')
  const contact = newContact()
  const reference = 'first two'
  const first = await attemptedSend(service, by, away, { ...textBody('1', contact), reference })
  const second = await accept(service, by, { ...textBody('2', contact), reference })
  const third = await accept(service, by, textBody('3', contact))
  const worker = await service.startWorker('w', { times: neverReconciled })
  expect((await cancelAll(service, by, { reference })).body).toMatchObject({ canceled: 2 })
  expect((await finishedTimeline(service, third, by.apiKey)).status).toBe('sent')
  await worker.stop()
  const { db } = service.runtime
  const told = await db.select().from(callbacks).where(eq(callbacks.endpointId, endpointId))
  const canceled = told.filter(({ type }) => type === 'message.canceled').map(({ requestId }) => requestId)
  expect(canceled.sort()).toEqual([first, second].sort())
  for (const id of [first, second]) expect(await received(service, id)).toEqual([])
})

test('the command cancels a set of any size, and says how many', async () => {
  const by = await buildAccount(service)
  await insertMany(by, many + 1, 'cli')
  const { stdout } = await runCli(service, 'cancel', '--account', by.accountId, '--reference', 'cli')
  expect(JSON.parse(stdout)).toEqual({ canceled: many + 1, uncertain: 0, tooLate: 0 })
  await insertBatch(service, [{ ...by, flowId: by.flowId }])
  const ofFlow = await runCli(service, 'cancel', '--account', by.accountId, '--flow', by.flowId)
  expect(JSON.parse(ofFlow.stdout)).toMatchObject({ canceled: 1 })
  const foreign = await buildAccount(service)
  for (const flow of ['No such flow', String(foreign.flowId)]) {
    const refused = await runCli(service, 'cancel', '--account', by.accountId, '--flow', flow)
    expect(refused).toMatchObject({ stdout: '', stderr: expect.stringContaining(`no flow ${flow}`) })
  }
  for (const faulty of [
    ['--account', by.accountId],
    ['--reference', 'a'],
    ['--account', by.accountId, '--reference', 'a', '--flow', 'b'],
    ['id', '--account', by.accountId, '--reference', 'a'],
    [],
  ])
    expect((await runCli(service, 'cancel', ...faulty)).stderr).toContain('cancel --help')
  const absent = await runCli(service, 'cancel', '--account', 'x', '--reference', 'a')
  expect(absent.stderr).toContain('No account x')
})
