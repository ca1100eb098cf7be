import { appRoutes } from '@bull-board/api/dist/routes.js'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestAdmin, type TestAdmin } from '../support/admin.ts'
import { type Account, accept, buildAccount, textBody } from '../support/builders.ts'
import { startTestService, type TestService } from '../support/service.ts'

let service: TestService
let account: Account
let admin: TestAdmin
let waiting: string

const password = 'a password of tests'
const Authorization = `Basic ${Buffer.from(`admin:${password}`).toString('base64')}`

beforeAll(async () => {
  service = await startTestService()
  account = await buildAccount(service)
  admin = await startTestAdmin(service, { ADMIN_PASSWORD: password })
  waiting = await accept(service, account, textBody())
})
afterAll(async () => {
  await admin.stop()
  await service.stop()
})

const ask = (path: string, init: RequestInit = {}) =>
  fetch(admin.url + path, { redirect: 'manual', ...init, headers: { Authorization, ...init.headers } })

test('it shows all queues, read-only, and nothing of a job but its requestId', async () => {
  const response = await ask('/queues/api/queues?activeQueue=sends&status=waiting&page=1')
  const { queues } = (await response.json()) as { queues: Record<string, unknown>[] }
  expect(queues).toMatchObject([
    { name: 'sends', readOnlyMode: true, allowRetries: false, counts: { waiting: 1 } },
    { name: 'sends-overflow', readOnlyMode: true, allowRetries: false },
    { name: 'callbacks', readOnlyMode: true, allowRetries: false },
    { name: 'callbacks-slow-start', readOnlyMode: true, allowRetries: false },
  ])
  const jobs = queues[0]?.jobs as { id: string; data: unknown }[]
  expect(jobs).toMatchObject([{ id: waiting, data: { requestId: waiting } }])
})

const writing = appRoutes.api.flatMap(({ method, route }) =>
  [method].flat().flatMap((one) => (one === 'get' ? [] : [[one, String(route)] as const])),
)

async function everything() {
  const { redis } = service.runtime
  const keys = (await redis.keys('*')).sort()
  const dumps = await Promise.all(keys.map((key) => redis.dumpBuffer(key)))
  return keys.map((key, index) => [key, dumps[index]?.toString('hex')])
}

test.each(writing)('%s %s changes nothing', async (method, route) => {
  const path = route
    .replace(':queueName', 'sends')
    .replace(':jobId', waiting)
    .replace(':queueStatus', 'wait')
    .replace(':schedulerId', 'none')
  const before = await everything()
  const response = await ask(`/queues${path}`, {
    method: method.toUpperCase(),
    headers: { 'Content-Type': 'application/json', Origin: admin.url },
    body: JSON.stringify({
      name: 'send',
      data: {},
      options: {},
      concurrency: 1,
      max: 1,
      duration: 1,
      force: true,
    }),
  })
  expect(response.status).toBe(405)
  expect(await everything()).toEqual(before)
})

test('it is behind the password, with the headers of the other pages', async () => {
  for (const path of ['/queues', '/queues/api/queues', '/queues/static/favicon.ico']) {
    expect((await fetch(admin.url + path)).status, path).toBe(401)
    const { status, headers } = await ask(path)
    expect(status, path).toBe(200)
    expect((await ask(path, { method: 'HEAD' })).status, path).toBe(200)
    expect(headers.get('X-Content-Type-Options')).toBe('nosniff')
    expect(headers.get('X-Frame-Options')).toBe('DENY')
    expect(headers.get('Content-Security-Policy')).toMatch(/^default-src 'none'; script-src 'self';/)
    expect(headers.get('Content-Security-Policy')).not.toMatch(/https?:|\*|unsafe-eval/)
  }
  const support = await ask('/support')
  expect(support.headers.get('Content-Security-Policy')).not.toContain('script-src')
})

test('its page and styles load nothing from other hosts, and every file that they name exists', async () => {
  const page = await (await ask('/queues/queue/sends')).text()
  const [, base = ''] = /<base href="([^"]+)"/.exec(page) ?? []
  const named = [...page.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, link = '']) => link)
  expect(named.length).toBeGreaterThan(5)
  for (const link of named) {
    const url = new URL(link, admin.url + base)
    expect(url.origin, link).toBe(admin.url)
    expect((await ask(url.pathname, { redirect: 'follow' })).status, link).toBe(200)
  }
  const styles = named.filter((link) => link.endsWith('.css'))
  for (const link of styles) {
    const css = await (await ask(new URL(link, admin.url + base).pathname)).text()
    expect(css).not.toMatch(/(?:url\(|@import)\s*["']?(?:https?:)?\/\//)
  }
})

test('each of its pages leads back to the support page', async () => {
  for (const path of ['/queues', '/queues/queue/sends', `/queues/queue/sends/${waiting}`]) {
    expect(await (await ask(path)).text(), path).toMatch(
      /<body[^>]*>.*<a href="\/support"[^>]*>← Support<\/a>/s,
    )
  }
})

test('a file beside the board is not served', async () => {
  for (const path of ['/queues/static/../index.ejs', '/queues/static/%2e%2e/%2e%2e/package.json']) {
    expect((await ask(path)).status, path).toBe(404)
  }
})
