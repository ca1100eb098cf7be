import { expect, test } from 'vitest'
import { absentId } from '../support/absent-id.ts'
import type { Answer } from '../support/answer.ts'
import { buildAccount, post, textBody } from '../support/builders.ts'
import { expectError, holdings } from '../support/expect-error.ts'
import { rawRequest } from '../support/raw-http.ts'
import { serviceOfFile } from '../support/service.ts'

const service = await serviceOfFile()
const account = await buildAccount(service)

const others = (...taken: string[]) =>
  ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND', 'TRACE'].filter(
    (method) => !taken.includes(method),
  )

const cases: [string, string, string[]][] = [
  ...others('GET', 'POST').map((method): [string, string, string[]] => [
    method,
    '/v1/messages',
    ['GET', 'HEAD', 'POST'],
  ]),
  ...others('POST').map((method): [string, string, string[]] => [
    method,
    `/v1/messages/${absentId}/cancel`,
    ['POST'],
  ]),
  ...others('POST').map((method): [string, string, string[]] => [
    method,
    `/v1/channels/${absentId}/messages`,
    ['POST'],
  ]),
  ...others('GET', 'PATCH').map((method): [string, string, string[]] => [
    method,
    `/v1/messages/${absentId}`,
    ['GET', 'HEAD', 'PATCH'],
  ]),
  ...others('GET', 'POST').map((method): [string, string, string[]] => [
    method,
    '/v1/endpoints',
    ['GET', 'HEAD', 'POST'],
  ]),
  ...others('GET', 'POST').map((method): [string, string, string[]] => [
    method,
    '/v1/suppressions',
    ['GET', 'HEAD', 'POST'],
  ]),
  ...others('DELETE').map((method): [string, string, string[]] => [
    method,
    `/v1/suppressions/${absentId}`,
    ['DELETE'],
  ]),
  ...others('GET', 'PATCH', 'DELETE').map((method): [string, string, string[]] => [
    method,
    `/v1/endpoints/${absentId}`,
    ['DELETE', 'GET', 'HEAD', 'PATCH'],
  ]),
  ...['enable', 'disable', 'test', 'rotate-secret', 'resend'].flatMap((verb) =>
    others('POST').map((method): [string, string, string[]] => [
      method,
      `/v1/endpoints/${absentId}/${verb}`,
      ['POST'],
    ]),
  ),
  ...others('GET').map((method): [string, string, string[]] => [
    method,
    `/v1/endpoints/${absentId}/callbacks`,
    ['GET', 'HEAD'],
  ]),
  ...['/v1/channels', `/v1/channels/${absentId}`, `/v1/channels/${absentId}/templates`, '/v1/flows'].flatMap(
    (path) => others('GET').map((method): [string, string, string[]] => [method, path, ['GET', 'HEAD']]),
  ),
]

function allowed(answer: Answer): string[] {
  return (answer.headers.get('Allow') ?? '').split(', ').sort()
}

test.each(cases)(
  '%s %s is refused, and Allow names the methods of the route',
  async (method, path, methods) => {
    const withKey = { Authorization: `Bearer ${account.apiKey}` }
    for (const headers of [{}, withKey]) {
      const answer = await rawRequest(service, { method, path, headers })
      expectError(answer, 405)
      expect(allowed(answer)).toEqual(methods)
    }
  },
)

test('a HEAD of a route for POST only is a 405 without a body', async () => {
  const path = `/v1/messages/${absentId}/cancel`
  const answer = await rawRequest(service, { method: 'HEAD', path })
  expect(answer).toMatchObject({ status: 405, body: '' })
  expect(allowed(answer)).toEqual(['POST'])
})

test('a HEAD of a message is a GET without a body', async () => {
  const { body } = await post(service, account, textBody())
  const headers = { Authorization: `Bearer ${account.apiKey}` }
  const path = `/v1/messages/${body.requestId}`
  expect(await rawRequest(service, { method: 'HEAD', path, headers })).toMatchObject({
    status: 200,
    body: '',
  })
})

test('a valid send by another method is refused and records nothing', async () => {
  const before = await holdings(service)
  const answer = await rawRequest(service, {
    method: 'PUT',
    path: `/v1/channels/${account.channelId}/messages`,
    headers: { Authorization: `Bearer ${account.apiKey}`, 'Content-Type': 'application/json' },
    chunks: [JSON.stringify(textBody())],
  })
  expectError(answer, 405)
  expect(await holdings(service)).toEqual(before)
})

test('a header that overrides the method is ignored', async () => {
  const answer = await post(service, account, textBody(), { 'X-HTTP-Method-Override': 'DELETE' })
  expect(answer.status).toBe(202)
})

test('it leaves one log line', async () => {
  const { body } = await rawRequest(service, { method: 'DELETE', path: '/v1/messages' })
  expect(service.logsOf(body.requestId)).toMatchObject([{ event: 'rejected', statusCode: 405 }])
})
