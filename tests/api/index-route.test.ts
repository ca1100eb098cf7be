import { expect, test } from 'vitest'
import { request } from '../support/builders.ts'
import { expectError } from '../support/expect-error.ts'
import { serviceOfFile } from '../support/service.ts'

const service = await serviceOfFile()

test('the root of the API lists its routes, and each of them exists', async () => {
  const { status, body, headers } = await request(service, '/')
  expect(status).toBe(200)
  expect(headers.get('X-Request-Id')).toBeTruthy()
  expect(body).toMatchObject({
    docs: '/docs',
    openapi: '/openapi.json',
    health: '/healthz',
    readiness: '/readyz',
  })
  expect(body.send).toEqual([
    'POST /v1/messages',
    'POST /v1/channels/{channelId}/messages',
    'POST /v1/messages/batch',
  ])
  for (const path of [body.docs, body.openapi, body.health, body.readiness])
    expect((await fetch(service.url + path)).status, path).toBe(200)
  for (const route of [
    ...body.send,
    body.cancel,
    body.cancelMany,
    body.move,
    body.read,
    body.list,
    body.channels,
    body.flows,
    body.endpoints,
    body.suppressions,
  ]) {
    const [method, path] = route.split(' ')
    expect((await request(service, path, { method })).status, route).toBe(401)
  }
})

test('the root is read-only', async () => {
  expect((await fetch(`${service.url}/`, { method: 'HEAD' })).status).toBe(200)
  const answer = await request(service, '/', { method: 'POST', body: '{}' })
  expectError(answer, 405, 'This route takes GET, HEAD.')
  expect(answer.headers.get('Allow')).toBe('GET, HEAD')
})
