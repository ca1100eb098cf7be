import { readFileSync } from 'node:fs'
import { sql } from 'drizzle-orm'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { setTemplate } from '../../db/accounts/templates.ts'
import { setCeilings } from '../../db/ceilings/ceilings.ts'
import { replaySend } from '../../db/sends/replays.ts'
import { eraseSends } from '../../db/upkeep/erase.ts'
import { createApp } from '../../src/api/app.ts'
import { smallBytes } from '../../src/api/body/large/large-bodies.ts'
import { timeouts } from '../../src/api/http/client-timeouts.ts'
import { openApiDocument } from '../../src/api/openapi/document.ts'
import { faultyQuery, refusalsOf } from '../../src/api/openapi/refusals.ts'
import { maxReceiptBytes } from '../../src/api/receipts/read-request.ts'
import { exampleBodies, exampleIds } from '../../src/api/routes/examples.ts'
import type { Route } from '../../src/api/routes/route.ts'
import { routes, templateOf } from '../../src/api/routes.ts'
import { permissions } from '../../src/core/accounts/api-key.ts'
import { maxEndpointsOfAccount } from '../../src/core/callbacks/callback.ts'
import { mintMediaLink } from '../../src/core/messages/media-link.ts'
import { unsubscribeKey, unsubscribeLink } from '../../src/core/messages/unsubscribe.ts'
import { Readiness } from '../../src/platform/health/readiness.ts'
import { absentId } from '../support/absent-id.ts'
import type { Answer } from '../support/answer.ts'
import {
  type Account,
  accept,
  buildAccount,
  buildKey,
  request,
  sameBody,
  textBody,
} from '../support/builders.ts'
import { buildEndpoint } from '../support/endpoints.ts'
import { inSeconds } from '../support/later.ts'
import { samples } from '../support/media-samples.ts'
import { documentSettings, faultBy, validateAnswer } from '../support/openapi.ts'
import { buildProviderChannel } from '../support/provider-channel.ts'
import { rawBytes, rawRequest } from '../support/raw-http.ts'
import { whatsAppConfig } from '../support/receipts.ts'
import { finishedTimeline, soonReconciled, startTestService, type TestService } from '../support/service.ts'
import { closedPort } from '../support/tcp-proxy.ts'
import { eventually } from '../support/wait.ts'
import { webhookSecret } from '../support/webhook-receiver.ts'

const publicBaseUrl = 'https://messages.example.com'
const document = openApiDocument({ ...documentSettings, RATE_LIMIT_POINTS: 1 })

let service: TestService
/** Has the same settings but for limits that are soon reached. */
let narrow: TestService
/** A PostgreSQL URL without a server. */
let cutOff: TestService
let account: Account

beforeAll(async () => {
  const settings = { PUBLIC_BASE_URL: publicBaseUrl }
  service = await startTestService(settings)
  narrow = await startTestService(
    { ...settings, RATE_LIMIT_POINTS: '1', AUTH_FAILURE_LIMIT: '1' },
    service.stores,
    { ...timeouts, testedMs: 100, bodyGraceMs: 100 },
  )
  const nowhere = `postgres://u:p@127.0.0.1:${await closedPort()}/x`
  cutOff = await startTestService({ ...settings, DATABASE_URL: nowhere }, service.stores)
  account = await buildAccount(service, { permissions: [...permissions] })
})
afterAll(async () => {
  await Promise.all([service.stop(), narrow.stop(), cutOff.stop()])
})

const bearer = (apiKey: string) => ({ Authorization: `Bearer ${apiKey}` })

