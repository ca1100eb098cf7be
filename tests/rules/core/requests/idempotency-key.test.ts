import { describe, expect, test } from 'vitest'
import {
  fingerprint,
  hashIdempotencyKey,
  parseIdempotencyKey,
} from '../../../../src/core/requests/idempotency-key.ts'
import { sendRequestSchemas } from '../../../../src/core/sends/send-request.ts'

const { channelInBody, channelInPath } = sendRequestSchemas([])
const channelId = '01890000-0000-7000-8000-000000000001'
const flowId = '01890000-0000-7000-8000-000000000002'

describe('the key', () => {
  test.each([
    ['order-1', '"order-1"'],
    ['8e03978e-40d5-43dd-bc93-6894a57f9324', '"8e03978e-40d5-43dd-bc93-6894a57f9324"'],
    ['a b, c;d=1', '"a b, c;d=1"'],
    ['say "hi"', '"say \\"hi\\""'],
    ['back\\slash', '"back\\\\slash"'],
    ['\\"', '"\\\\\\""'],
    ["it's", '"it\'s"'],
  ])('%s is the same unquoted and quoted', (bare, quoted) => {
    expect(parseIdempotencyKey(bare)).toBe(bare)
    expect(parseIdempotencyKey(quoted)).toBe(bare)
  })

  test('a backslash in an unquoted key is a plain character', () => {
    expect(parseIdempotencyKey('a\\\\b')).toBe('a\\\\b')
    expect(parseIdempotencyKey('a\\n')).toBe('a\\n')
  })

  test.each([1, 2, 254, 255])('of %i characters is accepted, unquoted and quoted', (length) => {
    const key = 'k'.repeat(length)
    expect(parseIdempotencyKey(key)).toBe(key)
    expect(parseIdempotencyKey(`"${key}"`)).toBe(key)
  })

  test.each([0, 256, 1000])('of %i characters is refused, unquoted and quoted', (length) => {
    const key = 'k'.repeat(length)
    expect(parseIdempotencyKey(key)).toBeUndefined()
    expect(parseIdempotencyKey(`"${key}"`)).toBeUndefined()
  })

  test('its length counts without quotes and escapes', () => {
    expect(parseIdempotencyKey(`"${'\\"'.repeat(255)}"`)).toBe('"'.repeat(255))
    expect(parseIdempotencyKey(`"${'\\"'.repeat(256)}"`)).toBeUndefined()
  })

  test.each([
    ['without its closing quote', '"order'],
    ['of a quote alone', '"'],
    ['whose closing quote is escaped', '"order\\"'],
    ['with a quote inside that is not escaped', '"or"der"'],
    ['with something behind the quotes', '"order" 1'],
    ['with an escape of another character', '"or\\der"'],
    ['with parameters', '"order";v=1'],
    ['of two in one line', '"one", "two"'],
  ])('a quoted one %s is refused', (_how, header) => {
    expect(parseIdempotencyKey(header)).toBeUndefined()
  })

  test('other letters or spaces make another key', () => {
    expect(parseIdempotencyKey('Order')).not.toBe(parseIdempotencyKey('order'))
    expect(parseIdempotencyKey('" order"')).toBe(' order')
  })
})

describe('the hash', () => {
  const account = '01890000-0000-7000-8000-00000000000a'

  test('is 32 bytes in hex, and reveals nothing of the key', () => {
    expect(hashIdempotencyKey(account, 'order-1')).toMatch(/^[0-9a-f]{64}$/)
  })

  test('differs by account and by key, and by nothing else', () => {
    const other = '01890000-0000-7000-8000-00000000000b'
    expect(hashIdempotencyKey(account, 'a')).toBe(hashIdempotencyKey(account, 'a'))
    expect(hashIdempotencyKey(account, 'a')).not.toBe(hashIdempotencyKey(other, 'a'))
    expect(hashIdempotencyKey(account, 'a')).not.toBe(hashIdempotencyKey(account, 'b'))
  })
})

