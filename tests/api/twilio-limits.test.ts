import { afterAll, beforeAll, expect, test } from 'vitest'
import { setTemplate } from '../../db/accounts/templates.ts'
import { type Account, buildAccount, newContact, post } from '../support/builders.ts'
import { expectError, expectFault } from '../support/expect-error.ts'
import { samples } from '../support/media-samples.ts'
import { buildProviderChannel } from '../support/provider-channel.ts'
import { startTestService, type TestService } from '../support/service.ts'

let service: TestService
/** The same, but without a `PUBLIC_BASE_URL`. */
let unreachable: TestService
let account: Account

const config = { accountSid: `AC${'0a'.repeat(16)}`, authToken: 'token', from: '+15550100100' }
const contentSid = `HX${'0d'.repeat(16)}`
const maxMediaBytes = 5 * 1024 * 1024

beforeAll(async () => {
  service = await startTestService({ PUBLIC_BASE_URL: 'https://messages.example.com' })
  unreachable = await startTestService({}, service.stores)
  account = await buildAccount(service)
  const channelId = await buildProviderChannel(service, account.accountId, 'twilio', config)
  account = { ...account, channelId }
  const definition = { contentSid, variables: { 1: 'name', 2: 'code' } }
  await setTemplate(service.runtime.db, { channelId, name: 'welcome', definition })
})
afterAll(async () => {
  await unreachable.stop()
  await service.stop()
})

const text = (value: string) => ({ type: 'text', text: { value } })
const template = (name: string, ...keys: string[]) => ({
  type: 'template',
  template: { name, variables: keys.map((key) => ({ key, value: 'x' })) },
})
const withValue = (name: string, key: string, value: string) => ({
  type: 'template',
  template: { name, variables: [{ key, value }] },
})
const media = (fields: object, mediaType = 'image') => ({ type: 'media', media: { mediaType, ...fields } })
const base64 = samples.png.toString('base64')
const mediaUrl = 'https://example.com/dot.png'
const sized = (bytes: number) =>
  Buffer.concat([samples.png, Buffer.alloc(bytes - samples.png.length)]).toString('base64')

const sendTo = (to: TestService, message: object, contact: object = { value: newContact() }) =>
  post(to, account, { contact, message })

test.each<[string, object]>([
  ['a text of 1600 characters', text('x'.repeat(1600))],
  ['a text of 1600 emoji', text('😀'.repeat(1600))],
  ['a registered template with its variables', template('welcome', 'code', 'name')],
  ['a template named by its content SID', template(contentSid, '1')],
  ['a template named by its content SID, with a longest key', template(contentSid, 'a'.repeat(16))],
  ['a variable of 1600 characters', withValue(contentSid, '1', '👋'.repeat(1600))],
  ['an image declared as jpg', media({ mediaUrl, mimetype: 'image/jpg' })],
  ['a document that is recognised', media({ base64: samples.pdf.toString('base64') }, 'document')],
  ['an image by base64', media({ base64, caption: 'A dot' })],
  ['an image of 5 MiB', media({ base64: sized(maxMediaBytes) })],
  ['an image by a link', media({ mediaUrl, mimetype: 'image/jpeg; q=1' })],
  ['an audio', media({ mediaUrl, caption: 'Listen' }, 'audio')],
  ['a video', media({ mediaUrl }, 'video')],
  ['a document of any type', media({ base64: 'SGVsbG8=', mimetype: 'text/x-unheard-of' }, 'document')],
])('is accepted: %s', async (_, message) => {
  expect((await sendTo(service, message)).status).toBe(202)
})

test.each<[string, object, string]>([
  ['a text of 1601 characters', text('x'.repeat(1601)), 'message.text.value'],
  ['a template that is not registered', template('goodbye', 'name'), 'message.template.name'],
  ['a content SID that is too short', template(contentSid.slice(0, -1)), 'message.template.name'],
  ['a missing variable', template('welcome', 'name'), 'message.template.variables'],
  [
    'an unknown variable',
    template('welcome', 'name', 'code', 'nickname'),
    'message.template.variables[2].key',
  ],
  [
    'a variable of 1601 characters',
    withValue(contentSid, '1', 'x'.repeat(1601)),
    'message.template.variables[0].value',
  ],
  [
    'a key too long for Twilio',
    template(contentSid, '1', 'a'.repeat(17)),
    'message.template.variables[1].key',
  ],
  ['a key with a space', template(contentSid, 'a b'), 'message.template.variables[0].key'],
  ['a document of an unknown type', media({ base64: 'SGVsbG8=' }, 'document'), 'message.media.mimetype'],
  ['audio of an unknown type', media({ base64: 'SGVsbG8=' }, 'audio'), 'message.media.mimetype'],
  [
    'a document of any bytes in a data URL',
    media({ base64: 'data:application/octet-stream;base64,SGVsbG8=' }, 'document'),
    'message.media.mimetype',
  ],
  [
    'a zip, which may be an Office file',
    media({ base64: samples.zip.toString('base64') }, 'document'),
    'message.media.mimetype',
  ],
  ['an image of more than 5 MiB', media({ base64: sized(maxMediaBytes + 1) }), 'message.media.base64'],
  [
    'a document of more than 5 MiB',
    media({ base64: sized(maxMediaBytes + 1) }, 'document'),
    'message.media.base64',
  ],
  [
    'an image of a type that Twilio refuses',
    media({ mediaUrl, mimetype: 'image/svg+xml' }),
    'message.media.mimetype',
  ],
])('is a 400 that names the field, and nothing is accepted: %s', async (_, message, path) => {
  await expectFault(service, await sendTo(service, message), path)
})

test('a template that is not registered: the 400 says to register it', async () => {
  expectError(await sendTo(service, template('goodbye')), 400, /register it with template set/)
})

test('an e-mail contact is a 400 that names its type', async () => {
  const contact = { value: 'ann@example.com', type: 'email' }
  await expectFault(service, await sendTo(service, text('Hello'), contact), 'contact.type')
})

test('without PUBLIC_BASE_URL base64 is a 400 that names the field and the setting; a link is accepted', async () => {
  for (const fields of [{ base64 }, { base64, mediaUrl }]) {
    const answer = await sendTo(unreachable, media(fields))
    await expectFault(unreachable, answer, 'message.media.base64')
    expectError(answer, 400, /PUBLIC_BASE_URL is not set/)
  }
  expect((await sendTo(unreachable, media({ mediaUrl }))).status).toBe(202)
})
