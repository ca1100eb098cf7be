import { setTimeout as sleep } from 'node:timers/promises'
import { v7 as uuidv7 } from 'uuid'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { maxMediaBytes } from '../../../src/core/messages/message-body.ts'
import { parseNetwork } from '../../../src/core/requests/public-address.ts'
import { smtp as rules } from '../../../src/providers/smtp/index.ts'
import { createMediaFetcher } from '../../../workers/http/media-fetcher.ts'
import { createFetchLinkedMedia } from '../../../workers/sends/dispatch/fetch-media.ts'
import { openMediaMemory } from '../../../workers/sends/dispatch/media-memory.ts'
import { PutOffs } from '../../../workers/sends/dispatch/put-off.ts'
import { buildDelivery } from '../../support/deliveries.ts'
import { withMemory } from '../../support/fetching.ts'
import { expectSooner, spanBetween } from '../../support/standstill.ts'
import { eventually } from '../../support/wait.ts'
import {
  answer,
  type Behaviour,
  openWebhookReceiver,
  trickle,
  type WebhookReceiver,
} from '../../support/webhook-receiver.ts'

let files: WebhookReceiver
const fetcher = createMediaFetcher({ allowedPrivateNetworks: [parseNetwork('127.0.0.0/8')] })
const budget = openMediaMemory()

beforeAll(async () => {
  files = await openWebhookReceiver()
})
afterAll(async () => {
  await files.stop()
  await fetcher.close()
})

/** A worker with ten slots: an account may fetch two media at a time, all together six and the first of each account. */
function startFetching(timeoutSeconds: number) {
  const settings = { PROVIDER_TIMEOUT_SECONDS: timeoutSeconds, WORKER_CONCURRENCY: 10 }
  const provider = { media: fetcher, send: () => Promise.reject(new Error('called')) }
  const fetchFor = createFetchLinkedMedia({ settings }, () => provider, new PutOffs(() => 0))
  return (accountId: string, mediaUrl: string, requestId = uuidv7(), tooLateAt = Infinity) => {
    const message = { type: 'media', media: { mediaType: 'document', mediaUrl } } as const
    const memory = budget.reservationFor(accountId)
    return fetchFor(
      { requestId, accountId, provider: 'smtp', tooLateAt },
      buildDelivery(rules, {}, { message }),
      memory,
    ).finally(memory.release)
  }
}

/** Sends no answer before `answerAll` is called. */
function hang() {
  const waiting: (() => void)[] = []
  const url = files.at((_request, response) => {
    waiting.push(() => void response.end('x'))
  })
  const answerAll = () => {
    for (const answerOne of waiting.splice(0)) answerOne()
  }
  return { url, waiting, answerAll }
}

const good = () => files.at(answer(200, {}, 'x'))
const fetched = { mediaContent: Buffer.from('x') }

test("media of one account that don't come leave another's fetched", async () => {
  const fetchFor = startFetching(20)
  const { url, waiting, answerAll } = hang()
  const hanging = [fetchFor('hangs', url), fetchFor('hangs', url)]
  await eventually('both were asked for', async () => waiting.length === 2)
  expect(await fetchFor('another', good())).toMatchObject(fetched)
  answerAll()
  for (const one of await Promise.all(hanging)) expect(one).toMatchObject(fetched)
})

test("a fetch beyond its account's share goes back to the queue, each time for longer, and is made when there is memory", async () => {
  const fetchFor = startFetching(20)
  const { url, waiting, answerAll } = hang()
  const hanging = [fetchFor('hangs', url), fetchFor('hangs', url)]
  await eventually('both were asked for', async () => waiting.length === 2)
  const requestId = uuidv7()
  for (const delayMs of [1000, 2000, 4000]) {
    expect(await fetchFor('hangs', good(), requestId)).toMatchObject({ outcome: 'not_called', delayMs })
  }
  answerAll()
  await Promise.all(hanging)
  expect(await fetchFor('hangs', good(), requestId)).toMatchObject(fetched)
  expect(waiting).toHaveLength(0)
})

test('behind fetches that hang a send takes no slot: it goes back at once', async () => {
  const fetchFor = startFetching(20)
  const { url, waiting, answerAll } = hang()
  const hanging = [fetchFor('hangs', url), fetchFor('hangs', url)]
  await eventually('both were asked for', async () => waiting.length === 2)
  await fetchFor('hangs', good())
  const startedAt = performance.now()
  const after = await Promise.all(Array.from({ length: 20 }, () => fetchFor('hangs', good())))
  for (const one of after) expect(one).toMatchObject({ outcome: 'not_called', delayMs: 1000 })
  expectSooner(spanBetween(startedAt, performance.now()), 150)
  answerAll()
  await Promise.all(hanging)
  expect(await fetchFor('hangs', good())).toMatchObject(fetched)
})

