import { eq, sql } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { holdChannel, updateChannel } from '../../db/accounts/channels.ts'
import { deleteChannel } from '../../db/accounts/deleted-channels.ts'
import { createFlow } from '../../db/accounts/flows.ts'
import { setTemplate } from '../../db/accounts/templates.ts'
import { openBreaker } from '../../db/delivery/breakers.ts'
import { templates } from '../../db/schema.ts'
import { contactTypes } from '../../src/core/contacts/contact.ts'
import { absentId } from '../support/absent-id.ts'
import { allPages, ask } from '../support/account-routes.ts'
import { buildAccount, buildChannel, buildKey } from '../support/builders.ts'
import { expectError } from '../support/expect-error.ts'
import { buildProviderChannel } from '../support/provider-channel.ts'
import { serviceOfFile } from '../support/service.ts'

const service = await serviceOfFile()

test('an account lists its channels, oldest first, without their configs, and none of another account', async () => {
  const account = await buildAccount(service)
  const foreign = await buildAccount(service)
  const accountSid = `AC${'0a'.repeat(16)}`
  const config = { accountSid, authToken: 'hush-hush', from: '+15550100100' }
  const twilio = await buildProviderChannel(service, account.accountId, 'twilio', config)
  const deleted = await buildChannel(service, account.accountId)
  await deleteChannel(service.runtime.db, deleted)
  const { status, body, headers } = await ask(service, account, 'GET', '/v1/channels')
  expect(status).toBe(200)
  expect(body).toStrictEqual({
    requestId: headers.get('X-Request-Id'),
    channels: [
      {
        channelId: account.channelId,
        name: 'Test',
        provider: 'sandbox',
        contactTypes,
        messageTypes: ['text', 'template', 'media'],
        status: 'ready',
        statusSince: null,
        statusReason: null,
      },
      expect.objectContaining({ channelId: twilio, provider: 'twilio', contactTypes: ['phone'] }),
    ],
    next: null,
  })
  expect(JSON.stringify(body)).not.toMatch(new RegExp(`hush|${accountSid}|${foreign.channelId}`))
})

test('a channel tells the message types that its config allows', async () => {
  const account = await buildAccount(service)
  const config = {
    apiKey: 'a1b2c3d4',
    apiSecret: 's',
    from: 'Acme',
    via: 'sms',
  }
  const channelId = await buildProviderChannel(service, account.accountId, 'vonage', config)
  expect((await ask(service, account, 'GET', `/v1/channels/${channelId}`)).body).toMatchObject({
    channelId,
    messageTypes: ['text'],
  })
})

test('the status of a channel says since when it is held or fails, and why', async () => {
  const { db } = service.runtime
  const account = await buildAccount(service)
  const { channelId } = account
  const read = async () => (await ask(service, account, 'GET', `/v1/channels/${channelId}`)).body
  expect(await read()).toMatchObject({ status: 'ready', statusSince: null, statusReason: null })
  const before = Date.now() - 1000
  await openBreaker(db, { channelId, isAgain: false })
  const failing = await read()
  expect(failing).toMatchObject({ status: 'failing', statusReason: expect.stringContaining('keep failing') })
  expect(Date.parse(failing.statusSince)).toBeGreaterThan(before)
  // It waits for a probe.
  await db.execute(
    sql`update channels set breaker_open_until = now() - interval '1 s' where id = ${channelId}`,
  )
  expect(await read()).toMatchObject({ status: 'failing', statusSince: failing.statusSince })
  await holdChannel(db, channelId, 'its number is being ported')
  const held = await read()
  expect(held).toMatchObject({ status: 'held', statusReason: 'its number is being ported' })
  expect(Date.parse(held.statusSince)).toBeGreaterThan(before)
})

test('the templates of a channel say which variables they take, oldest first', async () => {
  const { db } = service.runtime
  const account = await buildAccount(service)
  const { channelId } = account
  const path = `/v1/channels/${channelId}/templates`
  for (const [name, text] of [
    ['zulu', 'Hello {{name}}, {{code}} is your code, {{name}}'],
    ['alpha', 'Hello'],
    ['mike', '{{a}}'],
  ] as const)
    await setTemplate(db, { channelId, name, definition: { text } })
  const oneSegment = { segments: 1, encoding: 'gsm-7' }
  expect(await allPages(service, account, path, 'templates', 1)).toEqual([
    {
      name: 'zulu',
      variables: [
        { key: 'name', required: true },
        { key: 'code', required: true },
      ],
      ...oneSegment,
      setAt: expect.any(String),
    },
    { name: 'alpha', variables: [], ...oneSegment, setAt: expect.any(String) },
    { name: 'mike', variables: [{ key: 'a', required: true }], ...oneSegment, setAt: expect.any(String) },
  ])
  // Templates of the same moment are in the order of their names.
  await db.update(templates).set({ setAt: new Date() }).where(eq(templates.channelId, channelId))
  const names = (await allPages(service, account, path, 'templates', 1)).map(({ name }) => name)
  expect(names).toEqual(['alpha', 'mike', 'zulu'])
})

