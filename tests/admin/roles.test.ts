import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { apiKeys, audit } from '../../db/schema.ts'
import { createAdminApp } from '../../src/admin/app.ts'
import { factory } from '../../src/admin/context.ts'
import { allow, refuseRoutesWithoutRole, routesOf } from '../../src/admin/people/allow.ts'
import { createLogger } from '../../src/platform/log/logger.ts'
import { readAdminSettings } from '../../src/platform/settings/settings.ts'
import { openRuntime } from '../../src/runtime.ts'
import { startTestAdmin, type TestAdmin } from '../support/admin.ts'
import { type Account, accept, buildAccount, textBody } from '../support/builders.ts'
import { dumpDatabase, dumpRedis } from '../support/dumps.ts'
import { inSeconds } from '../support/later.ts'
import { ask, buildPerson, signIn } from '../support/people.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { eventually } from '../support/wait.ts'

let service: TestService
let admin: TestAdmin
let account: Account
let requestId: string
let reader: { Cookie: string }
let support: { Cookie: string }
let operator: { Cookie: string }

beforeAll(async () => {
  service = await startTestService()
  admin = await startTestAdmin(service)
  account = await buildAccount(service)
  requestId = await accept(service, account, textBody())
  await eventually("the key's last use", async () => {
    const keys = await service.runtime.db.select({ at: apiKeys.lastUsedAt }).from(apiKeys)
    return keys.every(({ at }) => at !== null)
  })
  await buildPerson(service, 'Ann', 'support')
  await buildPerson(service, 'Oz', 'operator')
  await buildPerson(service, 'Rea', 'reader')
  reader = await signIn(admin, 'Rea')
  support = await signIn(admin, 'Ann')
  operator = await signIn(admin, 'Oz')
})
afterAll(async () => {
  await admin.stop()
  await service.stop()
})

/** All routes of the app, of a runtime that opens no connection before it is asked. */
const runtime = openRuntime(
  'admin',
  readAdminSettings({
    DATABASE_URL: 'postgres://postgres@127.0.0.1:1/none',
    REDIS_URL: 'redis://127.0.0.1:1',
  }),
  createLogger('silent'),
)
const routes = routesOf(createAdminApp(runtime))
afterAll(() => runtime.close())

const ids: Record<string, () => string> = {
  requestId: () => requestId,
  channelId: () => account.channelId,
  queueName: () => 'sends',
  jobId: () => requestId,
}
/** A path of the route: with ids of what there is, or one that fits nothing. */
const pathOf = (path: string) =>
  path
    .replace(/:(\w+)(\{[^}]*\})?\??/g, (_all, name: string) => ids[name]?.() ?? account.flowId)
    .replace('*', 'x')

const send = (method: string, path: string, headers: Record<string, string>) =>
  ask(admin, pathOf(path), method === 'GET' ? { headers } : { method, headers, form: {} })

test('every route names its role, and only these are for anyone', () => {
  expect(routes.length).toBeGreaterThan(20)
  expect(routes.filter(({ access }) => access === undefined)).toEqual([])
  const open = routes
    .filter(({ access }) => access === 'anyone')
    .map(({ method, path }) => `${method} ${path}`)
  expect(open.sort()).toEqual([
    'GET /admin.css',
    'GET /console.js',
    'GET /healthz',
    'GET /icon.svg',
    'GET /inter.woff2',
    'GET /login',
    'GET /metrics',
    'GET /readyz',
    'POST /login',
    'POST /logout',
  ])
})

test('a process with a route that names none does not start', () => {
  const app = factory.createApp()
  app.use(allow('operator'))
  app.get('/named', allow('support'), (c) => c.text(''))
  refuseRoutesWithoutRole(app)
  const below = factory.createApp()
  below.get('/:id', (c) => c.text(''))
  below.all('/every', (c) => c.text(''))
  const outer = factory.createApp()
  outer.use('/other/*', allow('operator'))
  outer.route('/things', below)
  outer.route('/other', below)
  expect(() => refuseRoutesWithoutRole(outer)).toThrow(
    'Name the role of these routes with allow(…): GET /things/:id, ALL /things/every',
  )
})

