import { desc, eq } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createAccount } from '../../db/accounts/accounts.ts'
import { findEndpoint, listEndpoints } from '../../db/callbacks/endpoints.ts'
import { audit } from '../../db/schema.ts'
import { startTestAdmin, type TestAdmin } from '../support/admin.ts'
import { expectOnlyOurMarkup } from '../support/pages.ts'
import { ask, buildPerson, signIn } from '../support/people.ts'
import { startTestService, type TestService, testSecrets } from '../support/service.ts'
import { eventually } from '../support/wait.ts'
import { answer, openWebhookReceiver, type WebhookReceiver } from '../support/webhook-receiver.ts'

const local = { CLIENT_PRIVATE_NETWORKS: '127.0.0.0/8', ALLOWED_PRIVATE_NETWORKS: '127.0.0.0/8' }
let service: TestService
let admin: TestAdmin
let receiver: WebhookReceiver
let headers: { Cookie: string }
let accountId: string

beforeAll(async () => {
  service = await startTestService(local)
  admin = await startTestAdmin(service, { ...testSecrets, ...local })
  receiver = await openWebhookReceiver()
  await buildPerson(service, 'Oz', 'operator')
  headers = await signIn(admin, 'Oz')
  accountId = await createAccount(service.runtime.db, 'Acme')
  await service.startWorker()
})
afterAll(async () => {
  await admin.stop()
  await service.stop()
  await receiver.stop()
})

const get = (path: string) => ask(admin, path, { headers })
const post = (path: string, form: Record<string, string>) => ask(admin, path, { headers, form })
const lastChange = async (target: string) => {
  const rows = service.runtime.db.select().from(audit).where(eq(audit.target, target))
  return (await rows.orderBy(desc(audit.at), desc(audit.id)).limit(1))[0]
}

async function newEndpoint(url: string): Promise<string> {
  const { status, html } = await post(`/endpoints/new?accountId=${accountId}`, { url })
  expect(status).toBe(200)
  return /href="\/endpoints\/([\w-]{36})"/.exec(html)?.[1] ?? ''
}

test('a new endpoint shows its secret once, and takes the chosen changes', async () => {
  expect((await get(`/endpoints/new?accountId=${accountId}`)).text).toContain(
    'Gets callbacks about the sends of Acme',
  )
  const form = { url: 'https://hooks.example.com/in?token=hidden', events: 'message.failed' }
  const { html, text } = await post(`/endpoints/new?accountId=${accountId}`, form)
  expectOnlyOurMarkup(html)
  const [secret = ''] = /whsec_[\w+/=]+/.exec(text) ?? []
  const [endpoint] = await listEndpoints(service.runtime.db, accountId)
  expect(endpoint).toMatchObject({ url: form.url, events: ['message.failed'] })
  const { text: page, html: pageHtml } = await get(`/endpoints/${endpoint?.endpointId}`)
  expect(page).not.toContain(secret)
  expect(pageHtml).not.toContain('hidden')
  const change = await lastChange(endpoint?.endpointId ?? '')
  expect(change).toMatchObject({ by: 'Oz', via: 'page', action: 'endpoint.create' })
  expect(JSON.stringify(change)).not.toMatch(/hidden|whsec_/)
})

test.each([
  [{ url: 'ftp://example.com' }, 'url'],
  [{ url: 'https://10.0.0.1/in' }, 'url'],
  [{ url: '' }, 'url'],
  [{ url: 'https://example.com', events: 'message.lost' }, 'events'],
])('%j is refused at its field', async (form, field) => {
  const { status, html } = await post(`/endpoints/new?accountId=${accountId}`, form as Record<string, string>)
  expect(status).toBe(400)
  expect(html).toContain(`id="${field}-issue"`)
  expectOnlyOurMarkup(html)
})

test('a change keeps the URL that was left empty; the audit has the old changes and the new ones', async () => {
  const id = await newEndpoint('https://hooks.example.com/in?token=hidden')
  const { html } = await get(`/endpoints/${id}/change`)
  expect(html).not.toContain('hidden')
  expect((await post(`/endpoints/${id}/change`, { url: '', events: 'message.sent' })).status).toBe(303)
  expect(await findEndpoint(service.runtime.db, id)).toMatchObject({
    url: 'https://hooks.example.com/in?token=hidden',
    events: ['message.sent'],
  })
  expect((await lastChange(id))?.details).toEqual({ events: ['message.sent'], eventsBefore: null })
})

test('a test event shows what the endpoint answered', async () => {
  const id = await newEndpoint(receiver.at(answer(204)))
  const { location = '' } = await post(`/endpoints/${id}/test`, {})
  expect(location).toMatch(new RegExp(`^/endpoints/${id}\\?test=`))
  await eventually('the result', async () =>
    (await get(location)).text.includes('it answered with the status 204'),
  )
  expect((await get(location)).html).not.toContain('http-equiv="refresh"')
  expect(await lastChange(id)).toMatchObject({ action: 'endpoint.test' })
})

test('another secret is shown once, after a question', async () => {
  const id = await newEndpoint('https://hooks.example.com/rotated')
  expect((await get(`/endpoints/${id}/rotate-secret`)).text).toContain(
    'Replace the secret of hooks.example.com?',
  )
  expect((await post(`/endpoints/${id}/rotate-secret`, { overlap: 'soon' })).status).toBe(400)
  const { text } = await post(`/endpoints/${id}/rotate-secret`, { overlap: '1h' })
  expect(text).toMatch(/whsec_[\w+/=]+/)
  expect(await lastChange(id)).toMatchObject({
    action: 'endpoint.rotate_secret',
    details: { overlapSeconds: 3600 },
  })
})

test('an endpoint is disabled, is not tested then, and is enabled again', async () => {
  const id = await newEndpoint('https://hooks.example.com/off')
  await post(`/endpoints/${id}/disable`, { reason: 'it moves' })
  expect((await post(`/endpoints/${id}/test`, {})).status).toBe(409)
  await post(`/endpoints/${id}/enable`, {})
  expect((await findEndpoint(service.runtime.db, id))?.disabledAt).toBeNull()
})

test('an endpoint is deleted after a question', async () => {
  const id = await newEndpoint('https://hooks.example.com/gone')
  expect((await get(`/endpoints/${id}/delete`)).text).toContain('Delete the endpoint hooks.example.com?')
  expect((await post(`/endpoints/${id}/delete`, {})).location).toBe('/endpoints')
  expect((await get(`/endpoints/${id}`)).status).toBe(404)
  expect(await lastChange(id)).toMatchObject({ by: 'Oz', action: 'endpoint.delete' })
})
