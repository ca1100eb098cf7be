import fc from 'fast-check'
import { SegmentedMessage } from 'sms-segments-calculator'
import { describe, expect, test } from 'vitest'
import {
  type SmsSize,
  sizeOfSms,
  smsSizeOf,
  smsSizeOfTemplate,
} from '../../../../src/core/messages/segments.ts'
import { providerOf } from '../../../../src/providers/known.ts'

const extension = '^{}\\[~]|€\f'
const family = '👨‍👩‍👧‍👦'

const gsm: [what: string, text: string, segments: number][] = [
  ['no character', '', 1],
  ['one', 'a', 1],
  ['160', 'a'.repeat(160), 1],
  ['161', 'a'.repeat(161), 2],
  ['2 × 153', 'a'.repeat(306), 2],
  ['2 × 153 + 1', 'a'.repeat(307), 3],
  ['3 × 153', 'a'.repeat(459), 3],
  ['10 × 153 + 1', 'a'.repeat(1531), 11],
  ['the whole alphabet', '@£$¥èéùìòÇØøÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !"#¤%&\'()*+,-./0123456789:;<=>?¡ÄÖÑÜ§¿äöñüà', 1],
  ['the whole extension', extension, 1],
  ['80 of the extension', '€'.repeat(80), 1],
  ['81 of the extension', '€'.repeat(81), 2],
  ['2 × 76 of the extension: the 153rd septet of a segment stays empty', '€'.repeat(152), 2],
  ['2 × 76 + 1 of the extension', '€'.repeat(153), 3],
  ['159 and one of the extension', `${'a'.repeat(159)}€`, 2],
  ['158 and one of the extension', `${'a'.repeat(158)}€`, 1],
  ['one of the extension at the boundary', `${'a'.repeat(152)}€${'a'.repeat(152)}`, 3],
  ['one of the extension right before the boundary', `${'a'.repeat(151)}€${'a'.repeat(153)}`, 2],
  ['line breaks of Windows, two characters each', 'a\r\n'.repeat(53), 1],
  ['a tilde, a pipe and braces', '~|{}', 1],
]

const ucs: [what: string, text: string, segments: number][] = [
  ['a curly quote', 'Don’t', 1],
  ['ç, which only the national table of Portugal and Turkey has', 'ç', 1],
  ['ş of the national table of Turkey', 'ş', 1],
  ['á of the national table of Spain', 'á', 1],
  ['a backtick', '`', 1],
  ['a tab', 'a\tb', 1],
  ['a no-break space', 'a\u00a0b', 1],
  ['a dash', 'a – b', 1],
  ['70', 'ж'.repeat(70), 1],
  ['71', 'ж'.repeat(71), 2],
  ['2 × 67', 'ж'.repeat(134), 2],
  ['2 × 67 + 1', 'ж'.repeat(135), 3],
  ['160 of which one is a curly quote', `${'a'.repeat(159)}’`, 3],
  ['an emoji', '😀', 1],
  ['35 emojis', '😀'.repeat(35), 1],
  ['36 emojis', '😀'.repeat(36), 2],
  ['66 emojis, 33 in each', '😀'.repeat(66), 2],
  ['67 emojis', '😀'.repeat(67), 3],
  ['a surrogate pair at the boundary', `${'ж'.repeat(66)}😀${'ж'.repeat(66)}`, 3],
  ['a surrogate pair right before the boundary', `${'ж'.repeat(65)}😀${'ж'.repeat(67)}`, 2],
  ['a character of the extension, which is one unit here', `’${'€'.repeat(69)}`, 1],
  ['a letter with a combining accent', 'e\u0301', 1],
  ['35 of them', 'e\u0301'.repeat(35), 1],
  ['36 of them', 'e\u0301'.repeat(36), 2],
  ['a combining accent at the boundary', `${'ж'.repeat(66)}e\u0301${'ж'.repeat(66)}`, 3],
  ['a family, of 11 units', family.repeat(6), 1],
  ['7 families, 6 in a segment', family.repeat(7), 2],
  ['13 families', family.repeat(13), 3],
  ['a flag at the boundary', `${'ж'.repeat(65)}🇩🇪${'ж'.repeat(66)}`, 3],
  ['a character longer than a segment', `e${'\u0301'.repeat(200)}`, 3],
]

