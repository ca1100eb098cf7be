import { v7 as uuidv7 } from 'uuid'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { addTest } from '../../db/callbacks/endpoint-tests.ts'
import { disableEndpoint } from '../../db/callbacks/endpoints.ts'
import { callbacks } from '../../db/schema.ts'
import { ceilingType } from '../../src/core/callbacks/callback.ts'
import { startTestAdmin, type TestAdmin } from '../support/admin.ts'
import { type Account, accept, buildAccount, textBody } from '../support/builders.ts'
import { buildEndpoint, callbacksOf, type Endpoint } from '../support/endpoints.ts'
import { getPage, postForm } from '../support/pages.ts'
import { soonReconciled, startTestService, type TestService } from '../support/service.ts'
import { eventually } from '../support/wait.ts'
import { answer, openWebhookReceiver, type WebhookReceiver } from '../support/webhook-receiver.ts'

let service: TestService
let admin: TestAdmin
let receiver: WebhookReceiver
let account: Account
let status = 503

beforeAll(async () => {
  service = await startTestService({
    ALLOWED_PRIVATE_NETWORKS: '127.0.0.0/8',
    CLIENT_PRIVATE_NETWORKS: '127.0.0.0/8',
    CALLBACK_RETRY_DELAYS_SECONDS: '3600',
  })
  admin = await startTestAdmin(service)
  receiver = await openWebhookReceiver()
  account = await buildAccount(service)
  await service.startWorker('of endpoints', { times: soonReconciled })
})
afterAll(async () => {
  await admin.stop()
  await service.stop()
  await receiver.stop()
})

const endpointOf = () =>
  buildEndpoint(
    service,
    account.accountId,
    `${receiver.at((request, response) => answer(status)(request, response))}?token=secret-token`,
  )
const page = (endpoint: Endpoint, rest = '') =>
  getPage(`${admin.url}/endpoints/${endpoint.endpointId}${rest}`)

async function tried(endpoint: Endpoint, times: number): Promise<void> {
  await eventually(`${times} tries`, async () => (await callbacksOf(service, endpoint))[0]?.tried === times)
}

test('the callbacks of a send: each try with its answer, and when the next is; never a URL as a whole', async () => {
  const endpoint = await endpointOf()
  const requestId = await accept(service, account, textBody())
  await tried(endpoint, 1)
  const { text, html, status: answered } = await getPage(`${admin.url}/support/${requestId}/callbacks`)
  expect(answered).toBe(200)
  for (const part of ['1 message.sent', '503', 'next try', '127.0.0.1']) expect(text).toContain(part)
  expect(html).toContain(`/endpoints/${endpoint.endpointId}`)
  expect(html).not.toContain('secret-token')
  expect((await getPage(`${admin.url}/support/${requestId}`)).html).toContain(
    `/support/${requestId}/callbacks`,
  )
})

test('an endpoint: since when it fails, what waits, its last answers', async () => {
  const endpoint = await endpointOf()
  const requestId = await accept(service, account, textBody())
  await tried(endpoint, 1)
  const { text } = await page(endpoint)
  for (const part of ['Calls to it fail.', 'Failing since', 'Waiting', '503', requestId, 'all'])
    expect(text).toContain(part)
  await disableEndpoint(service.runtime.db, endpoint.endpointId, 'by an operator')
  expect((await page(endpoint)).text).toContain('It is disabled: by an operator.')
  expect((await getPage(`${admin.url}/support/${requestId}/callbacks`)).text).toContain(
    'the endpoint is disabled',
  )
})

test('is disabled with a reason, and enabled again, by its page', async () => {
  const endpoint = await endpointOf()
  const change = (to: string, fields = {}) =>
    postForm(`${admin.url}/endpoints/${endpoint.endpointId}/${to}`, fields)
  expect((await change('disable', { reason: ' ' })).status).toBe(400)
  expect((await page(endpoint)).text).toContain('Disable the endpoint')
  expect((await change('disable', { reason: 'their receiver moved' })).status).toBe(303)
  const { text } = await page(endpoint)
  expect(text).toContain('It is disabled: by an operator: their receiver moved.')
  expect(text).toContain('Enable the endpoint')
  await accept(service, account, textBody())
  expect((await change('enable')).status).toBe(303)
  await tried(endpoint, 1)
  expect((await page(endpoint)).text).not.toContain('It is disabled')
})

test('the number of waiting callbacks leads to exactly these, and each state has its list and its count', async () => {
  const endpoint = await endpointOf()
  status = 200
  const delivered = await accept(service, account, textBody())
  await tried(endpoint, 1)
  await disableEndpoint(service.runtime.db, endpoint.endpointId, 'by an operator')
  const waiting = [await accept(service, account, textBody()), await accept(service, account, textBody())]
  await eventually('three callbacks', async () => (await callbacksOf(service, endpoint)).length === 3)
  const sendsOf = (html: string) =>
    new Set([...html.matchAll(/\/support\/([0-9a-f-]{36})\/callbacks/g)].map(([, id]) => id))
  const { html: list } = await getPage(`${admin.url}/endpoints?state=disabled`)
  const link = new RegExp(`<a href="(/endpoints/${endpoint.endpointId}[?][^"]+)">2</a>`)
  const [, path = ''] = link.exec(list) ?? []
  const shown = await getPage(admin.url + path)
  expect(sendsOf(shown.html)).toEqual(new Set(waiting))
  expect(shown.text).toContain('2 callbacks, the newest first')
  const done = await page(endpoint, '?state=delivered')
  expect(sendsOf(done.html)).toEqual(new Set([delivered]))
  expect(done.text).toContain('1 callback, the newest first')
  expect((await page(endpoint, '?state=given_up')).text).toContain('No callback found.')
  expect((await page(endpoint)).text).toContain('3 callbacks, the newest first')
  status = 503
})

