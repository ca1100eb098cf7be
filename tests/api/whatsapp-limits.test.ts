import { afterAll, beforeAll, expect, test } from 'vitest'
import { setTemplate } from '../../db/accounts/templates.ts'
import { type Account, accept, buildAccount, post } from '../support/builders.ts'
import { expectFault } from '../support/expect-error.ts'
import { samples } from '../support/media-samples.ts'
import { buildProviderChannel } from '../support/provider-channel.ts'
import { startTestService, type TestService } from '../support/service.ts'

let service: TestService
let account: Account

beforeAll(async () => {
  service = await startTestService()
  account = await buildAccount(service)
  const config = { phoneNumberId: '106540352242922', accessToken: 'EAAJB' }
  account.channelId = await buildProviderChannel(service, account.accountId, 'whatsapp-cloud', config)
  const definition = { language: 'de', parameters: ['name', 'code'] }
  await setTemplate(service.runtime.db, { channelId: account.channelId, name: 'welcome', definition })
})
afterAll(() => service.stop())

const contact = { value: '+4915112345678' }
const text = { type: 'text', text: { value: 'Hello' } }
const media = (fields: object) => ({ contact, message: { type: 'media', media: fields } })
const mediaUrl = 'https://example.com/file'
const base64 = (content: Buffer) => content.toString('base64')
const anyBytes = (content: Buffer) => `data:application/octet-stream;base64,${base64(content)}`
const padded = (content: Buffer, bytes: number) => base64(Buffer.concat([content], bytes))
const megabyte = 1024 * 1024
const docx = 'application/vnd.openxmlformats-officedocument.wordprocessingml.document'

async function faultOf(body: object, path: string): Promise<string> {
  const answer = await post(service, account, body)
  await expectFault(service, answer, path)
  return answer.body.message
}

test('an e-mail contact is a 400', async () => {
  const body = { contact: { value: 'ann@example.com', type: 'email' }, message: text }
  expect(await faultOf(body, 'contact.type')).toContain('phone contacts only')
})

test('a text of 4096 characters is accepted, a longer one is a 400', async () => {
  const textOf = (length: number) => ({
    contact,
    message: { ...text, text: { value: '👋'.repeat(length) } },
  })
  expect((await post(service, account, textOf(4096))).status).toBe(202)
  await faultOf(textOf(4097), 'message.text.value')
})

test('a registered template with a missing variable is a 400 that names it', async () => {
  const templateOf = (...keys: string[]) => ({
    contact,
    message: {
      type: 'template',
      template: { name: 'welcome', variables: keys.map((key) => ({ key, value: 'x' })) },
    },
  })
  expect(await faultOf(templateOf('name'), 'message.template.variables')).toContain('code is missing')
  expect((await post(service, account, templateOf('code', 'name'))).status).toBe(202)
})

test.each<[string, Record<string, string>, number, RegExp | undefined]>([
  ['login', { code: '123456' }, 202, undefined],
  ['login', { code: '1234567890123456' }, 0, /at most 15 characters as a one-time code/],
  ['shipped', { invoice: 'https://example.com/1.pdf', shop: 'orders/7' }, 202, undefined],
  ['shipped', { invoice: 'http://10.0.0.1/1.pdf', shop: 'orders/7' }, 0, /not public/],
  ['shipped', { invoice: 'https://example.com/1.pdf', shop: 'a b' }, 1, /white space/],
  ['shipped', { invoice: 'https://example.com/1.pdf' }, -1, /shop is missing/],
])('a template with header and buttons: %s with %j', async (name, values, result, words) => {
  const definitions = {
    login: { language: 'de', parameters: ['code'], buttons: [{ index: 0, type: 'otp', key: 'code' }] },
    shipped: {
      language: 'de',
      parameters: [],
      header: { document: 'invoice' },
      buttons: [{ index: 1, type: 'url', key: 'shop' }],
    },
  }
  for (const [each, definition] of Object.entries(definitions)) {
    await setTemplate(service.runtime.db, { channelId: account.channelId, name: each, definition })
  }
  const variables = Object.entries(values).map(([key, value]) => ({ key, value }))
  const body = { contact, message: { type: 'template', template: { name, variables } } }
  if (result === 202) return expect((await post(service, account, body)).status).toBe(202)
  const path = `message.template.variables${result < 0 ? '' : `[${result}].value`}`
  expect(await faultOf(body, path)).toMatch(words ?? /./)
})

