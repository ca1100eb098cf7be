import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { contactKinds, contactTypes } from '../../../../src/core/contacts/contact.ts'
import { type PastedKindName, pastedKinds, recognise } from '../../../../src/core/search/recognise.ts'
import { isKnownCode, meaningsOf } from '../../../../src/providers/look-up-code.ts'
import { cpuMsOf } from '../../../support/cpu-time.ts'

const id = '01a1fde3-04b0-709e-bec0-b940cc7af3c0'
const other = '01a1fde3-04b0-709e-bec0-b940cc7af3c1'
const sid = 'SM0123456789abcdef0123456789abcdef'

const cases: [text: string, kind: PastedKindName, values: string[]][] = [
  [`{"channelId":"${other}","requestId":"${id}"}`, 'requestId', [id]],
  [`{"channelId":"${other}","requestId":"${id}"}`, 'namedId', [other]],
  [`webhook-id: ${id}-3`, 'namedId', [id]],
  [id.toUpperCase(), 'id', [id]],
  [`https://console.example.com/channels/${id}`, 'id', [id]],
  ["my code for +49 151 12345678 didn't arrive", 'phone', ['+4915112345678']],
  ['ring 0049 (0)151 / 123 456 78, please', 'phone', ['+4915112345678']],
  ['to=%2B4915112345678&x=1', 'phone', ['+4915112345678']],
  ['tel:+49-151-12345678.', 'phone', ['+4915112345678']],
  ['WhatsApp: \u202a+49\u00a0151\u00a012345678\u202c', 'phone', ['+4915112345678']],
  ['＋４９ １５１ １２３４５６７８', 'phone', ['+4915112345678']],
  ['+49 151 12345678 and +44 20 79460000', 'phone', ['+4915112345678', '+442079460000']],
  ['2026-11-25 14:02:11 4915112345678 from 192.0.2.77', 'phone', ['4915112345678'].map((n) => `+${n}`)],
  [`{"id":"${sid}","n":12}`, 'phone', []],
  ['order 4711', 'phone', []],
  ['it is 0151 12345678', 'localNumber', ['0151 12345678']],
  ['it is 0049 151 12345678', 'localNumber', []],
  ['From: Bob <Bob@Example.ORG>', 'email', ['Bob@example.org']],
  ["mailto:ann@example.com. It's hers", 'email', ['ann@example.com']],
  ["'ann.o'neil@example.com'", 'email', ["ann.o'neil@example.com"]],
  ['ann%40example.com', 'email', ['ann@example.com']],
  ['@ann at example', 'email', []],
  ['4915112345678@example.com', 'phone', []],
  [`client: {"sid": "${sid}", "status": "queued"}`, 'messageId', [sid]],
  ['sent wamid.HBgNNDkxNTE=, no receipt', 'messageId', ['wamid.HBgNNDkxNTE=']],
  [
    'message_uuid=aaaaaaaa-bbbb-4ccc-8ddd-0123456789ab',
    'messageId',
    ['aaaaaaaa-bbbb-4ccc-8ddd-0123456789ab'],
  ],
  ['where is my message?', 'messageId', []],
  [
    'Message-ID is <4711.abc@mail.example>',
    'possibleMessageId',
    ['<4711.abc@mail.example>', '4711.abc@mail.example'],
  ],
  ['why 131047?', 'code', ['131047']],
  ['Error 21610', 'code', ['21610']],
  ['550 5.1.1 unknown user', 'code', ['5.1.1']],
  ['"ErrorCode":"30003"', 'code', ['30003']],
  ['(#100) Invalid parameter', 'code', ['100']],
  ['100', 'code', ['100']],
  ['100 messages of 2026', 'code', []],
  ['resend says daily_quota_exceeded', 'code', ['daily_quota_exceeded']],
  ['code constructor', 'code', []],
  ['__proto__', 'code', []],
]

test.each(contactTypes)('a contact of each kind is found in a sentence, once: %s', (type) => {
  const { example } = contactKinds[type]
  expect(recognise(`${example} got nothing, says ${example.toUpperCase()}.`, isKnownCode)[type]).toEqual([
    example,
  ])
})

