import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { insertSends } from '../../db/admission/accepts.ts'
import type { NewSend } from '../../db/admission/new-send.ts'
import { media } from '../../db/schema.ts'
import { answerWithinMs } from '../../src/api/context.ts'
import type { Answer } from '../support/answer.ts'
import { buildNewSend } from '../support/batches.ts'
import { type Account, buildAccount, post, sameBody } from '../support/builders.ts'
import { expectError, holdings, inTime } from '../support/expect-error.ts'
import { samples } from '../support/media-samples.ts'
import { wakeUpOf } from '../support/queue.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { freshStores } from '../support/stores.ts'
import { eventually } from '../support/wait.ts'
import {
  ageKey,
  expectAccepted,
  expectOneSend,
  expectReplay,
  holdKey,
  newKey,
  pointsUsed,
  postKeyed,
  postKeyedInBody,
  raceToInsert,
  sendsOf,
} from './keyed.ts'

/** Three processes' worth of API on the same stores. */
let services: TestService[]
let service: TestService
let account: Account

beforeAll(async () => {
  service = await startTestService()
  const others = [startTestService({}, service.stores), startTestService({}, service.stores)]
  services = [service, ...(await Promise.all(others))]
})
beforeEach(async () => {
  account = await buildAccount(service)
})
/** A 503 would show it, too, but also a slow machine. */
afterEach(() => {
  for (const { logs } of services)
    expect(logs.filter(({ reason }) => /deadlock/.test(`${reason}`))).toEqual([])
})
afterAll(() => Promise.all(services.map(({ stop }) => stop())))

const at = (index: number) => services[index % services.length] as TestService
const textOf = ({ message }: { message: object }) => (message as { text: { value: string } }).text.value

const imageBody = {
  contact: { value: '+4915112345678' },
  message: { type: 'media', media: { mediaType: 'image', base64: samples.png.toString('base64') } },
}

function hundred(send: (index: number) => Promise<Answer>): (() => Promise<Answer>)[] {
  return Array.from({ length: 100 }, (_, index) => () => send(index))
}

const atOnce = async (requests: (() => Promise<Answer>)[]) =>
  inTime(await Promise.all(requests.map((send) => send())))
/** Where all have searched for the key, with no match, before one is recorded. */
const allTooLateToSee = (requests: (() => Promise<Answer>)[]) => raceToInsert(service, account, requests)

describe.each([
  ['as they come', atOnce],
  ['that all look for the key before one is recorded', allTooLateToSee],
])('a hundred requests at once with one key over three processes, %s,', (_how, race) => {
  test.each([
    ['text', sameBody()],
    ['media', imageBody],
  ])('are one send, one job and one requestId: %s', async (_what, body) => {
    const key = newKey()
    const before = await holdings(service)
    const answers = await race(
      hundred((i) => (i % 2 ? postKeyed : postKeyedInBody)(at(i), account, key, body)),
    )
    const requestId = expectOneSend(answers)
    expect((await sendsOf(service, account)).map((send) => send.requestId)).toEqual([requestId])
    const after = await holdings(service)
    expect(after).toEqual({ recorded: before.recorded + 1, enqueued: before.enqueued + 1 })
    expect(await wakeUpOf(service, requestId)).toBeDefined()
  })

  test('use up one request of the rate limit', async () => {
    const key = newKey()
    expectOneSend(await race(hundred((i) => postKeyed(at(i), account, key, sameBody()))))
    expect(await pointsUsed(service, account)).toBe(1)
  })

  test('of two bodies are one send: of one body replays, of the other 422s', async () => {
    const key = newKey()
    const answers = await race(hundred((i) => postKeyed(at(i), account, key, sameBody(`body ${i % 2}`))))
    const [send, ...more] = await sendsOf(service, account)
    expect(more).toEqual([])
    const winner = send && textOf(send) === 'body 1' ? 1 : 0
    expect(expectOneSend(answers.filter((_, i) => i % 2 === winner))).toBe(send?.requestId)
    const names = new RegExp(`another request, ${send?.requestId}; `)
    for (const [i, answer] of answers.entries()) if (i % 2 !== winner) expectError(answer, 422, names)
  })

  test('of text and of media are one send', async () => {
    const key = newKey()
    const stored = (await service.runtime.db.select().from(media)).length
    const answers = await race(hundred((i) => postKeyed(at(i), account, key, i % 2 ? imageBody : sameBody())))
    const [send, ...more] = await sendsOf(service, account)
    expect(more).toEqual([])
    const isMedia = send?.messageType === 'media'
    const isWinner = (_: unknown, i: number) => (i % 2 === 1) === isMedia
    expect(expectOneSend(answers.filter(isWinner))).toBe(send?.requestId)
    for (const [i, answer] of answers.entries()) if (!isWinner(answer, i)) expectError(answer, 422)
    expect(await service.runtime.db.select().from(media)).toHaveLength(stored + (isMedia ? 1 : 0))
  })

  test('and many others with keys and without: one send a key, one each without', async () => {
    const fifty = [...Array(50).keys()]
    const keys = Array.from({ length: 10 }, newKey)
    const answers = await race([
      ...fifty.map((i) => () => postKeyed(at(i), account, keys[i % 10] ?? '', sameBody(`keyed ${i % 10}`))),
      ...fifty.map((i) => () => post(at(i), account, sameBody(`bare ${i}`))),
    ])
    const ids = keys.map((_, n) => expectOneSend(answers.filter((_a, i) => i < 50 && i % 10 === n)))
    for (const answer of answers.slice(50)) ids.push(expectAccepted(answer))
    const recorded = new Map((await sendsOf(service, account)).map((send) => [send.requestId, textOf(send)]))
    const texts = [...keys.map((_, n) => `keyed ${n}`), ...fifty.map((i) => `bare ${i}`)]
    expect(recorded).toEqual(new Map(ids.map((id, n) => [id, texts[n]])))
  })
})