test.each(['', 'two\nlines', 'a\ttab', 'a     gap'])(
  'a variable with the value %j is a 400 that names it, registered or not',
  async (value) => {
    for (const [name, key] of [
      ['welcome', 'code'],
      ['unregistered', 'any'],
    ]) {
      const variables = [
        { key: name === 'welcome' ? 'name' : 'first', value: 'Ann' },
        { key, value },
      ]
      const message = { type: 'template', template: { name, variables } }
      await faultOf({ contact, message }, 'message.template.variables[1].value')
    }
  },
)

test.each([
  ['a png', { mediaType: 'image', base64: base64(samples.png) }],
  ['a jpeg of 5 MB', { mediaType: 'image', base64: padded(samples.jpeg, 5 * megabyte) }],
  [
    'a jpeg that is declared as a jpg',
    { mediaType: 'image', base64: base64(samples.jpeg), mimetype: 'image/jpg' },
  ],
  ['a link to a declared jpg', { mediaType: 'image', mediaUrl, mimetype: 'image/jpg' }],
  [
    'an mp3 that is declared as mp3',
    { mediaType: 'audio', base64: base64(samples.mp3), mimetype: 'audio/mp3' },
  ],
  ['a link to a declared m4a', { mediaType: 'audio', mediaUrl, mimetype: 'audio/x-m4a' }],
  ['a png as any bytes in a data URL', { mediaType: 'image', base64: anyBytes(samples.png) }],
  ['a pdf as any bytes in a data URL', { mediaType: 'document', base64: anyBytes(samples.pdf) }],
  ['an image by a link', { mediaType: 'image', mediaUrl }],
  ['a video with a caption', { mediaType: 'video', base64: base64(samples.mp4), caption: 'See' }],
  ['an m4a as audio', { mediaType: 'audio', base64: base64(samples.m4a) }],
  ['opus as audio', { mediaType: 'audio', base64: base64(samples.oggOpus) }],
  ['audio with an empty caption', { mediaType: 'audio', base64: base64(samples.mp3), caption: '' }],
  ['audio with a type of its own', { mediaType: 'audio', base64: 'QUJD', mimetype: 'audio/mpeg' }],
  ['a pdf', { mediaType: 'document', base64: base64(samples.pdf), caption: 'See', filename: 'a.pdf' }],
  ['a docx, a zip by its bytes', { mediaType: 'document', base64: base64(samples.zip), mimetype: docx }],
  ['plain text', { mediaType: 'document', base64: 'QUJD', mimetype: 'text/plain; charset=utf-8' }],
  ['a document of any type by a link', { mediaType: 'document', mediaUrl, mimetype: 'application/zip' }],
])('%s is accepted', async (_, fields) => {
  await accept(service, account, media(fields))
})

test.each([
  ['audio with a caption', 'caption', { mediaType: 'audio', mediaUrl, caption: 'Listen' }],
  ['an image of 6 MB', 'base64', { mediaType: 'image', base64: padded(samples.jpeg, 6 * megabyte) }],
  ['a webp', 'base64', { mediaType: 'image', base64: base64(samples.webp) }],
  [
    'a webp that is declared as a png',
    'mimetype',
    { mediaType: 'image', base64: base64(samples.webp), mimetype: 'image/png' },
  ],
  ['a link to a declared webp', 'mimetype', { mediaType: 'image', mediaUrl, mimetype: 'image/webp' }],
  [
    'a png that is declared as a webp',
    'mimetype',
    { mediaType: 'image', base64: base64(samples.png), mimetype: 'image/webp' },
  ],
  ['a link to aac in mp4', 'mimetype', { mediaType: 'audio', mediaUrl, mimetype: 'audio/mp4a-latm' }],
  ['a webp as any bytes in a data URL', 'base64', { mediaType: 'image', base64: anyBytes(samples.webp) }],
  ['a wav', 'base64', { mediaType: 'audio', base64: base64(samples.wav) }],
  ['a webm', 'base64', { mediaType: 'video', base64: base64(samples.webm) }],
  ['audio of no type', 'mimetype', { mediaType: 'audio', base64: 'QUJD' }],
  ['a document of no type', 'mimetype', { mediaType: 'document', base64: 'QUJD', filename: 'a.txt' }],
  ['a zip as a document', 'mimetype', { mediaType: 'document', base64: base64(samples.zip) }],
  [
    'a csv as a document',
    'mimetype',
    { mediaType: 'document', base64: 'YSxi', mimetype: 'text/csv', filename: 'a.csv' },
  ],
])('%s is a 400 that names its %s', async (_, field, fields) => {
  await faultOf(media(fields), `message.media.${field}`)
})

test('the 400 for a type names those that are accepted', async () => {
  const message = await faultOf(
    media({ mediaType: 'image', base64: base64(samples.webp) }),
    'message.media.base64',
  )
  expect(message).toBe(
    'message.media.base64: is image/webp; this channel takes image/jpeg, image/png as image',
  )
})
