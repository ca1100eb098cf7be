import { describe, expect, test } from 'vitest'
import { callbackBody, sendChangeTypes } from '../../../../src/core/callbacks/callback.ts'
import { decideCallback } from '../../../../src/core/callbacks/callback-outcome.ts'
import { endpointUrlIssue } from '../../../../src/core/callbacks/endpoint-url.ts'
import { parseNetwork } from '../../../../src/core/requests/public-address.ts'

const rules = { retryDelaysSeconds: [5, 300], random: 0.5 }
const answer = { status: 200, reason: null, durationMs: 5 }

describe('what becomes of a callback', () => {
  test.each([
    [200, { result: 'delivered' }],
    [299, { result: 'delivered' }],
    [301, { result: 'failed', delayMs: 5000 }],
    [404, { result: 'failed', delayMs: 5000 }],
    [500, { result: 'failed', delayMs: 5000 }],
    [null, { result: 'failed', delayMs: 5000 }],
    [410, { result: 'gone' }],
  ])('after %s', (status, verdict) => {
    expect(decideCallback({ ...answer, status }, 1, rules)).toEqual(verdict)
  })

  test('after the last try, it is given up', () => {
    expect(decideCallback({ ...answer, status: 500 }, 2, rules)).toEqual({
      result: 'failed',
      delayMs: 300_000,
    })
    expect(decideCallback({ ...answer, status: 500 }, 3, rules)).toEqual({ result: 'given_up' })
  })

  test('a longer Retry-After is heeded, up to a day, a shorter one is not', () => {
    const failed = (retryAfterMs: number) =>
      decideCallback({ ...answer, status: 503, retryAfterMs }, 1, rules)
    expect(failed(60_000)).toEqual({ result: 'failed', delayMs: 60_000 })
    expect(failed(1000)).toEqual({ result: 'failed', delayMs: 5000 })
    expect(failed(7 * 86_400_000)).toEqual({ result: 'failed', delayMs: 86_400_000 })
  })
})

test.each(sendChangeTypes)('the body of %s has all fields, and no others', (type) => {
  const content = {
    ...{ type, at: '2026-11-21T12:43:12.123Z', endpointId: 'e', requestId: 'r', sequence: 2, channelId: 'c' },
    ...{
      messageType: 'text' as const,
      reference: null,
      metadata: null,
      segments: null,
      encoding: null,
      flowId: null,
      conversationId: null,
      attempts: 1,
      priority: 'normal' as const,
    },
    ...{ providerAt: null, providerCode: null, status: null, delivery: null, data: null },
  }
  const { data, ...rest } = JSON.parse(callbackBody(content))
  expect(rest).toEqual({ type, timestamp: content.at })
  expect(Object.keys(data)).toEqual([
    ...[
      'requestId',
      'reference',
      'metadata',
      'segments',
      'encoding',
      'priority',
      'sequence',
      'status',
      'delivery',
      'channelId',
      'messageType',
      'flowId',
    ],
    ...['conversationId', 'attempts', 'providerAt', 'providerCode'],
  ])
})

const loopback = [parseNetwork('127.0.0.0/8')]

test.each([
  ['https://example.com/x?y=1', [], undefined],
  ['https://93.184.216.34/', [], undefined],
  ['http://example.com/', [], 'has to be https'],
  ['http://93.184.216.34/', loopback, 'has to be https'],
  ['http://127.0.0.1:4001/', loopback, undefined],
  ['http://localhost:4001/', loopback, undefined],
  ['http://127.0.0.1:4001/', [], 'is not a public address'],
  ['https://[::1]/', [], 'is not a public address'],
  ['https://0x7f000001/', [], '127.0.0.1 is not a public address'],
  ['https://[64:ff9b::7f00:1]/', [], 'is not a public address'],
  ['https://a@example.com/', [], 'user name or password'],
  ['https://example.com/#x', [], 'fragment'],
  ['https://exa mple.com/', [], 'white space'],
  ['example.com', [], 'has to be a URL'],
  [`https://example.com/${'x'.repeat(2048)}`, [], 'at most 2048 characters'],
])('the URL %s', (url, networks, issue) => {
  const found = endpointUrlIssue(url, networks)
  if (issue === undefined) expect(found).toBeUndefined()
  else expect(found).toContain(issue)
})
