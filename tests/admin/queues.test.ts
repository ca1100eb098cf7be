import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestAdmin, type TestAdmin } from '../support/admin.ts'
import { type Account, accept, buildAccount, textBody } from '../support/builders.ts'
import { getPage, postForm } from '../support/pages.ts'
import { startTestService, type TestService } from '../support/service.ts'

let service: TestService
let account: Account
let admin: TestAdmin

beforeAll(async () => {
  service = await startTestService()
  account = await buildAccount(service)
  admin = await startTestAdmin(service)
})
afterAll(async () => {
  await admin.stop()
  await service.stop()
})

test('the queue board shows how many jobs are in each queue, and since when the oldest', async () => {
  const before = new Date().toISOString().slice(0, 10)
  await accept(service, account, textBody())
  await accept(service, account, textBody())
  const { status, html } = await getPage(`${admin.url}/queues`)
  expect(status).toBe(200)
  const rows = html.match(/<tr>.*?<\/tr>/gs) ?? []
  const cells = (start: RegExp) =>
    [
      ...(rows.find((row) => start.test(row)) ?? '').matchAll(/<td data-label="([^"]+)"[^>]*>(.*?)<\/td>/gs),
    ].map(([, name, cell = '']) => [name, cell.replace(/<[^>]*>/g, '').trim()])
  const found = Object.fromEntries(cells(/>sends<\/b>/))
  expect(Number(found.waiting) + Number(found.prioritized)).toBe(2)
  expect(found).toMatchObject({ delayed: '0', active: '0', failed: '0' })
  expect(found['Oldest since']).toContain(before)
  for (const queue of ['sends-overflow', 'callbacks', 'callbacks-slow-start'])
    expect(Object.fromEntries(cells(new RegExp(`>${queue}</b>`)))).toMatchObject({
      waiting: '0',
      failed: '0',
    })
})

test('it updates by itself only if it is asked to, and changes nothing', async () => {
  expect((await getPage(`${admin.url}/queues`)).html).not.toContain('http-equiv="refresh"')
  expect((await getPage(`${admin.url}/queues?updates=on`)).html).toContain('http-equiv="refresh"')
  expect((await postForm(`${admin.url}/queues`, {})).status).toBe(404)
})
