import { desc, eq } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { updateChannel } from '../../db/accounts/channels.ts'
import { audit, sends } from '../../db/schema.ts'
import { startTestAdmin, type TestAdmin } from '../support/admin.ts'
import { type Account, buildAccount, buildChannel, newContact } from '../support/builders.ts'
import { expectOnlyOurMarkup } from '../support/pages.ts'
import { ask, buildPerson, signIn } from '../support/people.ts'
import { finishedTimeline, startTestService, type TestService, testSecrets } from '../support/service.ts'
import { eventually } from '../support/wait.ts'

const rejected = '+15550100103'
let service: TestService
let admin: TestAdmin
let account: Account
let headers: { Cookie: string }

beforeAll(async () => {
  service = await startTestService()
  admin = await startTestAdmin(service, testSecrets)
  account = await buildAccount(service)
  await buildPerson(service, 'Oz', 'operator')
  headers = await signIn(admin, 'Oz')
  await service.startWorker()
})
afterAll(async () => {
  await admin.stop()
  await service.stop()
})

const get = (path: string) => ask(admin, path, { headers })
const tryIt = (form: Record<string, string>, channelId = account.channelId) =>
  ask(admin, `/channels/${channelId}/try`, { headers, form })

async function triedSend(form: Record<string, string>): Promise<{ requestId: string; path: string }> {
  const { status, location = '' } = await tryIt(form)
  expect(status).toBe(303)
  return { requestId: location.split('requestId=')[1] ?? '', path: location }
}

test('a try reaches the contact that was typed, and the page shows what the provider answered', async () => {
  expect((await get(`/channels/${account.channelId}/try`)).text).toContain('Send a text to yourself')
  const { requestId, path } = await triedSend({ contact: '0049 1511 2345678', text: 'A try' })
  await eventually('the end', async () => (await get(path)).text.includes('Accepted by the provider'))
  const { text, html } = await get(path)
  expect(text).toContain('Provider message id')
  expect(html).not.toContain('http-equiv="refresh"')
  expectOnlyOurMarkup(html)
  expect(html).toContain(`href="/accounts/${account.accountId}"`)
  const timeline = await finishedTimeline(service, requestId, account.apiKey)
  expect(timeline.contact.value).toBe('+4915112345678')
  expect(timeline.events.map(({ event }) => event).slice(0, 2)).toEqual(['accepted', 'tried'])
  expect(timeline).toMatchObject({ status: 'sent', priority: 'urgent' })
})

test('the page shows why a try failed', async () => {
  const { path } = await triedSend({ contact: rejected, text: 'A try' })
  await eventually('the end', async () =>
    (await get(path)).text.includes('the sandbox refuses this recipient'),
  )
})

test('a try is marked on the page of its send, and is in the audit without the contact', async () => {
  const contact = newContact()
  const { requestId } = await triedSend({ contact, text: 'Nothing personal' })
  expect((await get(`/support/${requestId}`)).text).toContain('An operator tried the channel with it')
  const [row] = await service.runtime.db
    .select()
    .from(audit)
    .where(eq(audit.action, 'channel.try'))
    .orderBy(desc(audit.at))
    .limit(1)
  expect(row).toMatchObject({ by: 'Oz', target: account.channelId, details: { requestId } })
  expect(JSON.stringify([row, service.logs])).not.toMatch(new RegExp(`\\${contact}|Nothing personal`))
})

test('what a channel cannot send is refused at the field, and no send is recorded', async () => {
  const channelId = await buildChannel(service, account.accountId)
  await updateChannel(service.runtime.db, channelId, { countries: ['AT'] })
  const faults = [
    [{ contact: 'nobody', text: 'x' }, 'contact'],
    [{ contact: '+4915112345678', text: 'x' }, 'contact'],
    [{ contact: '+436601234567', text: '' }, 'text'],
    [{ contact: '+436601234567', text: 'x'.repeat(4097) }, 'text'],
  ] as const
  for (const [form, field] of faults) {
    const { status, html } = await tryIt(form, channelId)
    expect([status, html]).toEqual([400, expect.stringContaining(`id="${field}-issue"`)])
  }
  expect(await service.runtime.db.$count(sends, eq(sends.channelId, channelId))).toBe(0)
})

test('the page of a try of another channel shows nothing of it', async () => {
  const { requestId } = await triedSend({ contact: newContact(), text: 'A try' })
  const other = await buildChannel(service, account.accountId)
  expect((await get(`/channels/${other}/try?requestId=${requestId}`)).text).not.toContain('Its timeline')
})

test('of a new account, what is next goes from the channel over the try and the key to the first send', async () => {
  const { location = '' } = await ask(admin, '/accounts/new', { headers, form: { name: 'New' } })
  const step = async () => (await get(location)).html.match(/What is next<\/h2>.*?<\/section>/s)?.[0] ?? ''
  const accountId = location.split('/').at(-1) ?? ''
  expect(await step()).toContain(`href="/channels/new?accountId=${accountId}"`)
  expect(await step()).not.toContain('/try"')
  const channelId = await buildChannel(service, accountId)
  expect(await step()).toContain(`href="/channels/${channelId}/try"`)
  await tryIt({ contact: newContact(), text: 'A try' }, channelId)
  expect(await step()).not.toContain(`href="/channels/${channelId}/try"`)
  const { text } = await ask(admin, `${location}/keys/new`, {
    headers,
    form: { permissions: 'messages:send' },
  })
  const [apiKey = ''] = /omk_[0-9A-Za-z]{49}/.exec(text) ?? []
  expect(await step()).not.toContain(`href="${location}/keys/new"`)
  const body = JSON.stringify({
    channelId,
    contact: { value: newContact() },
    message: { type: 'text', text: { value: 'Hello' } },
  })
  const Authorization = `Bearer ${apiKey}`
  const sent = { method: 'POST', headers: { Authorization, 'Content-Type': 'application/json' }, body }
  expect((await fetch(`${service.url}/v1/messages`, sent)).status).toBe(202)
  expect(await step()).toBe('')
})