const content = Buffer.from('the content of a document, long enough for some lines')
const text = { contact: { value: '+4915112345678' }, message: { type: 'text', text: { value: 'Hello' } } }
const variables = [
  { key: 'name', value: 'Ann' },
  { key: 'code', value: '1' },
]
const template = withMessage({ type: 'template', template: { name: 'greeting', variables } })
const media = { mediaType: 'document', base64: content.toString('base64'), mimetype: 'text/plain' }
const mediaBody = withMediaFields({})

function withMessage(message: object) {
  return { ...text, message }
}

function withContact(fields: object) {
  return { ...text, contact: { ...text.contact, ...fields } }
}

function withMediaFields(fields: object) {
  return withMessage({ type: 'media', media: { ...media, filename: 'a.txt', caption: 'A', ...fields } })
}

function withTemplate(fields: object) {
  return withMessage({ type: 'template', template: { name: 'greeting', variables, ...fields } })
}

/** The fingerprint of a body as a client writes it. */
function printOf(body: object, channel = channelId): string {
  return fingerprint(channelInPath.parse(JSON.parse(JSON.stringify(body))), channel)
}

describe('the fingerprint is the same', () => {
  test('wherever the channel is named', () => {
    const inBody = channelInBody.parse({ channelId, ...text })
    expect(fingerprint(inBody, channelId)).toBe(printOf(text))
  })

  test.each<[string, object, object]>([
    [
      'fields in another order',
      {
        message: { text: { value: 'Hello' }, type: 'text' },
        contact: { name: 'Ann', type: 'phone', value: '+4915112345678' },
      },
      { ...text, contact: { value: '+4915112345678', type: 'phone', name: 'Ann' } },
    ],
    [
      'the fields of a template and its variables in another order',
      withMessage({
        template: { variables: variables.map(({ key, value }) => ({ value, key })), name: 'greeting' },
        type: 'template',
      }),
      template,
    ],
    [
      'the fields of media in another order',
      withMessage({ type: 'media', media: { caption: 'A', filename: 'a.txt', ...media } }),
      mediaBody,
    ],
    [
      'null for what is left out',
      {
        contact: { ...text.contact, type: null, name: null },
        message: { ...text.message, template: null, media: null, flowId: null, closeConversation: null },
        flowId: null,
        closeConversation: null,
      },
      text,
    ],
    ['the type of contact that is meant without one', withContact({ type: 'phone' }), text],
    ['a phone number spelled differently', withContact({ value: '0049 (151) 123-45.678' }), text],
    [
      'the domain of an address in capitals',
      withContact({ type: 'email', value: 'ann@EXAMPLE.com' }),
      withContact({ type: 'email', value: 'ann@example.com' }),
    ],
    ['flowId inside message', withMessage({ ...text.message, flowId }), { ...text, flowId }],
    [
      'closeConversation inside message',
      withMessage({ ...text.message, closeConversation: true }),
      { ...text, closeConversation: true },
    ],
    ['closeConversation: false', { ...text, closeConversation: false }, text],
    ['no variables and an empty list', withTemplate({ variables: null }), withTemplate({ variables: [] })],
    [
      'base64 with line breaks and without padding',
      withMediaFields({ base64: media.base64.replace(/=+$/, '').replace(/.{20}/g, '$&\r\n') }),
      mediaBody,
    ],
    [
      'base64 as a data: URL',
      withMediaFields({ base64: `data:text/plain;base64,${media.base64}`, mimetype: null }),
      mediaBody,
    ],
  ])('for %s', (_what, one, other) => {
    expect(printOf(one)).toBe(printOf(other))
  })
})

