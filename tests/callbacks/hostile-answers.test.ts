import { afterAll, beforeAll, expect, test } from 'vitest'
import { longestRetryAfterMs } from '../../src/core/sends/outcome.ts'
import { type Account, accept, buildAccount, textBody } from '../support/builders.ts'
import { buildEndpoint, callbacksOf, type Endpoint } from '../support/endpoints.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { eventually } from '../support/wait.ts'
import {
  accept as acceptCall,
  answer,
  answerRaw,
  answerRawAndClose,
  type Behaviour,
  closeAfterReading,
  flood,
  neverAnswer,
  openWebhookReceiver,
  resetAfterReading,
  resetBeforeReading,
  trickle,
  type WebhookReceiver,
} from '../support/webhook-receiver.ts'

const text = 'words-of-the-endpoint'
const inTime = 'no whole answer in time'
const switches = 'the answer switches to another protocol (101)'
const interim = (status: string) => `HTTP/1.1 ${status}\r\nx-a: ${text}\r\n\r\n`

/** Behaviour of an endpoint, and the status and the reason that are kept of it. */
const answers: [string, Behaviour, number | null, string | null][] = [
  ['an endless answer', flood, 200, null],
  ['an answer longer than is read', answer(500, {}, text.repeat(50_000)), 500, null],
  ['an answer byte by byte', trickle('HTTP/1.1 200 OK\r\n', `x-a: ${text.repeat(50)}\r\n`), null, inTime],
  ['no answer', neverAnswer, null, inTime],
  ['early hints without an end', trickle('', 'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(50)), null, inTime],
  [
    'interim answers before its own',
    answerRaw(
      `${interim('100 Continue')}${interim('103 Early Hints')}HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n`,
    ),
    200,
    null,
  ],
  ['another protocol', answerRaw(interim('101 Switching Protocols')), null, switches],
  ['no HTTP', answerRawAndClose(`220 ${text} ESMTP\r\n`), null, 'the answer is not HTTP'],
  ['words in its status line', answerRaw(`HTTP/1.1 503 ${text}\r\ncontent-length: 0\r\n\r\n`), 503, null],
  [
    'long headers',
    answerRaw(`HTTP/1.1 200 OK\r\nx-a: ${text.repeat(2000)}\r\n\r\n`),
    null,
    'the headers of the answer are too long',
  ],
  ['a status that there is not', answerRaw('HTTP/1.1 999 OK\r\ncontent-length: 0\r\n\r\n'), 999, null],
  ['a reset before it reads', resetBeforeReading, null, 'the connection was lost'],
  ['a reset', resetAfterReading, null, 'the connection was lost'],
  ['an end', closeAfterReading, null, 'the connection was lost'],
  ['a redirect', answer(308, { location: `http://169.254.169.254/${text}` }), 308, null],
  ['a wait for years', answer(429, { 'retry-after': '999999999' }), 429, null],
  ['a wait that is none', answer(503, { 'retry-after': `-1 ${text}` }), 503, null],
]
const ofAccount = 10

let service: TestService
let receiver: WebhookReceiver

beforeAll(async () => {
  receiver = await openWebhookReceiver()
  service = await startTestService({
    ALLOWED_PRIVATE_NETWORKS: '127.0.0.0/8',
    CLIENT_PRIVATE_NETWORKS: '127.0.0.0/8',
    CALLBACK_TIMEOUT_SECONDS: '2',
    // On a busy machine any call may end by its time limit.
    CALLBACK_RETRY_DELAYS_SECONDS: '0,0,0,0,0,0,0,0,0',
  })
})
afterAll(async () => {
  await receiver.stop()
  await service.stop()
})

test('whatever endpoints answer, only its status and Retry-After are kept, and a good one is told meanwhile', async () => {
  const good = await buildAccount(service)
  const goodEndpoint = await buildEndpoint(service, good.accountId, receiver.at(acceptCall))
  const accounts: Account[] = []
  const endpoints: Endpoint[] = []
  for (const [, behaviour] of answers) {
    if (endpoints.length % ofAccount === 0) accounts.push(await buildAccount(service))
    const { accountId = '' } = accounts.at(-1) ?? {}
    endpoints.push(await buildEndpoint(service, accountId, receiver.at(behaviour)))
  }
  await service.startWorker('unmoved')
  for (const by of [...accounts, good, good, good]) await accept(service, by, textBody())

  await eventually('the good one is told', async () => {
    const all = await callbacksOf(service, goodEndpoint)
    return all.length === 3 && all.every(({ finishedAt }) => finishedAt !== null)
  })
  for (const [at, endpoint] of endpoints.entries()) {
    const [name, , status, reason] = answers[at] ?? []
    const kept = await eventually(`${name}: ${status ?? reason}`, async () => {
      const [callback] = await callbacksOf(service, endpoint)
      return callback?.tries.some((one) => one.status === status && one.reason === reason) && callback
    })
    expect(kept.nextTryAt.getTime() - Date.now()).toBeLessThanOrEqual(longestRetryAfterMs)
    expect(JSON.stringify(kept)).not.toContain(text)
  }
  expect(JSON.stringify(service.logs)).not.toContain(text)
})
