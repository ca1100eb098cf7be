import { eq } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { listTemplates } from '../../db/accounts/templates.ts'
import { audit } from '../../db/schema.ts'
import { startTestAdmin, type TestAdmin } from '../support/admin.ts'
import { type Account, buildAccount } from '../support/builders.ts'
import { runCli } from '../support/cli.ts'
import { expectOnlyOurMarkup, getPage, postForm } from '../support/pages.ts'
import { buildProviderChannel } from '../support/provider-channel.ts'
import { startTestService, type TestService } from '../support/service.ts'

let service: TestService
let admin: TestAdmin
let account: Account

beforeAll(async () => {
  service = await startTestService()
  admin = await startTestAdmin(service)
  account = await buildAccount(service)
})
afterAll(async () => {
  await admin.stop()
  await service.stop()
})

const link = (channelId = account.channelId) => `${admin.url}/channels/${channelId}/templates`

test('a preview shows the text with the given values, the other keys and the segments, and registers nothing', async () => {
  const { text, html } = await postForm(`${link()}/set`, {
    name: 'welcome',
    definition: '{"text":"Hello {{name}}, your code is {{code}}"}',
    values: 'name=Ann = Ann',
    do: 'preview',
  })
  expect(text).toContain('Hello Ann = Ann, your code is {{code}}')
  expect(text).toContain('Variables name, code')
  expect(text).toContain('1 segment, gsm-7')
  expectOnlyOurMarkup(html)
  expect(await listTemplates(service.runtime.db, account.channelId)).toEqual([])
})

test('a template is registered, listed, and replaced by its form', async () => {
  const set = (definition: string) => postForm(`${link()}/set`, { name: 'hello', definition, do: 'set' })
  expect((await set('{"text":"Hello {{name}}"}')).status).toBe(303)
  expect((await getPage(link())).text).toContain('Hello {{name}}')
  const { text } = await getPage(`${link()}/set?name=hello`)
  expect(text).toContain('"Hello {{name}}"')
  await set('{"text":"Good day {{name}}"}')
  expect(await listTemplates(service.runtime.db, account.channelId)).toMatchObject([
    { name: 'hello', definition: { text: 'Good day {{name}}' } },
  ])
  const rows = await service.runtime.db.select().from(audit).where(eq(audit.action, 'template.set'))
  expect(rows).toMatchObject([{ target: account.channelId, details: { name: 'hello' } }, {}])
  expect(JSON.stringify(rows)).not.toContain('Good day')
})

test.each([
  ['{"text":', 'has to be valid JSON'],
  ['{}', 'text: required'],
  ['{"text":"x","more":1}', 'more: unknown field'],
])('the definition %s is refused at its field, as by the command', async (definition, words) => {
  const { status, text, html } = await postForm(`${link()}/set`, { name: 'x', definition })
  expect([status, text]).toEqual([400, expect.stringContaining(words)])
  expect(html).toContain('id="definition-issue"')
  const set = ['template', 'set', '--channel', account.channelId, '--name', 'x', '--definition', definition]
  const { stderr } = await runCli(service, ...set)
  expect(stderr).toContain(words.replace('has to be', 'is not'))
})

test('a mail has its subject and both bodies in the preview, and its markup is text', async () => {
  const config = { host: 'mail.example.com', from: 'a@example.com' }
  const channelId = await buildProviderChannel(service, account.accountId, 'smtp', config)
  const definition = JSON.stringify({ subject: 'For {{name}}', html: '<p onclick="x()">{{name}}</p>' })
  const form = { name: 'm', definition, values: 'name=<b>', do: 'preview' }
  const { text, html, status } = await postForm(`${link(channelId)}/set`, form)
  expect([status, text]).toEqual([200, expect.stringContaining('For <b>')])
  expectOnlyOurMarkup(html)
})

test('a channel that is not there has no templates', async () => {
  expect((await getPage(link(crypto.randomUUID()))).status).toBe(404)
})