const guarded = routes.filter(({ access }) => access !== 'anyone')
const forOperators = routes.filter(({ access }) => access === 'operator')

test.each(guarded)('without signing in, $method $path is refused', async ({ method, path }) => {
  const { status, location = '' } = await send(method, path, {})
  expect(status).toBe(method === 'GET' ? 303 : 401)
  expect(location).toMatch(method === 'GET' ? /^\/login\?next=/ : /^$/)
})

describe('support', () => {
  test('gets 403 for each route of operators; each is recorded, and none changes anything', async () => {
    const { redis } = service.runtime
    // Counts that expire by themselves.
    for (const key of await redis.keys('*')) if (/:(rate|sign-in[a-z-]*):/.test(key)) await redis.del(key)
    await service.runtime.db.delete(audit)
    const everything = async () => [await dumpDatabase(service), await dumpRedis(service)]
    const before = await everything()
    for (const { method, path } of forOperators) {
      const { status, text } = await send(method === 'ALL' ? 'POST' : method, path, support)
      expect(status, `${method} ${path}`).toBe(403)
      expect(text).toContain('Only operators may do this.')
      expect(await service.runtime.db.delete(audit).returning()).toMatchObject([
        {
          by: 'Ann',
          via: 'page',
          address: '127.0.0.1',
          action: 'page.refused',
          target: expect.stringMatching(new RegExp(`^${path.replaceAll(/:\w+/g, '[^/]+')}`)),
          details: { method: expect.any(String) },
        },
      ])
    }
    expect(await everything()).toEqual(before)
  })

  test('is offered no other contact for a scheduled send; an operator is', async () => {
    const sendAt = inSeconds(3600)
    const scheduled = await accept(service, account, { ...textBody(), sendAt })
    const linkFor = async (headers: Record<string, string>) =>
      (await ask(admin, `/support/${scheduled}`, { headers })).text.includes('Another contact…')
    expect(await linkFor(support)).toBe(false)
    expect(await linkFor(operator)).toBe(true)
  })

  test.each(guarded.filter(({ access }) => access !== 'operator'))(
    'may use $method $path',
    async ({ method, path }) => {
      expect([401, 403]).not.toContain((await send(method, path, support)).status)
    },
  )
})

describe('a reader', () => {
  const forReaders = guarded.filter(({ access }) => access === 'reader')

  test.each(forReaders)('may use $method $path', async ({ method, path }) => {
    expect([401, 403]).not.toContain((await send(method, path, reader)).status)
  })

  test.each(guarded.filter(({ access }) => access === 'support'))(
    'gets 403 for $method $path, in words',
    async ({ method, path }) => {
      const { status, text } = await send(method, path, reader)
      expect([status, text]).toEqual([403, expect.stringContaining('Readers change nothing.')])
    },
  )

  test('is for all routes that change nothing, and for no other form than a search and the own ones', () => {
    const forms = forReaders.filter(({ method }) => method !== 'GET').map(({ path }) => path)
    expect(forms.sort()).toEqual([
      '/contact',
      '/me/password',
      '/me/sessions',
      '/sends',
      '/sends.csv',
      '/support',
    ])
  })

  test('is offered nothing that changes a send', async () => {
    for (const path of [`/support/${requestId}`, `/sends?accountId=${account.accountId}`]) {
      const { html } = await ask(admin, path, { headers: reader })
      expect(html).not.toMatch(/(href|action)="[^"]*\/(replay|cancel|settle|move|suppress)"/)
      const offered = await ask(admin, path, { headers: support })
      if (path.startsWith('/sends')) expect(offered.html).toMatch(/action="\/sends\/replay"/)
    }
  })
})

test.each(guarded)('an operator may use $method $path', async ({ method, path }) => {
  expect([401, 403]).not.toContain((await send(method, path, operator)).status)
})
