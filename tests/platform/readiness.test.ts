import { afterAll, beforeAll, expect, test } from 'vitest'
import { Readiness } from '../../src/platform/readiness.ts'
import { checkDatabase } from '../../src/platform/start-check.ts'
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
