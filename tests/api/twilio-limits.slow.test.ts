import { v7 as uuidv7 } from 'uuid'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { updateChannel } from '../../db/accounts/channels.ts'
import { setTemplate } from '../../db/accounts/templates.ts'
import { sealConfig } from '../../src/core/channels/sealed-config.ts'
import { twilio } from '../../src/providers/twilio/index.ts'
import { type Account, buildAccount, newContact, post } from '../support/builders.ts'
import { expectError, expectFault } from '../support/expect-error.ts'
import { samples } from '../support/media-samples.ts'
import { buildProviderChannel } from '../support/provider-channel.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { eventually } from '../support/wait.ts'

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
  ['an image for WhatsApp only', media({ mediaUrl, mimetype: 'image/webp' }), 'message.media.mimetype'],
])('is a 400 that names the field, and nothing is accepted: %s', async (_, message, path) => {
  await expectFault(service, await sendTo(service, message), path)
})

describe('by WhatsApp', () => {
  let channelId: string
  beforeAll(async () => {
    const byWhatsApp = { ...config, from: 'whatsapp:+15550100100' }
    channelId = await buildProviderChannel(service, account.accountId, 'twilio', byWhatsApp)
  })
  const sendBy = (message: object) =>
    post(service, { ...account, channelId }, { contact: { value: newContact() }, message })
  const pdf = samples.pdf.toString('base64')
  const large = Buffer.concat([samples.pdf, Buffer.alloc(maxMediaBytes)]).toString('base64')
  const docx = 'application/vnd.openxmlformats-officedocument.wordprocessingml.document'

  test.each<[string, object]>([
    ['an image with a caption', media({ mediaUrl, caption: 'A dot', filename: 'dot.png' })],
    ['an image of a type for WhatsApp only', media({ mediaUrl, mimetype: 'image/webp' })],
    ['a video with a caption', media({ mediaUrl, caption: 'Look' }, 'video')],
    ['a document', media({ base64: pdf }, 'document')],
    ['a document of more than 5 MiB', media({ base64: large }, 'document')],
    ['a docx, which is a zip', media({ base64: samples.zip.toString('base64'), mimetype: docx }, 'document')],
    ['an audio', media({ mediaUrl, mimetype: 'audio/ogg; codecs=opus' }, 'audio')],
    ['media of an undeclared type by a link', media({ mediaUrl }, 'video')],
  ])('is accepted: %s', async (_, message) => {
    expect((await sendBy(message)).status).toBe(202)
  })

  test.each<[string, object, string]>([
    ['an image of more than 5 MiB', media({ base64: sized(maxMediaBytes + 1) }), 'message.media.base64'],
    ['a document with a caption', media({ mediaUrl, caption: 'x' }, 'document'), 'message.media.caption'],
    ['a document with a filename', media({ mediaUrl, filename: 'x' }, 'document'), 'message.media.filename'],
    ['an audio with a caption', media({ mediaUrl, caption: 'x' }, 'audio'), 'message.media.caption'],
    ['a gif', media({ mediaUrl, mimetype: 'image/gif' }), 'message.media.mimetype'],
    [
      'a quicktime video',
      media({ mediaUrl, mimetype: 'video/quicktime' }, 'video'),
      'message.media.mimetype',
    ],
    ['a wav', media({ mediaUrl, mimetype: 'audio/wav' }, 'audio'), 'message.media.mimetype'],
    ['a csv', media({ mediaUrl, mimetype: 'text/csv' }, 'document'), 'message.media.mimetype'],
    ['an image as a document', media({ base64 }, 'document'), 'message.media.base64'],
    ['a zip', media({ base64: samples.zip.toString('base64') }, 'document'), 'message.media.mimetype'],
  ])('is a 400 that names what Twilio would drop or refuse: %s', async (_, message, path) => {
    await expectFault(service, await sendBy(message), path)
  })

  test('the limits follow the config, within the 3 s that a change of a channel takes', async () => {
    const document = media({ mediaUrl, filename: 'x' }, 'document')
    const sealedConfig = sealConfig(
      twilio.config.parse(config),
      channelId,
      service.runtime.settings.CREDENTIALS_KEY,
    )
    await updateChannel(service.runtime.db, channelId, { sealedConfig })
    await eventually('the limits of MMS', async () => (await sendBy(document)).status === 202)
    expect((await sendBy(media({ base64: sized(maxMediaBytes + 1) }, 'document'))).status).toBe(400)
  })
})

test('a config that the API cannot open leaves the limits of the provider', async () => {
  const channelId = await buildProviderChannel(service, account.accountId, 'twilio', config)
  const sealedConfig = sealConfig(config, uuidv7(), service.runtime.settings.CREDENTIALS_KEY)
  await updateChannel(service.runtime.db, channelId, { sealedConfig })
  const by = { ...account, channelId }
  const body = { contact: { value: newContact() }, message: text('x'.repeat(1601)) }
  await expectFault(service, await post(service, by, body), 'message.text.value')
})

test('a template that is not registered: the 400 says to register it', async () => {
  expectError(await sendTo(service, template('goodbye')), 400, /ask the operator to register it/)
})

test('an e-mail contact is a 400 that names its type', async () => {
  const contact = { value: 'ann@example.com', type: 'email' }
  await expectFault(service, await sendTo(service, text('Hello'), contact), 'contact.type')
})

test('without PUBLIC_BASE_URL base64 is a 400 that names the field; a link is accepted', async () => {
  for (const fields of [{ base64 }, { base64, mediaUrl }]) {
    const answer = await sendTo(unreachable, media(fields))
    await expectFault(unreachable, answer, 'message.media.base64')
    expectError(answer, 400, /takes media by mediaUrl only/)
  }
  expect((await sendTo(unreachable, media({ mediaUrl }))).status).toBe(202)
})
