import { describe, expect, test } from 'vitest'
import { absentId } from '../support/absent-id.ts'
import type { Answer } from '../support/answer.ts'
import { type Account, buildAccount, post, request, textBody } from '../support/builders.ts'
import { expectError, expectFault, expectNothingAccepted } from '../support/expect-error.ts'
import { serviceOfFile } from '../support/service.ts'

const service = await serviceOfFile()
const account = await buildAccount(service)
const stranger = await buildAccount(service)

function headersOf({ apiKey }: Account) {
  return { Authorization: `Bearer ${apiKey}`, 'Content-Type': 'application/json' }
}

function sendTo(channelId: string, body: object = textBody(), by = account): Promise<Answer> {
  return post(service, { ...by, channelId }, body)
}

function sendToInBody(channelId: unknown, body: object = textBody(), by = account): Promise<Answer> {
  return request(service, '/v1/messages', {
    method: 'POST',
    headers: headersOf(by),
    body: JSON.stringify({ channelId, ...body }),
  })
}

function read(requestId: string, by = account): Promise<Answer> {
  return request(service, `/v1/messages/${requestId}`, {
    headers: { Authorization: `Bearer ${by.apiKey}` },
  })
}

/** Everything that a client sees, but for the id of the request and the clock. */
async function bytesOf(path: string, init: RequestInit): Promise<string> {
  const response = await fetch(service.url + path, init)
  const requestId = response.headers.get('X-Request-Id') ?? 'none'
  const headers = [...response.headers].filter(([name]) => name !== 'date')
  return JSON.stringify([response.status, headers, await response.text()]).replaceAll(requestId, 'ID')
}

describe('channel', () => {
  test('an absent one is exactly "Channel not found", on both endpoints', async () => {
    for (const answer of [await sendTo(absentId), await sendToInBody(absentId)]) {
      expectError(answer, 404, 'Channel not found')
      expect(answer.body.error).toBe('Not Found')
      await expectNothingAccepted(service, answer)
    }
  })

  test('a channel of another account is answered as an absent one, byte for byte', async () => {
    const inPath = (channelId: string) =>
      bytesOf(`/v1/channels/${channelId}/messages`, {
        method: 'POST',
        headers: headersOf(account),
        body: JSON.stringify(textBody()),
      })
    const inBody = (channelId: string) =>
      bytesOf('/v1/messages', {
        method: 'POST',
        headers: headersOf(account),
        body: JSON.stringify({ channelId, ...textBody() }),
      })
    expect(await inPath(stranger.channelId)).toBe(await inPath(absentId))
    expect(await inBody(stranger.channelId)).toBe(await inBody(absentId))
    expect(await inPath(absentId)).toBe(await inBody(absentId))
  })

  test('a channel of another account is answered as absent also after its owner used it', async () => {
    expect((await sendTo(stranger.channelId, textBody(), stranger)).status).toBe(202)
    expectError(await sendTo(stranger.channelId), 404, 'Channel not found')
  })

  test.each<[string, () => string]>([
    ['in capitals', () => account.channelId.toUpperCase()],
    ['in braces', () => `%7B${account.channelId}%7D`],
    ['without dashes', () => account.channelId.replaceAll('-', '')],
    ['with a space behind it', () => `${account.channelId}%20`],
    ['with a NUL behind it', () => `${account.channelId}%00`],
    ['that is NUL', () => '%00'],
    ['that is no uuid', () => 'main'],
    ['that is a number', () => '1'],
    ['of another script', () => '%E2%98%83'],
    ['that is half a character', () => '%E2%98'],
    ['that is malformed percent-encoding', () => '%zz'],
    ['that is a lone percent sign', () => '%'],
    ['with a slash inside', () => `a%2F${account.channelId}`],
    ['that points upwards', () => '%2E%2E%2Fx'],
    ['that tries SQL', () => "'%20or%20''='"],
    ['that is very long', () => 'f'.repeat(8000)],
  ])('an id %s is absent, never a fault', async (_what, channelId) => {
    expectError(await sendTo(channelId()), 404, 'Channel not found')
  })

  test.each<[string, () => string]>([
    ['in capitals', () => account.channelId.toUpperCase()],
    ['with a space behind it', () => `${account.channelId} `],
    ['that is empty', () => ''],
    ['that is no uuid', () => 'main'],
    ['of another script', () => '☃'],
    ['that is very long', () => 'f'.repeat(1_000_000)],
  ])('an id in the body %s is absent, never a fault', async (_what, channelId) => {
    expectError(await sendToInBody(channelId()), 404, 'Channel not found')
  })

  test('a path without an id is an unknown route', async () => {
    expectError(await sendTo(''), 404)
  })
})

