import { eq } from 'drizzle-orm'
import { describe, expect, test } from 'vitest'
import { sends } from '../../db/schema.ts'
import type { Answer } from '../support/answer.ts'
import { buildAccount, post, request, textBody } from '../support/builders.ts'
import { expectError, expectFault } from '../support/expect-error.ts'
import { serviceOfFile } from '../support/service.ts'

const service = await serviceOfFile()
const account = await buildAccount(service)
const stranger = await buildAccount(service)

type Body = Record<string, unknown>

const phone = { value: '+4915112345678' }
const text = { type: 'text', text: { value: 'Hello' } }
const emoji = '😀'

function postInBody(body: Body): Promise<Answer> {
  return request(service, '/v1/messages', {
    method: 'POST',
    headers: { Authorization: `Bearer ${account.apiKey}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ channelId: account.channelId, ...body }),
  })
}

const endpoints: [string, (body: Body) => Promise<Answer>][] = [
  ['channel in the path', (body) => post(service, account, body)],
  ['channel in the body', postInBody],
]

function contact(fields: object): Body {
  return { contact: { ...phone, ...fields }, message: text }
}

function template(fields: object): Body {
  return { contact: phone, message: { type: 'template', template: { name: 'welcome', ...fields } } }
}

function media(fields: object): Body {
  return {
    contact: phone,
    message: { type: 'media', media: { mediaType: 'document', base64: 'QUJD', ...fields } },
  }
}

async function expectTaken(body: Body) {
  const answer = await post(service, account, body)
  expect(answer.body).toStrictEqual({ requestId: expect.any(String) })
  const { db } = service.runtime
  const [row] = await db.select().from(sends).where(eq(sends.requestId, answer.body.requestId))
  if (!row) throw new Error('not recorded')
  return row
}

describe.each(endpoints)('%s: required', (_endpoint, send) => {
  test.each([
    ['contact', { message: text }],
    ['contact', { contact: null, message: text }],
    ['contact.value', { contact: {}, message: text }],
    ['contact.value', { contact: { value: null }, message: text }],
    ['message', { contact: phone }],
    ['message', { contact: phone, message: null }],
    ['message.type', { contact: phone, message: { text: { value: 'x' } } }],
    ['message.type', { contact: phone, message: { type: null, text: { value: 'x' } } }],
    ['message.text', { contact: phone, message: { type: 'text' } }],
    ['message.text', { contact: phone, message: { type: 'text', text: null } }],
    ['message.text.value', { contact: phone, message: { type: 'text', text: {} } }],
    ['message.template', { contact: phone, message: { type: 'template' } }],
    ['message.template.name', { contact: phone, message: { type: 'template', template: {} } }],
    ['message.media', { contact: phone, message: { type: 'media' } }],
    ['message.media.mediaType', { contact: phone, message: { type: 'media', media: { base64: 'QUJD' } } }],
    ['message.media', { contact: phone, message: { type: 'media', media: { mediaType: 'document' } } }],
    [
      'message.media',
      {
        contact: phone,
        message: { type: 'media', media: { mediaType: 'image', base64: null, mediaUrl: null } },
      },
    ],
  ])('%s', async (path, body) => {
    await expectFault(service, await send(body), path)
  })
})

test('the 400 for media without content names both fields that it may have', async () => {
  const body = { contact: phone, message: { type: 'media', media: { mediaType: 'image' } } }
  expectError(await post(service, account, body), 400, 'message.media: send base64 or mediaUrl')
})

describe('channelId', () => {
  test('is refused in the body where the path names the channel', async () => {
    const body = { ...textBody(), channelId: account.channelId }
    await expectFault(service, await post(service, account, body), 'channelId')
  })

  test.each([
    ['absent', undefined],
    ['null', null],
    ['a number', 7],
    ['an object', {}],
  ])('%s is refused where the body has to name the channel', async (_what, channelId) => {
    await expectFault(service, await postInBody({ ...textBody(), channelId }), 'channelId')
  })
})

describe('an unknown field is refused, so that a mistyped one is never ignored', () => {
  test.each([
    ['closeConverastion', { ...textBody(), closeConverastion: true }],
    ['CloseConversation', { ...textBody(), CloseConversation: true }],
    ['unknown', { ...textBody(), unknown: null }],
    ['contact.phone', contact({ phone: '1' })],
    ['message.closeConverastion', { contact: phone, message: { ...text, closeConverastion: true } }],
    ['message.text.body', { contact: phone, message: { type: 'text', text: { value: 'x', body: 'y' } } }],
    ['message.template.language', template({ language: 'de' })],
    ['message.template.variables[0].type', template({ variables: [{ key: 'k', value: 'v', type: 'x' }] })],
    ['message.media.url', media({ url: 'https://example.com/' })],
  ])('%s', async (path, body) => {
    await expectFault(service, await post(service, account, body), path)
  })
})

describe('a value of the wrong type is refused, never converted', () => {
  test.each([
    ['contact', { contact: '+4915112345678', message: text }],
    ['contact', { contact: [phone], message: text }],
    ['contact.value', contact({ value: 4915112345678 })],
    ['contact.type', contact({ type: 1 })],
    ['contact.name', contact({ name: 1 })],
    ['message', { contact: phone, message: 'Hello' }],
    ['message.type', { contact: phone, message: { type: ['text'], text: { value: 'x' } } }],
    ['message.text', { contact: phone, message: { type: 'text', text: 'Hello' } }],
    ['message.text.value', { contact: phone, message: { type: 'text', text: { value: 1 } } }],
    ['message.text.value', { contact: phone, message: { type: 'text', text: { value: true } } }],
    ['message.template', { contact: phone, message: { type: 'template', template: 'welcome' } }],
    ['message.template.name', template({ name: 1 })],
    ['message.template.variables', template({ variables: { key: 'k', value: 'v' } })],
    ['message.template.variables[0]', template({ variables: ['v'] })],
    ['message.template.variables[0].value', template({ variables: [{ key: 'k', value: 1 }] })],
    ['message.template.variables[0].value', template({ variables: [{ key: 'k', value: null }] })],
    [
      'message.template.variables[1].key',
      template({ variables: [{ key: 'k', value: 'v' }, { value: 'v' }] }),
    ],
    ['message.media', { contact: phone, message: { type: 'media', media: [] } }],
    ['message.media.filename', media({ filename: 1 })],
    ['message.media.base64', media({ base64: 1 })],
    ['message.media.mediaUrl', media({ mediaUrl: {} })],
    ['flowId', { ...textBody(), flowId: 1 }],
    ['closeConversation', { ...textBody(), closeConversation: 'true' }],
    ['closeConversation', { ...textBody(), closeConversation: 1 }],
    ['message.closeConversation', { contact: phone, message: { ...text, closeConversation: 'no' } }],
  ])('%s', async (path, body) => {
    await expectFault(service, await post(service, account, body), path)
  })
})

describe('contact', () => {
  test.each(['sms', 'PHONE', '', 'whatsapp'])('type %j is refused', async (type) => {
    await expectFault(service, await post(service, account, contact({ type })), 'contact.type')
  })

  test('a type that is absent or null is phone', async () => {
    for (const fields of [{}, { type: null }]) {
      expect((await expectTaken(contact(fields))).contactType).toBe('phone')
    }
  })

  test.each([
    ['six digits', '+491511'],
    ['sixteen digits', '+4915112345678901'],
    ['a leading 0', '015112345678'],
    ['a leading 0 after the +', '+0491511234'],
    ['three zeros in front', '00049151123456'],
    ['two plus signs', '++4915112345678'],
    ['a plus sign inside', '49+15112345678'],
    ['letters', '+49151CALLME1'],
    ['an extension', '+4915112345678;ext=1'],
    ['digits of another script', '+٤٩١٥١١٢٣٤٥٦٧'],
    ['a slash', '+49 151/12345678'],
    ['a line break', '+4915112345678\n'],
    ['nothing', ''],
    ['separators only', '+ (--) ..'],
    ['an e-mail address', 'jane@example.com'],
  ])('a phone number of %s is refused', async (_what, value) => {
    await expectFault(service, await post(service, account, contact({ value })), 'contact.value')
  })

  test.each([{}, { type: null }, { type: 'phone' }])(
    'what looks like an e-mail address is told to set contact.type: %j',
    async (type) => {
      for (const value of [
        'jane@example.com',
        'Jane@EXÄMPLE.com',
        'Jane <jane@localhost>',
        ' jane@example.com ',
      ]) {
        const answer = await post(service, account, contact({ value, ...type }))
        await expectFault(service, answer, 'contact.value')
        expect(answer.body.message).toContain('for an e-mail address, set contact.type to "email"')
      }
    },
  )

  test.each([
    [
      '(212) 555-1234',
      'has no country code; write the number with + and its country code, such as +4915112345678',
    ],
    ['+999999999999', 'begins with a country code that no country has'],
    ['+2125551234', 'is too short for the country code +212, after which 9 digits come'],
    ['491512345678.0', 'ends like a number with decimals; write it as text, such as +4915112345678'],
  ])('a number that no country has is refused, and its 400 says why: %j', async (value, why) => {
    const answer = await post(service, account, contact({ value }))
    await expectFault(service, answer, 'contact.value')
    expect(answer.body.message).toBe(`contact.value: ${why}`)
  })

  test.each([
    ...['\u202a', '\u202b', '\u202c', '\u202d', '\u202e', '\u2066', '\u2067', '\u2068', '\u2069'],
    ...['\u200e', '\u200f', '\u061c'],
  ])('a filename with a direction mark is refused, and the 400 names it: %j', async (mark) => {
    const media = {
      mediaType: 'document',
      mediaUrl: 'https://example.com/a',
      filename: `annexe${mark}gpj.exe`,
    }
    const body = { ...contact({ value: '+4915112345678' }), message: { type: 'media', media } }
    const answer = await post(service, account, body)
    await expectFault(service, answer, 'message.media.filename')
    const code = mark.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')
    expect(answer.body.message).toContain(`contains a direction mark (U+${code}): leave it out`)
    expect(answer.body.message).not.toContain(mark)
  })

  test('no other phone number is', async () => {
    const answer = await post(service, account, contact({ value: '12' }))
    expect(answer.body.message).toBe(
      'contact.value: has to be a phone number (7 to 15 digits, with the country code)',
    )
  })

  test.each([
    ['+4915112345678', '+4915112345678'],
    ['4915112345678', '+4915112345678'],
    ['004915112345678', '+4915112345678'],
    [' (+49) 151-123.45 678 ', '+4915112345678'],
    ['\u202a+49\u00a0(0)\u00a0151\u201112345678\u202c', '+4915112345678'],
    ['+6834002', '+6834002'],
    ['+39 (0)6 12345678', '+390612345678'],
    ['+883510012345678', '+883510012345678'],
  ])('the phone number %j is stored as %s', async (value, stored) => {
    expect(await expectTaken(textBody('x', value))).toMatchObject({
      contactType: 'phone',
      contactValue: stored,
    })
  })

  const email = (value: string) => contact({ type: 'email', value })
  const local64 = 'a'.repeat(64)
  const addressOf = (length: number) =>
    `${local64}@${`${'d'.repeat(60)}.`.repeat(3)}${'d'.repeat(length - 251)}.de`
  test.each([
    ['no @', 'jane.example.com'],
    ['no local part', '@example.com'],
    ['no domain', 'jane@'],
    ['a bare host name', 'jane@localhost'],
    ['two @', 'jane@home@example.com'],
    ['a space', 'jane doe@example.com'],
    ['a space around', ' jane@example.com'],
    ['two dots in a row', 'jane..doe@example.com'],
    ['a dot at the end of the local part', 'jane.@example.com'],
    ['an empty label', 'jane@example..com'],
    ['a label that begins with a dash', 'jane@-example.com'],
    ['a header behind it', 'jane@example.com\r\nBcc: all@example.com'],
    ['a name around it', 'Jane <jane@example.com>'],
    ['a second address', 'jane@example.com,joe@example.com'],
    ['a local part of 65 characters', `${'a'.repeat(65)}@example.com`],
    ['255 characters', addressOf(255)],
    ['a phone number', '+4915112345678'],
  ])('an e-mail address of %s is refused', async (_what, value) => {
    await expectFault(service, await post(service, account, email(value)), 'contact.value')
  })

  test.each([
    ['a domain in capitals is lowered, the local part stays', 'Jane.Doe@Example.COM', 'Jane.Doe@example.com'],
    ['a tag stays', 'jane+tag@example.co.uk', 'jane+tag@example.co.uk'],
    ['64 characters before the @', `${local64}@example.com`, `${local64}@example.com`],
    ['254 characters', addressOf(254), addressOf(254)],
  ])('an e-mail address: %s', async (_what, value, stored) => {
    expect(stored.length).toBe(value.length)
    expect(await expectTaken(email(value))).toMatchObject({ contactType: 'email', contactValue: stored })
  })

  test('a name of 256 characters is stored, one of 257 is refused', async () => {
    for (const letter of ['n', emoji]) {
      const name = letter.repeat(256)
      expect((await expectTaken(contact({ name }))).contactName).toBe(name)
      const answer = await post(service, account, contact({ name: name + letter }))
      await expectFault(service, answer, 'contact.name')
    }
  })

  test.each(['\n', '\r', '\t', '\x1b', '\x7f', '\x85'])('a name with %j is refused', async (control) => {
    const answer = await post(service, account, contact({ name: `Jane${control}Doe` }))
    await expectFault(service, answer, 'contact.name')
  })
})

describe('message.type', () => {
  test.each(['TEXT', 'sms', '', 'image', '__proto__'])('%j is refused', async (type) => {
    const body = { contact: phone, message: { ...text, type } }
    await expectFault(service, await post(service, account, body), 'message.type')
  })

  const contents = {
    text: { value: 'x' },
    template: { name: 'welcome' },
    media: { mediaType: 'document', base64: 'QUJD' },
  }
  const pairs = (['text', 'template', 'media'] as const).flatMap((type) =>
    (['text', 'template', 'media'] as const)
      .filter((other) => other !== type)
      .map((other) => [other, type] as const),
  )
  test.each(pairs)('%s beside type %s is refused', async (other, type) => {
    const message = { type, [type]: contents[type], [other]: contents[other] }
    await expectFault(service, await post(service, account, { contact: phone, message }), `message.${other}`)
  })

  test.each(pairs)('%s in place of %s is refused', async (other, type) => {
    const body = { contact: phone, message: { type, [other]: contents[other] } }
    const answer = await post(service, account, body)
    await expectFault(service, answer, `message.${type}`)
    await expectFault(service, answer, `message.${other}`)
  })
})

describe('text.value', () => {
  test.each([
    ['1 character', 'x'],
    ['1 character among white space', ' x\n'],
    ['4096 characters', 'x'.repeat(4096)],
    ['4096 emoji', emoji.repeat(4096)],
  ])('%s is taken as it is', async (_what, value) => {
    expect((await expectTaken(textBody(value))).message).toStrictEqual({ type: 'text', text: { value } })
  })

  test.each([
    ['0 characters', ''],
    ['4097 characters', 'x'.repeat(4097)],
    ['4097 emoji', emoji.repeat(4097)],
    ['a million characters', 'x'.repeat(1_000_000)],
  ])('%s is refused', async (_what, value) => {
    await expectFault(service, await post(service, account, textBody(value)), 'message.text.value')
  })
})

describe('template', () => {
  const variables = (count: number) =>
    Array.from({ length: count }, (_, i) => ({ key: `k${i}`, value: `v${i}` }))
  test.each([
    ['a name of 512 characters', { name: 'n'.repeat(512) }],
    ['a name of 512 emoji', { name: emoji.repeat(512) }],
    ['100 variables', { variables: variables(100) }],
    ['a key of 64 characters', { variables: [{ key: 'k'.repeat(64), value: 'v' }] }],
    ['a value of 4096 characters', { variables: [{ key: 'k', value: 'v'.repeat(4096) }] }],
    ['an empty value', { variables: [{ key: 'k', value: '' }] }],
    [
      'keys that differ in case only',
      {
        variables: [
          { key: 'a', value: '' },
          { key: 'A', value: '' },
        ],
      },
    ],
    ['a key named __proto__', { variables: [{ key: '__proto__', value: 'v' }] }],
  ])('%s is taken as it is', async (_what, fields) => {
    expect((await expectTaken(template(fields))).message).toStrictEqual({
      type: 'template',
      template: { name: 'welcome', variables: [], ...fields },
    })
  })

  test.each([
    ['absent', {}],
    ['null', { variables: null }],
    ['empty', { variables: [] }],
  ])('variables that are %s are none', async (_what, fields) => {
    expect((await expectTaken(template(fields))).message).toStrictEqual({
      type: 'template',
      template: { name: 'welcome', variables: [] },
    })
  })

  test.each([
    ['an empty name', { name: '' }, 'name'],
    ['a name of 513 characters', { name: 'n'.repeat(513) }, 'name'],
    ['a control character in the name', { name: 'wel\ncome' }, 'name'],
    ['101 variables', { variables: variables(101) }, 'variables'],
    ['an empty key', { variables: [{ key: '', value: 'v' }] }, 'variables[0].key'],
    ['a control character in a key', { variables: [{ key: 'a\nb', value: 'v' }] }, 'variables[0].key'],
    ['a key of 65 characters', { variables: [{ key: 'k'.repeat(65), value: 'v' }] }, 'variables[0].key'],
    [
      'a value of 4097 characters',
      { variables: [...variables(1), { key: 'k', value: 'v'.repeat(4097) }] },
      'variables[1].value',
    ],
    [
      'a key given twice',
      { variables: [...variables(2), { key: 'k0', value: 'other' }] },
      'variables[2].key',
    ],
  ])('%s is refused', async (_what, fields, path) => {
    await expectFault(service, await post(service, account, template(fields)), `message.template.${path}`)
  })
})

describe('flowId and closeConversation', () => {
  test.each([
    ['two flows', () => ({ flowId: account.flowId }), () => ({ flowId: stranger.flowId }), 'flowId'],
    [
      'true and false',
      () => ({ closeConversation: true }),
      () => ({ closeConversation: false }),
      'closeConversation',
    ],
    [
      'false and true',
      () => ({ closeConversation: false }),
      () => ({ closeConversation: true }),
      'closeConversation',
    ],
  ])('%s in the two places are refused', async (_what, outside, inside, path) => {
    for (const [, send] of endpoints) {
      const answer = await send({ contact: phone, ...outside(), message: { ...text, ...inside() } })
      await expectFault(service, answer, path)
    }
  })

  test('null in one place leaves the value in the other', async () => {
    const { flowId } = account
    const row = await expectTaken({
      contact: phone,
      flowId,
      closeConversation: null,
      message: { ...text, flowId: null, closeConversation: true },
    })
    expect(row).toMatchObject({ flowId, closeConversation: true })
  })

  test.each([
    ['of no account', () => '01890000-0000-7000-8000-000000000000'],
    ['of another account', () => stranger.flowId],
    ['in capitals', () => account.flowId.toUpperCase()],
    ['with a space', () => `${account.flowId} `],
    ['that is no uuid', () => 'no uuid'],
    ['that is empty', () => ''],
    ['that is very long', () => 'f'.repeat(100_000)],
  ])('a flow %s is "No such flow", in either place', async (_what, flowId) => {
    const outside = await post(service, account, { ...textBody(), flowId: flowId() })
    expectError(outside, 400, 'flowId: no such flow')
    const inside = await postInBody({ contact: phone, message: { ...text, flowId: flowId() } })
    expectError(inside, 400, 'flowId: no such flow')
  })
})

describe('a 400 names every faulty field', () => {
  test('across the whole body', async () => {
    const answer = await post(service, account, {
      contact: { value: 'x', type: 'phone', name: 'a\nb', nick: 'y' },
      message: { type: 'text', text: { value: '' }, closeConversation: 1 },
      flowId: 1,
      surplus: 1,
    })
    for (const path of [
      'contact.name',
      'contact.nick',
      'message.text.value',
      'message.closeConversation',
      'flowId',
      'surplus',
    ]) {
      await expectFault(service, answer, path)
    }
  })

  test.each([
    ['a wrong contact value beside a wrong name', contact({ value: 'x', name: 'a\nb' }), 'contact.value'],
    ['no content beside an unknown field', media({ base64: null, surplus: 1 }), 'message.media'],
    [
      'no sub-object beside an unknown field',
      { contact: phone, message: { type: 'text', surplus: 1 } },
      'message.text',
    ],
    [
      'differing places beside an unknown field',
      { ...textBody(), surplus: 1, closeConversation: true, message: { ...text, closeConversation: false } },
      'closeConversation',
    ],
  ])('%s', async (_what, body, path) => {
    await expectFault(service, await post(service, account, body), path)
  })

  test('a very long name of a field is not repeated in full', async () => {
    const answer = await post(service, account, { ...textBody(), ['x'.repeat(100_000)]: 1 })
    expectError(answer, 400, /^x+: unknown field$/)
    expect(answer.body.message.length).toBeLessThan(200)
  })
})

test('a 400 never repeats a value', async () => {
  const secret = 'hunter2'
  const answer = await post(service, account, {
    contact: { value: secret, type: secret, name: `${secret}\n` },
    message: { type: secret, media: { mediaType: secret, mediaUrl: secret, filename: `/${secret}` } },
    closeConversation: secret,
  })
  expectError(answer, 400)
  expect(JSON.stringify(answer.body)).not.toContain(secret)
})