/** Asks, and holds the answer against the document. */
async function ask(
  at: TestService,
  method: string,
  path: string,
  init: { headers?: Record<string, string>; body?: unknown } = {},
): Promise<Answer> {
  const { body, headers = {} } = init
  const type = body === undefined ? {} : { 'Content-Type': 'application/json' }
  const answer = await request(at, path, {
    method,
    headers: { ...bearer(account.apiKey), ...type, ...headers },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  validateAnswer(method, path, answer.status, answer.body, answer.headers)
  return answer
}

const endpoints = ['/v1/messages', '/v1/channels/{channelId}/messages'] as const

const cancelTemplate = '/v1/messages/{requestId}/cancel'

/** Posts a send by either route, or as the only one of a batch; or cancels an absent one. */
function send(
  template: string,
  body: object,
  at = service,
  headers: Record<string, string> = {},
  to = account.channelId,
) {
  if (template === cancelTemplate) return ask(at, 'POST', template.replace('{requestId}', absentId))
  if (template === '/v1/messages/batch') return batch([body], at, headers, to)
  return template === '/v1/messages'
    ? ask(at, 'POST', template, { headers, body: { channelId: to, ...body } })
    : ask(at, 'POST', template.replace('{channelId}', to), { headers, body })
}

function batch(
  bodies: readonly object[],
  at = service,
  headers: Record<string, string> = {},
  to = account.channelId,
) {
  const messages = bodies.map((body) => ({ channelId: to, ...body }))
  return ask(at, 'POST', '/v1/messages/batch', { headers, body: { messages } })
}

test('the document has the routes of the service, and no other', () => {
  const routes = createApp(service.api).routes.filter(({ method }) => method !== 'ALL')
  const served = routes.map(
    ({ method, path }) => `${method} ${path.replace(/:(\w+)/g, '{$1}').replace(/(.)\/$/, '$1')}`,
  )
  const documented = Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
  )
  expect(documented.filter((route) => !route.startsWith('HEAD ')).sort()).toEqual([...new Set(served)].sort())
})

describe.each(endpoints)('%s', (template) => {
  test.each(Object.entries(exampleBodies))('the example %s is accepted', async (_name, { value }) => {
    const body = 'flowId' in value ? { ...value, flowId: account.flowId } : value
    expect((await send(template, body)).status).toBe(202)
  })
})

test('each answer that does not depend on a fault is as documented', async () => {
  const headers = { 'Idempotency-Key': 'once' }
  const { body } = await send('/v1/messages', sameBody(), service, headers)
  const again = await send('/v1/messages', sameBody(), service, headers)
  expect(again.headers.get('Idempotent-Replayed')).toBe('true')
  for (const method of ['GET', 'HEAD']) {
    expect((await ask(service, method, `/v1/messages/${body.requestId}`)).status).toBe(200)
    expect((await ask(service, method, '/healthz')).status).toBe(200)
    expect((await ask(service, method, '/readyz')).status).toBe(200)
    expect((await ask(service, method, '/openapi.json')).status).toBe(200)
    expect((await ask(service, method, '/nowhere')).status).toBe(404)
  }
})

test('a media link answers as documented', async () => {
  const requestId = await accept(service, account, exampleBodies.mediaByBase64.value)
  const expiresAt = new Date(Date.now() + 60_000)
  const link = mintMediaLink(publicBaseUrl, requestId, expiresAt, service.runtime.settings.CREDENTIALS_KEY)
  const { pathname } = new URL(link)
  for (const method of ['GET', 'HEAD']) {
    const { status, headers } = await fetch(service.url + pathname, { method })
    expect(status).toBe(200)
    validateAnswer(method, pathname, status, undefined, headers)
  }
})

test('a move, and a cancel of many, answer as documented', async () => {
  const { value } = exampleBodies.later
  const requestId = await accept(service, account, { ...value, flowId: account.flowId })
  const moved = await ask(service, 'PATCH', `/v1/messages/${requestId}`, { body: { sendAt: value.sendAt } })
  expect(moved.body).toMatchObject({ requestId, sendAt: new Date(value.sendAt).toISOString() })
  for (const body of [{ flowId: account.flowId }, { reference: 'of none', after: null }])
    expect((await ask(service, 'POST', '/v1/messages/cancel', { body })).body.next).toBeNull()
})

test('a batch, its repeat, a cancel and pages of a list answer as documented', async () => {
  const bodies = [exampleBodies.text.value, exampleBodies.later.value]
  const headers = { 'Idempotency-Key': 'a batch' }
  const first = await batch(bodies, service, headers)
  const again = await batch(bodies, service, headers)
  expect([first.status, again.status]).toEqual([202, 202])
  expect(again.body).toEqual(first.body)
  const [, later] = first.body.messages
  expect((await ask(service, 'GET', `/v1/messages/${later.requestId}`)).body.events).toMatchObject([
    { event: 'accepted' },
    { event: 'scheduled' },
  ])
  const canceled = await ask(service, 'POST', cancelTemplate.replace('{requestId}', later.requestId))
  expect(canceled.body).toEqual({ requestId: later.requestId, status: 'canceled' })
  expect((await ask(service, 'GET', `/v1/messages/${later.requestId}`)).body.events.at(-1)).toMatchObject({
    event: 'canceled',
  })
  const page = await ask(service, 'GET', '/v1/messages?limit=1')
  expect(page.body.messages).toMatchObject([{ requestId: later.requestId, status: 'canceled' }])
  const next = await ask(service, 'GET', `/v1/messages?limit=1&after=${page.body.next}`)
  expect(next.body.messages).toHaveLength(1)
  expect((await ask(service, 'HEAD', '/v1/messages')).status).toBe(200)
})

test('the timelines of sends that went well, were retried, refused, uncertain, replayed and erased are as documented', async () => {
  const contacts = ['+15550100199', '+15550100102', '+15550100103', '+15550100105', 'ann@example.com']
  const requestIds = await Promise.all(
    contacts.map((contact) =>
      accept(service, account, { ...textBody('Hello', contact), closeConversation: true }),
    ),
  )
  const worker = await service.startWorker('test-worker', { times: soonReconciled })
  for (const id of requestIds) await finishedTimeline(service, id, account.apiKey)
  const [, , refused = ''] = requestIds
  await replaySend(service.runtime.db, refused)
  await eventually('its second end', async () => {
    const { body } = await ask(service, 'GET', `/v1/messages/${refused}`)
    return body.attempts === 2 && body.finishedAt !== null
  })
  await worker.stop()
  const timelines = await Promise.all(requestIds.map((id) => ask(service, 'GET', `/v1/messages/${id}`)))
  await eraseSends(service.runtime.db, requestIds)
  timelines.push(...(await Promise.all(requestIds.map((id) => ask(service, 'GET', `/v1/messages/${id}`)))))
  const seen = new Set(
    timelines.flatMap(({ body }) => body.events.map(({ event }: { event: string }) => event)),
  )
  expect([...seen].sort()).toEqual(
    [
      ...['accepted', 'attempt_finished', 'attempt_started', 'conversation_closed', 'erased', 'failed'],
      ...['replayed', 'retry_scheduled', 'sent', 'uncertain'],
    ].sort(),
  )
})

test('what the reference shows of answers is of the forms that are documented', () => {
  const pages = ['api', 'errors', 'timeline'].map((page) => readFileSync(`docs/reference/${page}.md`, 'utf8'))
  const shown = [...pages.join('\n').matchAll(/```json\n(.*?)```/gs)].map(([, json = '']) => JSON.parse(json))
  const errors = shown.filter((value) => 'statusCode' in value)
  const timelines = shown.filter((value) => 'events' in value)
  const events = shown.filter(Array.isArray).flat()
  for (const [schema, values] of Object.entries({
    Error: errors,
    Timeline: timelines,
    TimelineEvent: events,
  })) {
    expect(values).not.toEqual([])
    for (const value of values) expect(faultBy(schema, value), JSON.stringify(value)).toBeUndefined()
  }
})

/** How each refusal that the document has an example of is met with. */
const refusals: Record<string, (template: string, method: string) => Answer | Promise<Answer>> = {
  noSuchGuide: () => ask(service, 'GET', '/docs/absent'),
  notHttp: () => rawBytes(service, 'not HTTP at all\r\n\r\n'),
  wrongMethod: (template) => ask(service, methodOfNone, template.replace(/\{\w+\}/, absentId)),
  unauthorized: (template, method) =>
    ask(service, method, template.replace(/\{\w+\}/, absentId), { headers: bearer('omk_x') }),
  forbidden: async (template, method) => {
    const { apiKey } = await buildKey(service, account.accountId, { permissions: [] })
    return await ask(service, method, template.replace(/\{\w+\}/, absentId), { headers: bearer(apiKey) })
  },
  tooManyFaultyKeys: async (template, method) => {
    const faulty = () =>
      ask(narrow, method, template.replace(/\{\w+\}/, absentId), { headers: bearer('omk_x') })
    await faulty()
    return await faulty()
  },
  tooManyByKey: async (template, method) => {
    const { apiKey } = await buildKey(service, account.accountId, { permissions: [] })
    const path = template.replace(/\{\w+\}/, absentId)
    const refused = () => ask(narrow, method, path, { headers: bearer(apiKey) })
    for (let n = 0; n < 10; n++) expect((await refused()).status).toBe(403)
    return await refused()
  },
  unavailable: async (template, method) => {
    const { CREDENTIALS_KEY, API_KEY_PEPPER } = service.runtime.settings
    const expiresAt = new Date(Date.now() + 60_000)
    const mail = { requestId: absentId, channelId: absentId, address: 'ann@example.com' }
    const links: Record<string, string> = {
      '/media/{token}': mintMediaLink(publicBaseUrl, absentId, expiresAt, CREDENTIALS_KEY),
      '/unsubscribe/{token}': unsubscribeLink(publicBaseUrl, mail, unsubscribeKey(API_KEY_PEPPER)),
    }
    const link = links[template]
    const path = link ? new URL(link).pathname : template.replace(/\{\w+\}/, absentId)
    return await ask(cutOff, method, path)
  },
  crashed: async (template, method) => {
    const rename = (from: string, to: string) =>
      service.runtime.db.execute(
        sql.raw(
          (readBy[template] ?? ofAccounts)
            .map((table) => `alter table ${table} rename column ${from} to ${to}`)
            .join(';'),
        ),
      )
    await rename('account_id', 'elsewhere')
    const path = template.replace(/\{\w+\}/, absentId) + (neededQueries[template] ?? '')
    return await ask(service, method, path, bodyOf(template, method)).finally(() =>
      rename('elsewhere', 'account_id'),
    )
  },
  faultyQuery: async (template) => ask(service, 'GET', `${await pathOf(template)}?${faultyQuery}`),
  wrongDryRun: (template, method) => {
    const one = template.includes('{') ? textBody() : { channelId: account.channelId, ...textBody() }
    const body = template.endsWith('/batch') ? { messages: [one] } : one
    return ask(service, method, `${template.replace(/\{\w+\}/, account.channelId)}?dryRun=yes`, { body })
  },
  notJson: (template, method) =>
    ask(service, method, template.replace(/\{\w+\}/, account.channelId), { body: '{' }),
  tooLarge: (template, method) => {
    const { MAX_BODY_BYTES } = service.runtime.settings
    const takesLarge = isSend(template) || template === cancelTemplate
    const bytes = takesLarge ? MAX_BODY_BYTES : smallBytes
    return rawRequest(service, {
      method,
      path: template.replace(/\{\w+\}/, account.channelId),
      headers: { ...bearer(account.apiKey), 'Content-Length': bytes + 1 },
      keepOpen: true,
    })
  },
  otherType: (template, method) =>
    rawRequest(service, {
      method,
      path: template.replace(/\{\w+\}/, account.channelId),
      headers: { ...bearer(account.apiKey), 'Content-Type': 'text/plain', 'Content-Length': 2 },
      chunks: ['{}'],
    }),
  encoded: (template, method) =>
    ask(service, method, template.replace(/\{\w+\}/, account.channelId), {
      headers: { 'Content-Encoding': 'gzip' },
      body: '{',
    }),
  tooSlow: async (template, method) => {
    const path = template.startsWith('/receipts') ? await receiptsPath(template) : template
    const { apiKey } = await buildKey(service, account.accountId, { permissions: [...permissions] })
    return await rawRequest(narrow, {
      method,
      path: path.replace(/\{\w+\}/, account.channelId),
      headers: { ...bearer(apiKey), 'Content-Type': 'application/json', 'Content-Length': 100 },
      chunks: ['{'],
      keepOpen: true,
    })
  },
  wrongKey: async (template, method) => {
    const headers = { 'Idempotency-Key': '""' }
    return isSend(template)
      ? await send(template, textBody(), service, headers)
      : await ask(service, method, template, { headers, ...bodyOf(template, method) })
  },
  otherContent: (template) => {
    const media = { mediaType: 'video', base64: samples.png.toString('base64') }
    return send(template, { ...textBody(), message: { type: 'media', media } })
  },
  unreadable: async (template, method) => {
    const config = { url: 'https://example.com', secret: webhookSecret }
    const channelId = await buildProviderChannel(service, account.accountId, 'webhook', config)
    const at = new Date()
    const headers = {
      'webhook-id': 'msg_1',
      'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
      'webhook-signature': new Webhook(webhookSecret).sign('msg_1', at, '{'),
    }
    return await ask(service, method, template.replace(/\{\w+\}/, channelId), { headers, body: '{' })
  },
  noFlow: (template) => send(template, { ...textBody(), flowId: absentId }),
  tooMuchForChannel: async (template) => {
    const config = { accountSid: `AC${'0a'.repeat(16)}`, authToken: 'token', from: '+15550100100' }
    const channelId = await buildProviderChannel(service, account.accountId, 'twilio', config)
    return await send(template, textBody('a'.repeat(1601)), service, {}, channelId)
  },
  wrongVariables: async (template) => {
    const { channelId } = account
    const definition = { text: 'Hello {{name}}' }
    await setTemplate(service.runtime.db, { channelId, name: 'greeting', definition })
    const variables = [{ key: 'nmae', value: 'Ann' }]
    const message = { type: 'template', template: { name: 'greeting', variables } }
    return await send(template, { ...textBody(), message })
  },
  channelNotFound: (template) => send(template, textBody(), service, {}, absentId),
  keyUsedBefore: async (template) => {
    const headers = { 'Idempotency-Key': `for ${template}` }
    const post = (text: string) =>
      isSend(template)
        ? send(template, textBody(text), service, headers)
        : ask(service, 'POST', template, { headers, body: { url: `https://example.com/${text}` } })
    const first = await post('first')
    const { body, ...answer } = await post('second')
    const message = body.message.replace(first.body.requestId, exampleIds.firstRequestId)
    return { ...answer, body: { ...body, message } }
  },
  beyondCeiling: async (template) => {
    const { accountId, channelId, apiKey } = await buildAccount(service)
    const ceiling = { amount: 1, unit: 'messages', period: 'day' } as const
    await setCeilings(service.runtime.db, { ownerId: accountId, accountId }, [ceiling])
    const post = () => send(template, textBody(), service, bearer(apiKey), channelId)
    await post()
    const { body, ...answer } = await post()
    const message = body.message.replace('of 1 ', 'of 10000 ').replace(/\d{4}-\d\d-\d\d/, '2026-11-22')
    return { ...answer, body: { ...body, message } }
  },
  tooManyRequests: async (template, method) => {
    const request = async () =>
      isSend(template)
        ? await send(template, textBody(), narrow)
        : await ask(narrow, method, await pathOf(template), bodyOf(template, method))
    await request()
    return await request()
  },
  endpointNotFound: (template, method) =>
    ask(service, method, template.replace(/\{\w+\}/, absentId), bodyOf(template, method)),
  suppressionNotFound: (template, method) => ask(service, method, template.replace(/\{\w+\}/, absentId)),
  accountIsFull: async (template) => {
    const { apiKey } = await buildAccount(service, { permissions: ['endpoints:manage'] })
    const create = () =>
      ask(service, 'POST', template, { headers: bearer(apiKey), ...bodyOf(template, 'POST') })
    for (let n = 0; n < maxEndpointsOfAccount; n++) await create()
    return await create()
  },
  notTestable: async (template, method) => {
    const path = await pathOf(template)
    await ask(service, 'POST', path.replace('/test', '/disable'))
    return await ask(service, method, path)
  },
  notTested: async (template, method) => {
    const by = await buildAccount(service, { permissions: ['endpoints:manage'] })
    return await ask(narrow, method, await pathOf(template, by.accountId), { headers: bearer(by.apiKey) })
  },
  tooLargeReceipts: (template) =>
    rawRequest(service, {
      path: template.replace(/\{\w+\}/, absentId),
      headers: { 'Content-Length': maxReceiptBytes + 1 },
      keepOpen: true,
    }),
  notProven: async (template, method) => ask(service, method, await receiptsPath(template)),
  noSuchChannel: (template, method) => {
    const contact = { value: 'ann@example.com' }
    const body = method === 'POST' ? { body: { contact, channelId: absentId } } : {}
    return ask(service, method, template.replace(/\{\w+\}/, absentId), body)
  },
  tooManyUnproven: async (template, method) => {
    const path = await receiptsPath(template)
    await ask(narrow, method, path)
    return await ask(narrow, method, path)
  },
  wrongMethodOfCheck: async (template) => {
    const config = { url: 'https://example.com', secret: webhookSecret }
    const channelId = await buildProviderChannel(service, account.accountId, 'webhook', config)
    return await ask(service, 'GET', template.replace(/\{\w+\}/, channelId))
  },
  channelsNotFound: () => batch([textBody(), textBody(), textBody(), { ...textBody(), channelId: absentId }]),
  async beyondWholeLimit() {
    const { apiKey, channelId } = await buildAccount(service, { rateLimit: { points: 50, seconds: 60 } })
    return await batch(
      Array.from({ length: 51 }, () => textBody()),
      service,
      bearer(apiKey),
      channelId,
    )
  },
  content: (template) => ask(service, 'POST', template.replace(/\{\w+\}/, absentId), { body: { a: 1 } }),
  async notCancelable(template) {
    const requestId = await accept(service, account, textBody())
    const { db } = service.runtime
    await db.execute(
      sql`update sends set status = 'sent', finished_at = now() where request_id = ${requestId}`,
    )
    return await ask(service, 'POST', template.replace(/\{\w+\}/, requestId))
  },
  async notMovable(template) {
    const path = template.replace(/\{\w+\}/, await accept(service, account, textBody()))
    return await ask(service, 'PATCH', path, { body: { sendAt: inSeconds(60) } })
  },
  async otherContact(template) {
    const channelId = await buildProviderChannel(service, account.accountId, 'whatsapp-cloud', whatsAppConfig)
    const body = { ...textBody(), sendAt: inSeconds(3600) }
    const path = template.replace(/\{\w+\}/, await accept(service, { ...account, channelId }, body))
    const contact = { type: 'email', value: 'ann@example.com' }
    return await ask(service, 'PATCH', path, { body: { contact } })
  },
  messageNotFound: (template, method) =>
    ask(service, method, template.replace(/\{\w+\}/, absentId), bodyOf(template, method)),
  noSuchLink: (template, method) => ask(service, method, template.replace(/\{\w+\}/, 'x')),
  mediaNotFound: (_template, method) => ask(service, method, '/media/x'),
  noDatabase: () => ask(cutOff, 'GET', '/readyz'),
  draining: async () => {
    const readiness = new Readiness(service.api)
    readiness.drain()
    const response = await createApp(service.api, readiness).request(
      '/readyz',
      {},
      { incoming: { headers: {} } },
    )
    return { status: response.status, headers: response.headers, body: await response.json() }
  },
}

const routeAt = (template: string, method: string) =>
  Object.values<Route>(routes).find(
    (route) => templateOf(route.path) === template && route.method === method.toLowerCase(),
  )

/** Posts the body that the table of routes has for an example of a refusal. */
async function byFault(name: string, template: string, method: string): Promise<Answer> {
  const fault = routeAt(template, method)?.body?.faults?.[name]
  if (!fault) throw new Error(`Nobody knows how to bring about the example ${name}`)
  return await ask(service, method, await pathOf(template), { body: fault.value })
}

const isSend = (template: string) => routeAt(template, 'POST')?.limit === 'send'

/** No route takes it. */
const methodOfNone = 'PUT'

/** The path with an id of the account's: of its channel, or of a new endpoint. */
async function pathOf(template: string, accountId = account.accountId): Promise<string> {
  if (!template.includes('{endpointId}')) return template.replace(/\{\w+\}/, account.channelId)
  await service.runtime.db.execute(sql`delete from endpoints where account_id = ${accountId}`)
  const { endpointId } = await buildEndpoint(service, accountId, 'https://example.com/callbacks')
  return template.replace('{endpointId}', endpointId)
}

/** The first example of what the route takes. */
function bodyOf(template: string, method: string): { body?: unknown } {
  const [example] = Object.values(routeAt(template, method)?.body?.examples ?? {})
  return example ? { body: example.value } : {}
}

/** Tables of which each route of an account reads one at least, but for those below. */
const ofAccounts = ['sends', 'scheduled_sends', 'channels', 'flows', 'endpoints', 'suppressions']
const readBy: Record<string, string[]> = { '/v1/key': ['api_keys'], '/v1/usage': ['usage_counts'] }

/** Of routes that refuse a path without a query. */
const neededQueries: Record<string, string> = { '/v1/usage': '?from=2026-10-01&to=2026-11-01' }

/** The path of a channel that takes receipts. */
async function receiptsPath(template: string): Promise<string> {
  const channelId = await buildProviderChannel(service, account.accountId, 'whatsapp-cloud', whatsAppConfig)
  return template.replace(/\{\w+\}/, channelId)
}

/** The code that the table of the errors has for the example of a refusal. */
function codeOf(template: string, method: string, name: string): string | undefined {
  const route = routeAt(template, method === 'HEAD' ? 'GET' : method)
  return route && refusalsOf(route)[name]?.error(documentSettings).code
}

interface Example {
  path: string
  method: string
  name: string
  value: { requestId: string }
}

/** Whether no test can bring this refusal about on its route, although every route may answer it. */
const isOutOfReach = ({ path, name }: Example) => name === 'crashed' && !path.startsWith('/v1/')

const examples = Object.entries(document.paths).flatMap(([path, operations]) =>
  Object.entries(operations).flatMap(([method, { responses }]) =>
    Object.values(responses).flatMap(({ content }) => {
      const json = content?.['application/json'] as { examples?: Record<string, { value: Example['value'] }> }
      return Object.entries(json?.examples ?? {}).map(
        ([name, { value }]): Example => ({ path, method: method.toUpperCase(), name, value }),
      )
    }),
  ),
)

test.each(examples.filter((example) => !isOutOfReach(example)))(
  '$method $path: the example $name is what the service answers',
  async ({ path, method, name, value }) => {
    const { status, headers, body } = await (refusals[name]?.(path, method) ?? byFault(name, path, method))
    const asked = name === 'wrongMethod' ? methodOfNone : method
    validateAnswer(asked, path, status, body, headers)
    const code = codeOf(path, method, name)
    expect([headers.get('Error-Code'), headers.get('Link')]).toEqual([
      code,
      `<${publicBaseUrl}/docs/errors#${code}>; rel="help"`,
    ])
    if (method === 'HEAD' && name !== 'wrongMethod' && name !== 'notHttp') return
    expect({ ...body, requestId: value.requestId }).toEqual(value)
  },
)