describe.each([
  ['gsm-7', gsm],
  ['ucs-2', ucs],
] as const)('in %s', (encoding, table) => {
  test.each(table)('a text has the segments that a vendor bills: %s', (_, text, segments) => {
    expect(sizeOfSms(text)).toEqual({ segments, encoding })
  })
})

const byVendor = (text: string): SmsSize => {
  const { segmentsCount: segments, encodingName } = new SegmentedMessage(text)
  return { segments, encoding: encodingName === 'GSM-7' ? 'gsm-7' : 'ucs-2' }
}

// A character that is longer than a segment, of which Twilio's calculator makes one segment, is rare enough.
test('the segments of any text are those of the calculator that Twilio publishes', () => {
  const character = fc.constantFrom(
    ...'aZ0 \n@Δ',
    ...extension,
    '’',
    'ж',
    '你',
    '😀',
    'e\u0301',
    family,
    '🇩🇪',
    '\r\n',
  )
  const text = fc.array(character, { maxLength: 330 }).map((characters) => characters.join(''))
  const inGsm = fc
    .array(fc.constantFrom(...'aZ0 \n@Δ', ...extension), { maxLength: 330 })
    .map((all) => all.join(''))
  fc.assert(
    fc.property(fc.oneof(text, inGsm), (given) => {
      expect(sizeOfSms(given)).toEqual(byVendor(given))
    }),
    { numRuns: 300 },
  )
})

const phone = { type: 'phone' } as const
const text = { type: 'text', text: { value: 'Hello' } } as const

test('a text has segments only where it goes as SMS to a phone', () => {
  expect(smsSizeOf(providerOf('sandbox'), phone, text)).toEqual({ segments: 1, encoding: 'gsm-7' })
  expect(smsSizeOf(providerOf('telnyx'), phone, text)).toBeDefined()
  expect(smsSizeOf(providerOf('sandbox'), { type: 'email' }, text)).toBeUndefined()
  for (const name of ['webhook', 'whatsapp-cloud', 'smtp', 'resend', 'postmark'])
    expect(smsSizeOf(providerOf(name), phone, text)).toBeUndefined()
  const media = {
    type: 'media',
    media: { mediaType: 'image', mediaUrl: 'https://example.com/a.png' },
  } as const
  expect(smsSizeOf(providerOf('sandbox'), phone, media)).toBeUndefined()
})

test.each([
  ['twilio', { from: '+15550100100' }, true],
  ['twilio', { from: 'whatsapp:+15550100100' }, undefined],
  ['vonage', { via: 'sms' }, true],
  ['vonage', { via: 'whatsapp' }, undefined],
])('a channel of %s with %j sends SMS: %s', (name, config, sendsSms) => {
  expect(providerOf(name).limitsOf?.(config)).toEqual(
    sendsSms ? expect.objectContaining({ sendsSms }) : expect.not.objectContaining({ sendsSms: true }),
  )
})

test('a template has the segments of its text: filled in a send, without its variables where it is registered', () => {
  const rules = providerOf('sandbox')
  const definition = { text: `${'a'.repeat(160)}{{name}}` }
  const variables = [{ key: 'name', value: '’' }]
  const template = { name: 'greeting', variables }
  expect(smsSizeOfTemplate(rules, definition)).toEqual({ segments: 1, encoding: 'gsm-7' })
  expect(smsSizeOf(rules, phone, { type: 'template', template: { ...template, definition } })).toEqual({
    segments: 3,
    encoding: 'ucs-2',
  })
  expect(smsSizeOf(rules, phone, { type: 'template', template })).toBeUndefined()
  expect(smsSizeOfTemplate(providerOf('twilio'), { contentSid: 'HX', variables: {} })).toBeUndefined()
})
