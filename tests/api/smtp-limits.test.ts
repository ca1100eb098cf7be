import { afterAll, beforeAll, expect, test } from 'vitest'
import { setTemplate } from '../../db/accounts/templates.ts'
import { type Account, buildAccount, post } from '../support/builders.ts'
import { expectFault } from '../support/expect-error.ts'
import { buildProviderChannel } from '../support/provider-channel.ts'
import { startTestService, type TestService } from '../support/service.ts'

let service: TestService
let account: Account

const definition = { subject: 'Hi {{name}}', text: '{{text}}', html: '<p>{{text}}</p>' }

beforeAll(async () => {
  service = await startTestService()
  account = await buildAccount(service)
  const config = { host: 'mail.example.com', from: 'us@example.com' }
  account.channelId = await buildProviderChannel(service, account.accountId, 'smtp', config)
  await setTemplate(service.runtime.db, { channelId: account.channelId, name: 'welcome', definition })
})
afterAll(() => service.stop())

const contact = { type: 'email', value: 'ann@example.com' }
const text = { type: 'text', text: { value: 'Hello' } }
const media = (fields: object) => ({
  type: 'media',
  media: { mediaType: 'document', base64: 'SGVsbG8=', ...fields },
})
const template = (values: Record<string, string>, name = 'welcome') => {
  const variables = Object.entries(values).map(([key, value]) => ({ key, value }))
  return { type: 'template', template: { name, variables } }
}

test.each<[string, object, string]>([
  ['a phone number', { contact: { value: '+4915112345678' }, message: text }, 'contact.type'],
  ['a line break in the name', { contact: { ...contact, name: 'Ann\nBcc: b@x.example' } }, 'contact.name'],
  [
    'a carriage return in the name',
    { contact: { ...contact, name: 'Ann\rBcc: b@x.example' } },
    'contact.name',
  ],
  [
    'a line break in the address',
    { contact: { ...contact, value: 'ann@example.com\nRCPT TO:<b@x.example>' } },
    'contact.value',
  ],
  ['a path as filename', { message: media({ filename: '../a.pdf' }) }, 'message.media.filename'],
  ['a line break in the filename', { message: media({ filename: 'a\r\nX: y' }) }, 'message.media.filename'],
  ['a line break in the type', { message: media({ mimetype: 'a/b\r\nX: y' }) }, 'message.media.mimetype'],
  ['a template that is not registered', { message: template({}, 'other') }, 'message.template.name'],
  ['a variable missing', { message: template({ name: 'Ann' }) }, 'message.template.variables'],
  [
    'an unknown variable',
    { message: template({ name: 'Ann', text: 'x', more: 'y' }) },
    'message.template.variables[2].key',
  ],
  [
    'a line break in the subject',
    { message: template({ text: 'x', name: 'Ann\nBcc: b@x.example' }) },
    'message.template.variables[1].value',
  ],
  [
    'a carriage return in the subject',
    { message: template({ name: 'Ann\rBcc: b@x.example', text: 'x' }) },
    'message.template.variables[0].value',
  ],
  [
    'too much in the subject',
    { message: template({ name: 'x'.repeat(256), text: 'x' }) },
    'message.template.variables[0].value',
  ],
])('what could be no mail is a 400 that names it: %s', async (_, parts, path) => {
  const answer = await post(service, account, { contact, message: text, ...parts })
  await expectFault(service, answer, path)
})

test.each<[string, object]>([
  ['a text', text],
  ['a template, with line breaks where they do no harm', template({ name: 'Änn', text: 'a\r\nb' })],
  ['a template with the longest subject', template({ name: '👋'.repeat(255), text: '' })],
  ['a document', media({ filename: 'Grüße "👋".pdf', caption: 'a\nb' })],
])('what can be a mail is accepted: %s', async (_, message) => {
  expect((await post(service, account, { contact, message })).status).toBe(202)
})