test('a hundred with a key that is just forgotten are one new send', async () => {
  const key = newKey()
  const first = expectAccepted(await postKeyed(service, account, key, sameBody()))
  await ageKey(service, account, key, 24 * 3600 + 1)
  const second = expectOneSend(
    await allTooLateToSee(hundred((i) => postKeyed(at(i), account, key, sameBody()))),
  )
  expect((await sendsOf(service, account)).map(({ requestId }) => requestId)).toEqual([first, second])
})

test('within one process the first request counts, and sends keep the order in which they came', async () => {
  const keys = Array.from({ length: 10 }, newKey)
  const requests = ['first', 'second'].flatMap((which) =>
    keys.map((key, n) => () => postKeyed(service, account, key, sameBody(`${which} ${n}`))),
  )
  // The insert that is held at first takes the one that opens; all others share the next one.
  const inTurn = [() => post(service, account, sameBody('opens')), ...requests].map((send, n) => async () => {
    const before = Math.min(n, 1 + keys.length)
    await eventually('those before it', async () => (await pointsUsed(service, account)) >= before)
    return await send()
  })
  const [opening, ...answers] = await allTooLateToSee(inTurn)
  expectAccepted(opening as Answer)
  for (const answer of answers.slice(0, keys.length)) expectAccepted(answer)
  for (const answer of answers.slice(keys.length)) expectError(answer, 422)
  const texts = (await sendsOf(service, account)).map(textOf)
  expect(texts).toEqual(['opens', ...keys.map((_, n) => `first ${n}`)])
})

test('two processes that record the same keys in opposite orders do not wait for each other', async () => {
  for (let round = 0; round < 3; round++) {
    account = await buildAccount(service)
    const keys = Array.from({ length: 40 }, newKey)
    const requests = (by: TestService, order: string[]) =>
      order.map((key) => () => postKeyed(by, account, key, sameBody(key)))
    const answers = await allTooLateToSee([...requests(at(0), keys), ...requests(at(1), keys.toReversed())])
    const idOfKey = new Map<string, string>()
    for (const [n, key] of keys.entries()) {
      const both = [answers[n] as Answer, answers[answers.length - 1 - n] as Answer]
      idOfKey.set(key, expectOneSend(both))
    }
    const recorded = (await sendsOf(service, account)).map((send) => [textOf(send), send.requestId] as const)
    expect(new Map(recorded)).toEqual(idOfKey)
    expect(recorded).toHaveLength(keys.length)
  }
})

test('batches of the same keys in opposite orders are recorded without a deadlock', async () => {
  const pools = services.map(({ runtime }) => runtime.db)
  const rowWith = (hash: string) =>
    buildNewSend({
      accountId: account.accountId,
      channelId: account.channelId,
      contact: { type: 'phone', value: '+4915112345678' },
      message: { type: 'text', text: { value: hash } },
      idempotency: { hash, fingerprint: hash },
    })
  for (let round = 0; round < 10; round++) {
    const hashes = Array.from({ length: 200 }, () => randomBytes(32).toString('hex'))
    const orders = [hashes, hashes.toReversed(), hashes.toSorted()]
    const batches = orders.map((order) => order.map(rowWith))
    const inserted = await Promise.all(
      pools.map((db, process) => insertSends(db, batches[process] as NewSend[])),
    )
    expect(inserted.flat()).toHaveLength(hashes.length)
  }
  expect(new Set((await sendsOf(service, account)).map(textOf)).size).toBe(2000)
})

test('a 503 whose send was recorded after all: the retry is its replay, and there is one send', async () => {
  const apart = await startTestService({}, await freshStores())
  onTestFinished(() => apart.stop())
  const slow = await buildAccount(apart)
  // Simulates that the answer to the commit is lost.
  await apart.runtime.db.$client.query(`
    create function dawdle() returns trigger as 'begin perform pg_sleep(1.5); return null; end' language plpgsql;
    create trigger dawdle after insert on sends execute function dawdle()`)
  const key = newKey()
  expectError(await postKeyed(apart, slow, key, sameBody()), 503)
  const [send] = await eventually('the send', async () => {
    const recorded = await sendsOf(apart, slow)
    return recorded.length > 0 && recorded
  })
  expectReplay(await postKeyed(apart, slow, key, sameBody()), send?.requestId ?? '')
  expectError(await postKeyed(apart, slow, key, sameBody('other')), 422)
  expect(await sendsOf(apart, slow)).toHaveLength(1)
})

test('what waited for another request with its key beyond its 503 is not recorded', async () => {
  const key = newKey()
  const other = await holdKey(service, account, key)
  expectError(await postKeyed(service, account, key, sameBody()), 503)
  await other.giveUp()
  await sleep(300)
  expect(await sendsOf(service, account)).toEqual([])
})

test('what gets its key after its send is too late to be recorded is a 503, and not recorded', async () => {
  for (const leftMs of [150, 110, 70]) {
    const key = newKey()
    const other = await holdKey(service, account, key)
    const answering = postKeyed(service, account, key, sameBody())
    await sleep(answerWithinMs - leftMs)
    await other.giveUp()
    const answer = await answering
    // On a slow machine it may have begun late enough to be in time.
    if (answer.status === 202) continue
    expectError(answer, 503)
    expect(service.logs.filter(({ level }) => level === 'error')).toEqual([])
  }
})