describe('an absent channel comes', () => {
  test('after the faults of the body', async () => {
    for (const send of [sendTo, sendToInBody]) {
      await expectFault(service, await send(absentId, textBody('')), 'message.text.value')
      await expectFault(service, await send(absentId, { ...textBody(), surplus: 1 }), 'surplus')
    }
  })

  test('before an unknown flow', async () => {
    for (const send of [sendTo, sendToInBody]) {
      for (const flowId of [absentId, stranger.flowId, 'none']) {
        expectError(await send(absentId, { ...textBody(), flowId }), 404, 'Channel not found')
      }
    }
  })
})

describe('message', () => {
  test('a send of another account is answered as an absent one, byte for byte', async () => {
    const { body } = await sendTo(stranger.channelId, textBody(), stranger)
    const seen = (requestId: string) =>
      bytesOf(`/v1/messages/${requestId}`, { headers: { Authorization: `Bearer ${account.apiKey}` } })
    expect((await read(body.requestId, stranger)).status).toBe(200)
    expect(await seen(body.requestId)).toBe(await seen(absentId))
    expectError(await read(body.requestId), 404, 'Message not found')
  })

  test('the id of a refused request is absent', async () => {
    const refused = await sendTo(account.channelId, textBody(''))
    expectError(await read(refused.body.requestId), 404)
  })

  test.each<[string, (requestId: string) => string]>([
    ['in capitals', (id) => id.toUpperCase()],
    ['with a NUL behind it', (id) => `${id}%00`],
    ['with a space behind it', (id) => `${id}%20`],
    ['that is NUL', () => '%00'],
    ['that is no uuid', () => 'last'],
    ['that is malformed percent-encoding', () => '%zz'],
    ['that is half a character', () => '%E2%98'],
    ['that tries SQL', () => "'%20or%20''='"],
    ['that is very long', () => 'f'.repeat(8000)],
  ])('an id %s is absent, never a fault', async (_what, form) => {
    const { body } = await sendTo(account.channelId)
    expectError(await read(form(body.requestId)), 404, 'Message not found')
  })

  test('a path without an id is an unknown route', async () => {
    expectError(await read(''), 404)
  })
})

describe('an unknown route answers with the error body, with a key and without', () => {
  test.each([
    ['GET', '/v1'],
    ['GET', '/v2/messages'],
    ['POST', '/v1/message'],
    ['POST', '/v1/messages/'],
    ['POST', '/V1/MESSAGES'],
    ['POST', '//v1/messages'],
    ['POST', '/v1/templates'],
    ['POST', '/v1/channels/x/messages/y'],
    ['GET', '/v1/messages/x/y'],
    ['DELETE', '/nowhere'],
    ['GET', '/%zz'],
    ['GET', '/%00'],
    ['GET', '/.env'],
    ['GET', '/support'],
    ['GET', '/queues'],
    ['GET', '/inbox'],
    ['GET', '/metrics'],
  ])('%s %s', async (method, path) => {
    expectError(await request(service, path, { method }), 404)
    expectError(await request(service, path, { method, headers: headersOf(account) }), 404)
  })

  test('a HEAD of one has no body', async () => {
    const answer = await request(service, '/nowhere', { method: 'HEAD' })
    expect(answer).toMatchObject({ status: 404, body: undefined })
    expect(answer.headers.get('X-Request-Id')).toBeTruthy()
  })

  test('it leaves one log line', async () => {
    const { body } = await request(service, '/nowhere')
    expect(service.logsOf(body.requestId)).toMatchObject([{ event: 'rejected', statusCode: 404 }])
  })
})
