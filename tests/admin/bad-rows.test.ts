import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { startTestAdmin, type TestAdmin } from '../support/admin.ts'
import { type Account, accept, buildAccount, newContact, textBody } from '../support/builders.ts'
import { getPage } from '../support/pages.ts'
import { finishedTimeline, startTestService, type TestService } from '../support/service.ts'

let service: TestService
let admin: TestAdmin
let account: Account

beforeAll(async () => {
  service = await startTestService()
  admin = await startTestAdmin(service, { SUPPORT_SHOW_CONTENT: 'true' })
  await service.startWorker()
})
beforeEach(async () => {
  account = await buildAccount(service)
})
afterAll(async () => {
  await admin.stop()
  await service.stop()
})

const query = (statement: string, values: unknown[]) =>
  service.runtime.db.$client.query(statement, values).then(({ rows }) => rows)

async function sent(text: string): Promise<string> {
  const requestId = await accept(service, account, textBody(text, newContact()))
  await finishedTimeline(service, requestId, account.apiKey)
  return requestId
}

async function shown(path: string): Promise<string> {
  const { status, text } = await getPage(admin.url + path)
  expect(status, text).toBe(200)
  return text
}

const cannot = "can't be shown: it is damaged, or a newer release wrote it."

test.each([
  ['null', null],
  ['no object', 'words'],
  ['a list', []],
  ['of a type of a newer release', { type: 'carousel', carousel: {} }],
  ['without its text', { type: 'text' }],
  ['with a text that is none', { type: 'text', text: { value: { deep: true } } }],
  ['with media of an unknown type', { type: 'media', media: { mediaType: 'hologram', sizeBytes: 3 } }],
  ['with variables that are none', { type: 'template', template: { name: 'x', variables: { a: 1 } } }],
])(
  'the inbox and the page of a send show a message that is %s as such, and the others',
  async (_what, message) => {
    await sent('Before it')
    const requestId = await sent('The bad one')
    await sent('After it')
    for (const table of ['sandbox_messages', 'sends'])
      await query(`update ${table} set message = $1 where request_id = $2`, [
        JSON.stringify(message),
        requestId,
      ])
    const inbox = await shown('/inbox')
    expect(inbox).toContain(`This content ${cannot}`)
    expect(inbox).toMatch(/After it.*Before it/)
    expect(inbox).not.toContain('The bad one')
    expect(await shown(`/support/${requestId}`)).toContain(`This content ${cannot}`)
  },
)

test.each([
  ['a time that is none', "received_at = 'infinity'"],
  ['a contact of an unknown type', "contact_type = 'pigeon'"],
])('the inbox shows the others beside a message with %s', async (_what, change) => {
  await sent('A good one')
  const requestId = await sent('The odd one')
  await query(`update sandbox_messages set ${change} where request_id = $1`, [requestId])
  expect(await shown('/inbox')).toMatch(/The odd one.*A good one/)
})

test('a list of sends shows one of a contact and a provider answer that are unknown, and the others', async () => {
  const [good, bad] = [await sent('good'), await sent('bad')]
  await query("update sends set attempt_record = '7', contact_type = 'pigeon' where request_id = $1", [bad])
  const list = await shown(`/sends?accountId=${account.accountId}`)
  for (const requestId of [good, bad]) expect(list).toContain(requestId)
})

test.each([
  ['of a newer release', 'teleported', { to: { deep: 1 } }],
  ['with the name of a method', 'constructor', {}],
  ['without its fields', 'retry_scheduled', {}],
  ['with fields that are none', 'fell_back', 'words'],
  ['with null for its fields', 'attempt_finished', null],
  ['with a reason that is none', 'failed', { reason: 7 }],
])(
  'the page of a send with an event %s shows that it is there, and the others',
  async (_what, event, fields) => {
    const requestId = await sent('Hello')
    await query(`insert into send_events (request_id, event, fields) values ($1, $2, $3)`, [
      requestId,
      event,
      JSON.stringify(fields),
    ])
    const { status, html, text: page } = await getPage(`${admin.url}/support/${requestId}`)
    expect(status, page).toBe(200)
    expect(html).toContain(`<li class="entry ${event}">`)
    expect(page).toContain('Accepted: a text message')
    expect(page).toContain('Sent, which means accepted by the provider.')
  },
)

const audited = (details: unknown, action = 'channel.hold', at = 'now') =>
  query(
    `insert into audit (id, at, by, via, address, action, target, details)
     values (gen_random_uuid(), $1, 'Ann', 'page', '127.0.0.1', $2, $3, $4)`,
    [at, action, account.channelId, JSON.stringify(details)],
  )

test('the audit and the page of a channel show a row that can’t be shown as such, and the others', async () => {
  await audited({ reason: 'the first' })
  await audited(null)
  await audited({ reason: 'of a newer release', by: { deep: [1] } }, 'channel.teleport')
  await audited({ reason: 'the last' })
  for (const path of ['/audit', `/channels/${account.channelId}`]) {
    const page = await shown(path)
    expect(page).toContain(`This row ${cannot}`)
    expect(page).toMatch(/the last.*channel\.teleport.*of a newer release by: {"deep":\[1\]}.*the first/s)
  }
})

test('the suppressions and the page of a contact show an entry of a contact type and a time that are none, and the others', async () => {
  for (const [type, value, at] of [
    ['phone', '+4915112345678', 'now'],
    ['pigeon', 'coop', 'now'],
    ['phone', '+4915112345679', 'infinity'],
  ])
    await query(
      `insert into suppressions (id, account_id, contact_type, contact_value, cause, reason, created_at)
       values (gen_random_uuid(), $1, $2, $3, 'manual', 'why ' || $3, $4)`,
      [account.accountId, type, value, at],
    )
  const page = await shown(`/suppressions?accountId=${account.accountId}`)
  for (const value of ['+4915112345678', 'coop', '+4915112345679']) expect(page).toContain(`why ${value}`)
})

test('the callbacks of a send and of an endpoint show a callback that can’t be shown as such, and the others', async () => {
  const requestId = await sent('Hello')
  const [endpoint] = await query(
    `insert into endpoints (id, account_id, url, sealed_secret, events)
     values (gen_random_uuid(), $1, 'no url', '', '{}') returning id`,
    [account.accountId],
  )
  for (const [sequence, tries] of [
    [1, []],
    [2, null],
    [3, { at: 'now' }],
  ])
    await query(
      `insert into callbacks (endpoint_id, request_id, sequence, type, tries) values ($1, $2, $3, 'sent', $4)`,
      [endpoint.id, requestId, sequence, JSON.stringify(tries)],
    )
  for (const path of [`/support/${requestId}/callbacks`, `/endpoints/${endpoint.id}`]) {
    const page = await shown(path)
    expect(page).toContain('1 sent')
    expect(page.split(`This row ${cannot}`)).toHaveLength(3)
  }
  await shown('/endpoints')
})

test('the refused requests show one with a time that is none, and the others', async () => {
  for (const [at, message] of [
    ['now', 'a good one'],
    ['infinity', 'an odd one'],
  ])
    await query(
      `insert into refused_requests (request_id, account_id, key_prefix, at, status, message, route, fields)
       values (gen_random_uuid(), $1, 'k', $2, 400, $3, 'GET /', '{}')`,
      [account.accountId, at, message],
    )
  const page = await shown(`/refused?account=${account.accountId}`)
  for (const message of ['a good one', 'an odd one']) expect(page).toContain(message)
})