test('the callbacks of an endpoint go on from page to page, each once', async () => {
  const endpoint = await endpointOf()
  await disableEndpoint(service.runtime.db, endpoint.endpointId, 'by an operator')
  await service.runtime.db.$client.query(
    `insert into callbacks (endpoint_id, request_id, sequence, type)
     select $1, uuidv7(), 1, 'message.sent' from generate_series(1, 60)`,
    [endpoint.endpointId],
  )
  const first = await page(endpoint, '?state=waiting')
  const [, older = ''] = /href="(\/endpoints\/[^"]+)">\s*Older/.exec(first.html) ?? []
  const second = await getPage(admin.url + older.replaceAll('&amp;', '&'))
  const ids = [first, second].flatMap(({ html }) =>
    [...html.matchAll(/\/support\/([0-9a-f-]{36})\/callbacks/g)].map(([, id]) => id),
  )
  expect([ids.length, new Set(ids).size]).toEqual([60, 60])
  expect(second.text).toContain('60 callbacks')
})

test('a test of an endpoint leads to no send', async () => {
  const endpoint = await endpointOf()
  const id = uuidv7()
  await addTest(service.runtime.db, endpoint.endpointId, id)
  await tried(endpoint, 1)
  const { text, html } = await page(endpoint)
  for (const part of [id, 'endpoint.test']) expect(text).toContain(part)
  expect(html).not.toContain(`/support/${id}`)
})

test('a callback about a ceiling leads to no send', async () => {
  const endpoint = await endpointOf()
  const requestId = uuidv7()
  const about = { endpointId: endpoint.endpointId, requestId, sequence: 0, type: ceilingType } as const
  await service.runtime.db.insert(callbacks).values(about)
  const { text, html } = await page(endpoint)
  for (const part of [requestId, ceilingType]) expect(text).toContain(part)
  expect(html).not.toContain(`/support/${requestId}`)
})

test('sending again from a time', async () => {
  const endpoint = await endpointOf()
  await accept(service, account, textBody())
  await tried(endpoint, 1)
  await service.runtime.db.$client.query('update callbacks set next_try_at = now() where endpoint_id = $1', [
    endpoint.endpointId,
  ])
  await tried(endpoint, 2)
  expect(await callbacksOf(service, endpoint)).toMatchObject([{ givenUp: true }])
  status = 200
  const url = `${admin.url}/endpoints/${endpoint.endpointId}/resend`
  const wrong = await postForm(url, { since: 'yesterday' })
  expect(wrong.status).toBe(400)
  const { status: answered, headers } = await postForm(url, { since: '2020-01-01T00:00', onlyGivenUp: 'yes' })
  expect(answered).toBe(303)
  const { text } = await getPage(admin.url + headers.get('Location'))
  expect(text).toContain('1 callback is being sent again.')
  await tried(endpoint, 3)
  expect((await page(endpoint)).text).toContain('It answers.')
})

test('sending again is of all, given up or not, unless asked otherwise; a zero says what was left out, and why', async () => {
  const endpoint = await endpointOf()
  const url = `${admin.url}/endpoints/${endpoint.endpointId}/resend`
  const resend = async (fields: Record<string, string>) =>
    (await getPage(admin.url + (await postForm(url, fields)).headers.get('Location'))).text
  expect(await resend({ since: '2020-01-01T00:00' })).toContain(
    '0 callbacks are being sent again. The endpoint has no callbacks',
  )
  status = 200
  await accept(service, account, textBody())
  await tried(endpoint, 1)
  expect((await page(endpoint)).html).toMatch(/name="onlyGivenUp" type="checkbox" value="yes"\/>/)
  expect(await resend({ since: '2020-01-01T00:00', onlyGivenUp: 'yes' })).toContain(
    '0 callbacks are being sent again. Left out: 1 was delivered, and not given up.',
  )
  expect(await resend({ since: '2100-01-01T00:00' })).toContain(
    'Left out: 1 is of a change before the time given.',
  )
  expect(await resend({ since: '2020-01-01T00:00' })).toContain('1 callback is being sent again.')
})

test.each(['nothing', '01890000-0000-7000-8000-000000000000'])('of %s there is no page', async (id) => {
  for (const path of [`/endpoints/${id}`, `/support/${id}/callbacks`])
    expect((await getPage(admin.url + path)).status).toBe(404)
  for (const to of ['enable', 'disable'])
    expect((await postForm(`${admin.url}/endpoints/${id}/${to}`, { reason: 'x' })).status).toBe(404)
  expect((await postForm(`${admin.url}/endpoints/${id}/resend`, { since: '2020-01-01T00:00' })).status).toBe(
    404,
  )
})

test('the callbacks of a send that were delivered are sent again from its page', async () => {
  status = 204
  const endpoint = await endpointOf()
  const requestId = await accept(service, account, textBody())
  await tried(endpoint, 1)
  const { html } = await getPage(`${admin.url}/support/${requestId}/callbacks`)
  expect(html).toContain(`action="/support/${requestId}/callbacks"`)
  expect((await postForm(`${admin.url}/support/${requestId}/callbacks`, {})).status).toBe(303)
  const triesOf = async () => (await callbacksOf(service, endpoint))[0]?.tries ?? []
  await eventually('the repeat', async () => (await triesOf()).length === 2)
})