const prints: [string, string][] = [
  ['a text', printOf(text)],
  ['another channel', printOf(text, flowId)],
  ['another phone number', printOf(withContact({ value: '+4915112345679' }))],
  ['an e-mail address', printOf(withContact({ type: 'email', value: 'ann@example.com' }))],
  ['an address with another local part', printOf(withContact({ type: 'email', value: 'Ann@example.com' }))],
  ['a name', printOf(withContact({ name: 'Ann' }))],
  ['another name', printOf(withContact({ name: 'Anne' }))],
  ['another text', printOf(withMessage({ type: 'text', text: { value: 'hello' } }))],
  ['a text with a space more', printOf(withMessage({ type: 'text', text: { value: 'Hello ' } }))],
  ['a flow', printOf({ ...text, flowId })],
  ['another flow', printOf({ ...text, flowId: channelId })],
  ['closeConversation', printOf({ ...text, closeConversation: true })],
  ['a template', printOf(template)],
  ['a template of another name', printOf(withTemplate({ name: 'greetings' }))],
  ['a template without variables', printOf(withTemplate({ variables: [] }))],
  ['a template with a variable less', printOf(withTemplate({ variables: variables.slice(1) }))],
  ['a variable of another value', printOf(withTemplate({ variables: [{ key: 'name', value: 'Bob' }] }))],
  ['a variable of another key', printOf(withTemplate({ variables: [{ key: 'nick', value: 'Bob' }] }))],
  ['media', printOf(mediaBody)],
  ['media as another type', printOf(withMediaFields({ mediaType: 'audio' }))],
  ['media of another content', printOf(withMediaFields({ base64: 'QUJD' }))],
  ['media of another content of the same size', printOf(withMediaFields({ base64: 'QUJE' }))],
  ['media of another mimetype', printOf(withMediaFields({ mimetype: 'text/html' }))],
  ['media without a mimetype', printOf(withMediaFields({ mimetype: null }))],
  ['media of another filename', printOf(withMediaFields({ filename: 'b.txt' }))],
  ['media of another caption', printOf(withMediaFields({ caption: 'B' }))],
  ['media and a link', printOf(withMediaFields({ mediaUrl: 'https://example.com/a' }))],
  ['a link', printOf(withMediaFields({ base64: null, mediaUrl: 'https://example.com/a' }))],
  ['another link', printOf(withMediaFields({ base64: null, mediaUrl: 'https://example.com/b' }))],
]

test.each(prints)('the fingerprint of %s differs from all others', (name, print) => {
  expect(prints.filter(([, other]) => other === print).map(([other]) => other)).toEqual([name])
})

/** Fingerprints of an earlier release: a key is kept for 24 hours, and a repeat may come after an upgrade. */
const kept: [string, object, string][] = [
  ['a text', text, 'e214052e871500be8e1254ede633453a3da2b1da734c56e0bbdcaa0e97842f8e'],
  [
    'a text with all that stands beside it',
    {
      contact: { value: 'Ann@EXAMPLE.com', type: 'email', name: 'Ann' },
      message: text.message,
      flowId,
      closeConversation: true,
    },
    'f0198af89ba0e4cd9b7c05308957800cec078a84ce8039301e87a9329c20f7de',
  ],
  ['a template', template, '77ae290e9d9aa11995d3d4e39e8aa1bd02827a4adcf8eaf813d69d8827b289e1'],
  [
    'a template without variables',
    withTemplate({ variables: null }),
    '68d1c21aaf90bfdfd11aca80eb7568c8b8e410b6634e2379b3240fc5db8cd711',
  ],
  ['media', mediaBody, '7f14e0c69ef91990fa6afcc90764b46823da043005c09ba370f1cf4ea4fac5ba'],
  [
    'media by a link alone',
    withMediaFields({ base64: null, mediaUrl: 'https://example.com/a' }),
    '39c8cc1f66682ff62f9b15ab2b196d8f1c01943a0632167e06681d4707af37dc',
  ],
]

test.each(kept)('the fingerprint of %s stays as it is from release to release', (_what, body, print) => {
  expect(printOf(body)).toBe(print)
})

test('a field that a request gains is part of its fingerprint by itself, and no request without it gets another', () => {
  const asked = channelInPath.parse(text)
  const printWith = (gained: string | undefined) =>
    fingerprint(Object.assign({ ...asked }, { gained }), channelId)
  expect(printWith('x')).not.toBe(printWith('y'))
  expect(printWith('x')).not.toBe(fingerprint(asked, channelId))
  expect(printWith(undefined)).toBe(fingerprint(asked, channelId))
})
