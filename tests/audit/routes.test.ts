import { eq } from 'drizzle-orm'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { audit } from '../../db/schema.ts'
import { addSuppression } from '../../db/suppression/entries.ts'
import { createApp } from '../../src/api/app.ts'
import { permissions } from '../../src/core/accounts/api-key.ts'
import { ask } from '../support/account-routes.ts'
import { type Account, accept, buildAccount, newContact, textBody } from '../support/builders.ts'
import { buildEndpoint } from '../support/endpoints.ts'
import { serviceOfFile, testSuppressionKey } from '../support/service.ts'
import { eventually } from '../support/wait.ts'
import { answer, openWebhookReceiver } from '../support/webhook-receiver.ts'

const service = await serviceOfFile({
  ALLOWED_PRIVATE_NETWORKS: '127.0.0.0/8',
  CLIENT_PRIVATE_NETWORKS: '127.0.0.0/8',
})
const { db } = service.runtime
let account: Account

beforeAll(async () => {
  account = await buildAccount(service, { permissions: [...permissions] })
  await service.startWorker()
})

const rows = () => db.select().from(audit)
const endpoint = async () =>
  (await buildEndpoint(service, account.accountId, 'https://example.com/in')).endpointId
const contact = () => ({ type: 'phone', value: newContact() }) as const

/** A send, alone or in a batch, and the changes of one send: its timeline records these. */
const ofSends = 'of sends'
type Case = () => Promise<{ path?: string; body?: object; action: string; target?: string }>

const toEndpoint =
  (action: string, rest: string, body?: object): Case =>
  async () => {
    const target = await endpoint()
    return { path: `/v1/endpoints/${target}${rest}`, ...(body && { body }), action, target }
  }

const routes: Record<string, typeof ofSends | Case> = {
  'POST /v1/messages': ofSends,
  'POST /v1/channels/:channelId/messages': ofSends,
  'POST /v1/messages/batch': ofSends,
  'PATCH /v1/messages/:requestId': ofSends,
  'POST /v1/messages/:requestId/cancel': ofSends,
  'POST /v1/messages/cancel': async () => {
    await accept(service, account, {
      ...textBody(),
      reference: 'order-4711',
      sendAt: new Date(Date.now() + 3_600_000).toISOString(),
    })
    return { body: { reference: 'order-4711' }, action: 'sends.cancel', target: account.accountId }
  },
  'POST /v1/endpoints': async () => ({
    body: { url: 'https://example.com/hidden' },
    action: 'endpoint.create',
  }),
  'PATCH /v1/endpoints/:endpointId': toEndpoint('endpoint.update', '', { url: 'https://example.org/hidden' }),
  'DELETE /v1/endpoints/:endpointId': toEndpoint('endpoint.delete', ''),
  'POST /v1/endpoints/:endpointId/enable': toEndpoint('endpoint.enable', '/enable'),
  'POST /v1/endpoints/:endpointId/disable': toEndpoint('endpoint.disable', '/disable'),
  'POST /v1/endpoints/:endpointId/rotate-secret': toEndpoint('endpoint.rotate_secret', '/rotate-secret'),
  'POST /v1/endpoints/:endpointId/resend': toEndpoint('endpoint.resend', '/resend', { since: '1h' }),
  'POST /v1/endpoints/:endpointId/test': async () => {
    const receiver = await openWebhookReceiver()
    onTestFinished(() => receiver.stop())
    const { endpointId: target } = await buildEndpoint(service, account.accountId, receiver.at(answer(204)))
    return { path: `/v1/endpoints/${target}/test`, action: 'endpoint.test', target }
  },
  'POST /v1/suppressions': async () => ({
    body: { contact: contact(), reason: 'hidden' },
    action: 'suppression.add',
  }),
  'DELETE /v1/suppressions/:suppressionId': async () => {
    const suppressed = { accountId: account.accountId, contact: contact(), channelId: null }
    const { entry } = await addSuppression(db, suppressed, 'hidden', testSuppressionKey)
    const target = entry.suppressionId
    return { path: `/v1/suppressions/${target}`, action: 'suppression.remove', target }
  },
}

test('for each route that may change something it is known whether the audit has it', () => {
  const changing = createApp(service.api)
    .routes.filter(({ method, path }) => path.startsWith('/v1/') && !['GET', 'HEAD', 'ALL'].includes(method))
    .map(({ method, path }) => `${method} ${path}`)
  expect([...new Set(changing)].sort()).toEqual(Object.keys(routes).sort())
})

const audited = Object.entries(routes).flatMap(([route, given]) =>
  given === ofSends ? [] : [{ route, given }],
)

test.each(audited)(
  '$route leaves one row, with the key, its account, the address and the target',
  async ({ route, given }) => {
    const [method = '', pattern = ''] = route.split(' ')
    // A slow machine answers with a 503: then all of it once more.
    const { answered, action, target } = await eventually('an answer in time', async () => {
      const { path = pattern, body, ...expected } = await given()
      await db.delete(audit)
      const answered = await ask(service, account, method, path, body)
      return answered.status !== 503 && { answered, ...expected }
    })
    expect(answered.status).toBeLessThan(300)
    const made = answered.body?.endpointId ?? answered.body?.suppressionId
    const { accountId, keyId, apiKey } = account
    expect(await rows()).toMatchObject([
      {
        by: apiKey.slice(0, 8),
        via: 'route',
        address: '127.0.0.1',
        action,
        target: target ?? made,
        details: { accountId, keyId },
      },
    ])
    const text = JSON.stringify(await rows())
    for (const hidden of ['hidden', '+49151', '4711', answered.body?.secret])
      if (hidden) expect(text).not.toContain(hidden)
  },
)

test('what changes nothing leaves no row: an entry that is there, an absent one, a refused body', async () => {
  const body = { contact: contact() }
  await ask(service, account, 'POST', '/v1/suppressions', body)
  await db.delete(audit)
  expect((await ask(service, account, 'POST', '/v1/suppressions', body)).status).toBe(201)
  const absent = '01a1fde0-fa4b-754d-8e02-ab49c67ccb75'
  for (const [method, path] of [
    ['DELETE', `/v1/suppressions/${absent}`],
    ['DELETE', `/v1/endpoints/${absent}`],
    ['POST', `/v1/endpoints/${absent}/enable`],
    ['POST', '/v1/endpoints'],
  ] as const)
    expect(
      (await ask(service, account, method, path, method === 'POST' ? {} : undefined)).status,
    ).toBeGreaterThanOrEqual(400)
  expect(await rows()).toEqual([])
})

test('a repeat by its Idempotency-Key leaves one row for one endpoint', async () => {
  await db.delete(audit)
  const create = () =>
    ask(
      service,
      account,
      'POST',
      '/v1/endpoints',
      { url: 'https://example.com/once' },
      { 'Idempotency-Key': 'once' },
    )
  const { endpointId } = (await create()).body
  expect((await create()).body.endpointId).toBe(endpointId)
  expect(await db.select().from(audit).where(eq(audit.target, endpointId))).toHaveLength(1)
})

test('a send leaves no row', async () => {
  await db.delete(audit)
  const requestId = await accept(service, account, {
    ...textBody(),
    sendAt: new Date(Date.now() + 3_600_000).toISOString(),
  })
  expect((await ask(service, account, 'POST', `/v1/messages/${requestId}/cancel`)).status).toBe(200)
  expect(await rows()).toEqual([])
})
