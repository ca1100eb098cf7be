import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestAdmin, type TestAdmin } from '../support/admin.ts'
import { accept, buildAccount, newContact, textBody } from '../support/builders.ts'
import { getPage } from '../support/pages.ts'
import { finishedTimeline, serviceOfFile } from '../support/service.ts'

const service = await serviceOfFile()
const account = await buildAccount(service)
let admin: TestAdmin

beforeAll(async () => {
  admin = await startTestAdmin(service)
  await service.startWorker()
})
afterAll(async () => {
  await admin.stop()
})

async function received(body: object): Promise<string> {
  const requestId = await accept(service, account, body)
  await finishedTimeline(service, requestId, account.apiKey)
  return requestId
}

const given = '<p onclick="x()">Zebrastreifen</p><script>x()</script><img src="https://example.com/a.png">'
const body = () => ({
  ...textBody('Plain', `ann${newContact().slice(1)}@example.com`),
  email: { subject: 'Betreff', html: given },
})

/** A page frames it, and doesn't contain it. */
async function framed(path: string) {
  const { html } = await getPage(`${admin.url}${path}`)
  expect(html).toContain('Betreff')
  expect(html).not.toContain('Zebrastreifen')
  const [, frame = '', address = ''] = /(<iframe[^>]* src="([^"?]+\/html)"[^>]*>)/.exec(html) ?? []
  expect(frame).toContain('sandbox=""')
  return await fetch(admin.url + address)
}

test('the HTML of a mail is in a frame of its own that can load and run nothing, in the inbox and on the page of its send', async () => {
  const requestId = await received(body())
  const shown = await startTestAdmin(service, { SUPPORT_SHOW_CONTENT: 'true' })
  const direct = await fetch(`${shown.url}/support/${requestId}/html`)
  for (const answer of [await framed('/inbox'), direct]) {
    expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8')
    const policy = answer.headers.get('content-security-policy')?.split('; ')
    expect(policy).toEqual([
      ...["default-src 'none'", "style-src 'unsafe-inline'", 'img-src data:', "form-action 'none'"],
      ...["base-uri 'none'", "frame-ancestors 'self'", 'sandbox'],
    ])
    expect(await answer.text()).toBe(given)
  }
  const page = await getPage(`${shown.url}/support/${requestId}`)
  expect(page.html).toContain(`src="/support/${requestId}/html"`)
  await shown.stop()
})

test('the HTML of a mail has its source beside it, as plain text', async () => {
  const requestId = await received(body())
  const shown = await startTestAdmin(service, { SUPPORT_SHOW_CONTENT: 'true' })
  const source = await fetch(`${shown.url}/support/${requestId}/html?as=source`)
  expect(source.headers.get('content-type')).toBe('text/plain; charset=utf-8')
  expect(await source.text()).toBe(given)
  await shown.stop()
})

test('the HTML of a mail is not shown without SUPPORT_SHOW_CONTENT, nor of a send without one', async () => {
  const requestId = await received(body())
  expect((await fetch(`${admin.url}/support/${requestId}/html`)).status).toBe(404)
  const shown = await startTestAdmin(service, { SUPPORT_SHOW_CONTENT: 'true' })
  const plain = await received(textBody())
  expect((await fetch(`${shown.url}/support/${plain}/html`)).status).toBe(404)
  await shown.stop()
})