test('lists come by pages, each item exactly once, whatever the limit', async () => {
  const account = await buildAccount(service)
  const { accountId } = account
  const channelIds = [account.channelId]
  const flowIds = [account.flowId]
  for (let n = 0; n < 6; n++) {
    channelIds.push(await buildChannel(service, accountId))
    flowIds.push(await createFlow(service.runtime.db, accountId, `Flow ${n}`))
  }
  await service.runtime.db.execute(
    sql`update channels set created_at = date_trunc('second', created_at) where account_id = ${accountId}`,
  )
  for (const limit of [1, 2, 6, 7, 100]) {
    const channels = await allPages(service, account, '/v1/channels', 'channels', limit)
    expect(channels.map(({ channelId }) => channelId)).toEqual(channelIds)
    const flows = await allPages(service, account, '/v1/flows', 'flows', limit)
    expect(flows.map(({ flowId }) => flowId)).toEqual(flowIds)
  }
  const [{ flowId, ...flow }] = await allPages(service, account, '/v1/flows', 'flows')
  expect([flowId, flow]).toEqual([account.flowId, { name: 'Test' }])
})

test('a place of another account, of another list or by hand reveals nothing', async () => {
  const [account, foreign] = [await buildAccount(service), await buildAccount(service)]
  await buildChannel(service, foreign.accountId)
  await createFlow(service.runtime.db, account.accountId, 'Second')
  const { body: theirs } = await ask(service, foreign, 'GET', '/v1/channels?limit=1')
  const { body: flows } = await ask(service, account, 'GET', '/v1/flows?limit=1')
  const ids = (await ask(service, account, 'GET', `/v1/channels?after=${theirs.next}`)).body.channels.map(
    ({ channelId }: { channelId: string }) => channelId,
  )
  expect([[], [account.channelId]]).toContainEqual(ids)
  const byHand = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const { channelId } = account
  for (const after of [
    flows.next,
    '',
    'x',
    byHand(null),
    byHand(['channels']),
    byHand(['channels', '1', 'x']),
    byHand(['channels', '-1', channelId]),
    byHand(['channels', '9'.repeat(18), channelId]),
    byHand(['channels', '1', channelId, 'more']),
    byHand(['channels', 1, channelId]),
  ])
    expectError(
      await ask(service, account, 'GET', `/v1/channels?after=${after}`),
      400,
      'after: has to be the `next` of a page',
    )
})

const routes = ['/v1/channels', '/v1/channels/:id', '/v1/channels/:id/templates', '/v1/flows']
const at = (route: string, id: string) => route.replace(':id', id)

test.each(routes)('%s is for a key that may send or read, and no other', async (route) => {
  const account = await buildAccount(service)
  const path = at(route, account.channelId)
  for (const permission of ['messages:send', 'messages:read'] as const) {
    const key = await buildKey(service, account.accountId, { permissions: [permission] })
    expect((await ask(service, key, 'GET', path)).status).toBe(200)
  }
  expect((await ask(service, account, 'HEAD', path)).status).toBe(200)
  const other = await buildKey(service, account.accountId, { permissions: ['endpoints:manage'] })
  expectError(
    await ask(service, other, 'GET', path),
    403,
    'This API key lacks the permission messages:send or messages:read.',
  )
  const revoked = await buildKey(service, account.accountId, { revoked: true })
  expectError(await ask(service, revoked, 'GET', path), 401)
  expectError(await ask(service, { apiKey: 'omk_x' }, 'GET', path), 401)
})

test.each(routes.filter((route) => route.includes(':id')))(
  '%s of another account answers as an absent one',
  async (route) => {
    const [account, foreign] = [await buildAccount(service), await buildAccount(service)]
    for (const id of [absentId, foreign.channelId, 'x', '%00', foreign.channelId.toUpperCase()])
      expectError(await ask(service, account, 'GET', at(route, id)), 404, 'Channel not found')
  },
)

test.each(routes.filter((route) => route !== '/v1/channels/:id'))(
  '%s names each parameter that it can’t take',
  async (route) => {
    const account = await buildAccount(service)
    const get = (query: string) => ask(service, account, 'GET', `${at(route, account.channelId)}?${query}`)
    for (const limit of ['0', '101', '1e1', '-1', '', '2.5', '99999999999999999999'])
      expectError(await get(`limit=${limit}`), 400, 'limit: has to be a whole number from 1 to 100')
    expectError(await get('limit=1&limit=1'), 400, 'limit: given more than once')
    expectError(await get('status=ready'), 400, 'status: unknown parameter')
  },
)

test('each request counts for the rate limit of the account, once it is found good', async () => {
  const account = await buildAccount(service, { rateLimit: { points: 2, seconds: 60 } })
  expectError(await ask(service, account, 'GET', '/v1/channels?limit=0'), 400)
  expectError(await ask(service, account, 'GET', `/v1/channels/${absentId}`), 404)
  const { headers } = await ask(service, account, 'GET', '/v1/channels')
  expect(headers.get('RateLimit')).toMatch(/^"default";r=1;t=\d+$/)
  expect(headers.get('RateLimit-Policy')).toBe('"default";q=2;w=60')
  expect((await ask(service, account, 'GET', `/v1/channels/${account.channelId}`)).status).toBe(200)
  const over = await ask(service, account, 'GET', '/v1/flows')
  expectError(over, 429)
  expect(Number(over.headers.get('Retry-After'))).toBeGreaterThan(0)
})

test('a channel with a fallback shows it, and when its sends go on by it', async () => {
  const { db } = service.runtime
  const account = await buildAccount(service)
  const { channelId } = account
  const second = await buildChannel(service, account.accountId)
  await updateChannel(db, channelId, { fallbackChannelId: second })
  const read = async () => (await ask(service, account, 'GET', `/v1/channels/${channelId}`)).body.fallback
  expect(await read()).toEqual({ channelId: second, on: ['failed', 'undelivered'], withinSeconds: 3600 })
  await updateChannel(db, channelId, { fallbackOn: ['undelivered'], fallbackWithinSeconds: 60 })
  expect(await read()).toEqual({ channelId: second, on: ['undelivered'], withinSeconds: 60 })
})
