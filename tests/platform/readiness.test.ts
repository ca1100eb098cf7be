import { afterAll, beforeAll, expect, test } from 'vitest'
import { createApp } from '../../src/api/app.ts'
import { Readiness } from '../../src/platform/health/readiness.ts'
import { createLogger } from '../../src/platform/log/logger.ts'
import { checkDatabase } from '../../src/platform/process/start-check.ts'
import { startTestService, type TestService } from '../support/service.ts'

let service: TestService

beforeAll(async () => {
  service = await startTestService()
})
afterAll(() => service.stop())

test('concurrent checks of readiness share one connection, and later ones check again', async () => {
  // It takes up a connection as well, every few seconds; one that is being read now is waited for.
  service.api.clock.stop()
  await service.api.clock.read()
  // As at the start of a process.
  await checkDatabase(service.api)
  const readiness = new Readiness(service.api)
  let connections = 0
  service.api.db.$client.on('acquire', () => connections++)
  const ask = () => Promise.all(Array.from({ length: 100 }, () => readiness.reasonNotReady()))
  expect(new Set(await ask())).toEqual(new Set([undefined]))
  expect(connections).toBe(1)
  await ask()
  expect(connections).toBe(2)
})

test('each change of readiness is one line in the log, however often it is asked', async () => {
  const lines: object[] = []
  const log = createLogger('info', { write: (line) => lines.push(JSON.parse(line)) })
  let reason: string | undefined
  const readiness = new Readiness({ ...service.api, log }, () => reason)
  for (const [next, drains] of [[undefined], ['No wake-ups.'], [undefined], ['Other.', true]] as const) {
    reason = next
    if (drains) readiness.drain()
    for (let poll = 0; poll < 3; poll++) await readiness.reasonNotReady()
  }
  expect(lines).toMatchObject([
    { event: 'not_ready', reason: 'No wake-ups.' },
    { event: 'ready_again' },
    { event: 'not_ready', reason: 'This process is about to end.' },
  ])
})

test('a stopping API logs nothing for a poll of /readyz beside that line', async () => {
  const lines: { event: string }[] = []
  const log = createLogger('info', { write: (line) => lines.push(JSON.parse(line)) })
  const runtime = { ...service.api, log }
  const readiness = new Readiness(runtime)
  const app = createApp(runtime, readiness)
  readiness.drain()
  for (let poll = 0; poll < 5; poll++) {
    const answer = await app.request('/readyz', {}, { incoming: { headers: {} } })
    expect(answer.status).toBe(503)
    expect(answer.headers.get('Retry-After')).toBe('1')
    expect(await answer.json()).toMatchObject({ statusCode: 503, message: 'This process is about to end.' })
  }
  expect(lines.map(({ event }) => event)).toEqual(['not_ready'])
})
