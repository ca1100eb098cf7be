import { expect, test } from 'vitest'
import { maskText } from '../../../../src/core/contacts/mask-text.ts'
import { cpuMsOf } from '../../../support/cpu-time.ts'

const base64 = (text: string) => Buffer.from(text).toString('base64')

test.each<[string, string, string, string[]?]>([
  ['words alone', 'Username and Password not accepted.', 'Username and Password not accepted.'],
  ['short numbers', 'code 20003, 02-Feb-24 10:00:00, 550 5.7.1', 'code 20003, 02-Feb-24 10:00:00, 550 5.7.1'],
  [
    'long words and MIME types',
    'a misconfiguration: application/octet-stream',
    'a misconfiguration: application/octet-stream',
  ],
  ['a secret that is a long word', 'no correcthorsebatterystaple', 'no …', ['correcthorsebatterystaple']],
  ['a secret', 'wrong: s3 cret!', 'wrong: …', ['s3 cret!']],
  ['a secret each time', 'a s3cret, the s3cret', 'a …, the …', ['s3cret']],
  ['a secret in base64', `no ${base64('s3cret')}!`, 'no …!', ['s3cret']],
  ['a secret that another begins', 'no ann1234 for ann', 'no … for …', ['ann', 'ann1234']],
  ['a secret within what is longer', `x${base64('a longer one than thi')}x`, '…', ['YS']],
  ['secrets that overlap', 'abcdef', '…', ['abcd', 'cdef']],
  ['a secret of signs', 'no a.*b(, but aXb', 'no …, but aXb', ['a.*b(']],
  ['no secret that is empty', 'wrong login', 'wrong login', ['']],
  ['base64 of a login', `AUTH PLAIN ${base64('\0outbound\0pw')}`, 'AUTH PLAIN …'],
  ['base64 with its padding', `"${base64('1234567890123')}"`, '"…"'],
  ['hex', 'trace 0123456789abcdef0123456789abcdef.', 'trace ….'],
  ['an id', 'of AC0a0a0a0a0a0a0a0a', 'of …'],
  ['a URL', 'see https://example.com/a?token=x y', 'see … y'],
  ['a URL of another kind', '(SMTP://u:p@mail) no', '… no'],
  ['an address', '<ann@example.com>: unknown', '… unknown'],
  ['an address within another', 'bounce+ann=example.com@example.org gone', '… gone'],
  ['an encoded address', 'to ann%40example.com', 'to …'],
  ['a phone number', 'The number +4915112345678 is not valid', 'The number … is not valid'],
  ['a phone number in groups', 'to +49 151 1234-5678, now', 'to …, now'],
  ['a phone number with brackets', 'to (0151) 12345678', 'to (…'],
  ['a phone number with a trunk prefix', '+49 (0) 151 123456', '…'],
  ['a phone number with a dash of another kind', 'to \u202a+49\u2011151\u201312345678', 'to \u202a…'],
  ['a phone number with no-break spaces', '151\u00a0123\u00a045678', '…'],
])('%s: %s', (_, words, expected, secrets = []) => {
  expect(maskText(words, secrets)).toBe(expected)
})

test('a long text is cut, and never in the middle of a value that has to be masked', () => {
  const start = 'no '.repeat(331)
  const masked = maskText(`${start}s3 cret s3 cret and more`, ['s3 cret'])
  expect(masked).toBe(`${start}… … and`)
  expect(masked).toHaveLength(1000)
})

test.each(['a', 'ab ', '1', '1 ', '1   ', '+', '@', 'a@', '://', '=', '\n', 'http'])(
  'however long, it takes next to no time: %j',
  async (part) => {
    const words = part.repeat(2_000_000 / part.length)
    const took = await cpuMsOf(() => {
      maskText(words, [part, 'x'.repeat(4096)])
    })
    expect(took).toBeLessThan(250)
  },
)