test.each(cases)('in “%s” it finds, as %s, %j', (text, kind, values) => {
  expect(recognise(text, isKnownCode)[kind]).toEqual(values)
})

test.each([
  ['order #4711/A', ['order #4711/A', '#4711/A']],
  ['where is "spring sale"?', ['spring sale']],
  ['{"reference":"spring-sale","x":1}', ['spring-sale']],
  ['is ORD-2026-77 there?', ['ORD-2026-77']],
])('as a reference of “%s” it finds %j', (text, some) => {
  expect(recognise(text, isKnownCode).reference).toEqual(expect.arrayContaining(some))
})

test('where other digits stand beside a number, it gives the shorter ones that it may be apart, the longest first', () => {
  expect(recognise('4 4915112345678', isKnownCode)).toMatchObject({
    phone: ['+4915112345678'],
    possiblePhone: [],
  })
  expect(recognise('49 4915112345678', isKnownCode)).toMatchObject({
    phone: ['+494915112345678'],
    possiblePhone: ['+4915112345678'],
  })
  expect(recognise('+49 151 12345678 3 times', isKnownCode)).toMatchObject({
    phone: ['+49151123456783'],
    possiblePhone: ['+4915112345678'],
  })
  expect(recognise('0151 12345678', isKnownCode)).toMatchObject({ phone: [], possiblePhone: [] })
})

describe('a code', () => {
  test.each([
    ['131047', 'whatsapp-cloud', 'only a template can be sent', 'a replay would be refused again'],
    ['21610', 'twilio', 'unsubscribed', 'is suppressed for this channel'],
    ['5.1.1', 'smtp', 'no such mailbox', 'It concerns this contact.'],
    ['20003', 'twilio', 'credentials', 'resume the channel'],
    ['131056', 'whatsapp-cloud', 'oo many messages', 'It is tried again by itself.'],
    ['550', 'smtp', 'no such mailbox', 'Fix the cause'],
  ])('%s of %s has its meaning, and what to do', (code, provider, meaning, advice) => {
    const found = meaningsOf(code).find((one) => one.provider === provider)
    expect(found?.meaning).toContain(meaning)
    expect(found?.advice).toContain(advice)
  })
})

describe('any text', () => {
  const texts = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 300 }),
    fc
      .array(
        fc.constantFrom('+49', ' ', '151', '12345678', '@', 'a', '.', id, sid, '<', '"', '\0', '\ud800', '-'),
        { maxLength: 40 },
      )
      .map((parts) => parts.join('')),
  )

  test('is read without a fault, into few values that PostgreSQL can compare', () => {
    fc.assert(
      fc.property(texts, (text) => {
        for (const values of Object.values(recognise(text, isKnownCode))) {
          expect(values.length).toBeLessThanOrEqual(20)
          expect(new Set(values).size).toBe(values.length)
          for (const value of values)
            expect(value.isWellFormed() && !value.includes('\0') && value !== '').toBe(true)
        }
      }),
    )
  })

  test('around a number or an address hides neither', () => {
    const around = fc.stringMatching(/^[ a-z,;:!?]{0,40}$/)
    fc.assert(
      fc.property(around, around, (before, after) => {
        const found = recognise(
          `${before} +49 151 12345678 ${after} <ann@example.com> ${before}`,
          isKnownCode,
        )
        expect(found.phone).toEqual(['+4915112345678'])
        expect(found.email).toEqual(['ann@example.com'])
      }),
    )
  })

  test('however long or odd it is, takes little time', async () => {
    const pieces = [
      'a',
      '1',
      '1 ',
      '+',
      '+1',
      '(0',
      '@',
      'a@',
      'a@a.',
      '<',
      '"',
      'sid=',
      'code ',
      '5.1.',
      '-',
      'a-',
      id,
      '\u202a',
      'reference=',
    ]
    for (const piece of pieces) {
      const text = piece.repeat(250_000 / piece.length)
      expect(await cpuMsOf(() => void recognise(text, isKnownCode)), piece).toBeLessThan(1000)
    }
  })
})

test('each kind is called something', () => {
  for (const { called } of Object.values(pastedKinds)) expect(called).toMatch(/^(an?|the) /)
})
