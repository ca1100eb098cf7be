import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { expect, onTestFinished, test, vi } from 'vitest'
import { newId } from '../../src/core/requests/new-id.ts'
import { accept, buildAccount, textBody } from '../support/builders.ts'
import { serviceOfFile, startTestService } from '../support/service.ts'

const service = await serviceOfFile()

test('no JSON answer may be kept by a cache, or be taken for another type, errors too', async () => {
  const account = await buildAccount(service)
  const requestId = await accept(service, account, textBody())
  const headers = { Authorization: `Bearer ${account.apiKey}` }
  const paths = [
    '/v1/messages',
    `/v1/messages/${requestId}`,
    '/v1/messages/absent',
    '/v1/nowhere',
    '/v1/channels',
  ]
  const answers = await Promise.all([
    ...paths.map((path) => fetch(service.url + path, { headers })),
    fetch(`${service.url}/v1/messages`),
    fetch(`${service.url}/v1/messages`, { method: 'PUT' }),
    fetch(`${service.url}/v1/messages`, { method: 'POST', headers, body: '{' }),
  ])
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 404, 404, 200, 401, 405, 400])
  for (const { headers } of answers) {
    expect(headers.get('Cache-Control')).toBe('no-store')
    expect(headers.get('X-Content-Type-Options')).toBe('nosniff')
  }
})

test('a receipt for a random channel is refused without PostgreSQL, since no channel can have its id', async () => {
  const withoutPostgres = await startTestService({ DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' })
  onTestFinished(() => withoutPostgres.stop())
  const statusOf = async (channelId: string, method: string) =>
    (await fetch(`${withoutPostgres.url}/receipts/${channelId}`, { method })).status
  expect(await statusOf(randomUUID(), 'GET')).toBe(404)
  expect(await statusOf(randomUUID(), 'POST')).toBe(404)
  expect(await statusOf(newId(), 'POST')).toBe(503)
})

test('a receipt for a made-up id of a channel costs one statement, and no transaction', async () => {
  const query = vi.spyOn(pg.Client.prototype, 'query')
  onTestFinished(() => query.mockRestore())
  const answer = await fetch(`${service.url}/receipts/${newId()}`, { method: 'POST', body: '{}' })
  expect(answer.status).toBe(404)
  const asked = query.mock.calls.map(
    ([asked]: unknown[]) => asked as string | { name?: string; text: string },
  )
  const names = asked.flatMap((one) => (typeof one === 'string' ? [] : [one.name]))
  expect(names.filter((name) => name === 'receiving_channels')).toHaveLength(1)
  const texts = asked.map((one) => (typeof one === 'string' ? one : one.text))
  expect(texts.filter((text) => /^\s*(begin|start)/i.test(text))).toEqual([])
})