test("three accounts whose media hang leave a fourth's fetched, and slots to sends without media", async () => {
  const fetchFor = startFetching(20)
  const { url, waiting, answerAll } = hang()
  const hanging = ['a', 'b', 'c'].flatMap((account) => [fetchFor(account, url), fetchFor(account, url)])
  await eventually('all were asked for', async () => waiting.length === 6)
  expect(await fetchFor('d', good())).toMatchObject(fetched)
  hanging.push(fetchFor('d', url))
  await eventually('its first was asked for', async () => waiting.length === 7)
  expect(await fetchFor('d', good())).toMatchObject({
    outcome: 'not_called',
    reason: 'the worker has reached its limit of concurrent media fetches',
  })
  expect(await fetchFor('a', good())).toMatchObject({
    outcome: 'not_called',
    reason: 'its account has reached its limit of concurrent media fetches',
  })
  answerAll()
  await Promise.all(hanging)
})

test("media that find no memory because others' don't come are no fault of the message", async () => {
  const fetchFor = startFetching(1)
  const over = new AbortController()
  const url = files.at((_request, response) => {
    response.writeHead(200, { 'content-length': maxMediaBytes }).flushHeaders()
  })
  const before = files.calls.length
  const holding = ['a', 'b'].flatMap((owner) =>
    Array.from({ length: 4 }, () => withMemory(fetcher, budget).fetch({ url, owner }, over.signal)),
  )
  await eventually('all were asked for', async () => files.calls.length === before + 8)
  const requestId = uuidv7()
  for (const delayMs of [1000, 2000]) {
    expect(await fetchFor('c', good(), requestId)).toEqual({
      outcome: 'not_called',
      reason: "the worker's memory budget for media is used up",
      delayMs,
    })
  }
  over.abort()
  await Promise.all(holding)
  expect(await fetchFor('c', good(), requestId)).toMatchObject(fetched)
})

test('media that came after the moment of the call are not fetched again for the next attempt', async () => {
  const fetchFor = startFetching(20)
  const url = good()
  const before = files.calls.length
  const requestId = uuidv7()
  expect(await fetchFor('a', url, requestId, performance.now())).toMatchObject(fetched)
  expect(await fetchFor('a', url, requestId, performance.now() + 60_000)).toMatchObject(fetched)
  expect(files.calls.length - before).toBe(1)
})

/** Pieces, each some time after the one before. */
const slowly =
  (content: Buffer, pieces: number, pauseMs: number): Behaviour =>
  async (_request, response) => {
    response.writeHead(200, { 'content-length': content.length })
    for (let at = 0; at < content.length; at += content.length / pieces) {
      response.write(content.subarray(at, at + content.length / pieces))
      await sleep(pauseMs)
    }
    response.end()
  }

test.concurrent('large media by a slow line has more time than the timeout', async () => {
  const content = Buffer.alloc(16 * 1024 * 1024, 'x')
  const startedAt = performance.now()
  const delivery = await startFetching(1)('slow', files.at(slowly(content, 32, 100)))
  expect('mediaContent' in delivery && delivery.mediaContent?.equals(content)).toBe(true)
  expect(performance.now() - startedAt).toBeGreaterThan(2000)
})

test.concurrent('media that trickles does not', async () => {
  const trickled = trickle('HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n', ' '.repeat(500))
  const given = await startFetching(1)('trickles', files.at(trickled))
  expect(given).toEqual({
    outcome: 'retry_later',
    fault: 'message',
    reason: 'the media did not come in time',
  })
})

test('a mail with a stored file and two links uses memory for all three, and gives back all of it', async () => {
  const settings = { PROVIDER_TIMEOUT_SECONDS: 20, WORKER_CONCURRENCY: 10 }
  const provider = { media: fetcher, send: () => Promise.reject(new Error('called')) }
  const fetchFor = createFetchLinkedMedia({ settings }, () => provider, new PutOffs(() => 0))
  const own = openMediaMemory()
  const memory = own.reservationFor('mail')
  await memory.reserve(1000)
  const linked = { filename: 'x.txt', url: good() }
  const attachments = [{ filename: 'y.txt', sizeBytes: 1000 }, linked, linked]
  const message = { type: 'text', text: { value: 'Hello' }, email: { attachments } } as const
  const delivery = { ...buildDelivery(rules, {}, { message }), attachmentContents: [Buffer.alloc(1000)] }
  const send = { requestId: uuidv7(), accountId: 'mail', provider: 'smtp' }
  const taken = await fetchFor(send, delivery, memory)
  expect(taken).toMatchObject({ attachmentContents: [{ length: 1000 }, { length: 1 }, { length: 1 }] })
  expect(own.usedBytes).toBe(1002)
  memory.release()
  expect(own.usedBytes).toBe(0)
})
