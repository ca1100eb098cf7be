import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { decodeBase64, decodeDigits } from '../../../../src/core/requests/base64.ts'
import { cpuMsOf } from '../../../support/cpu-time.ts'

const max = 1024

function decoded(value: string, maxBytes = max) {
  const result = decodeBase64(value, maxBytes)
  if ('issue' in result) throw new Error(result.issue)
  return result
}

test('any bytes are decoded as they were, in every way to write them', () => {
  for (let length = 1; length <= 100; length++) {
    const content = randomBytes(length)
    const base64 = content.toString('base64')
    const lines = base64.replace(/(.{5})/g, '$1\r\n')
    const bare = base64.replace(/=+$/, '')
    for (const value of [base64, lines, bare, `data:image/png;base64,${base64}`, `data:;base64,${bare}`]) {
      expect(decoded(value).content, value).toEqual(content)
    }
  }
})

test.each([
  ['QUJD', undefined],
  ['data:image/png;base64,QUJD', 'image/png'],
  ['data:image/svg+xml;charset=utf-8;base64,QUJD', 'image/svg+xml;charset=utf-8'],
  [
    'data:text/calendar;method=REQUEST;charset=UTF-8;base64,QUJD',
    'text/calendar;method=REQUEST;charset=UTF-8',
  ],
  ['data:text/plain;charset=ü;base64,QUJD', 'text/plain'],
  ['data:application/vnd.ms-excel;base64,QUJD', 'application/vnd.ms-excel'],
  ['data:;base64,QUJD', undefined],
  ['data:;charset=utf-8;base64,QUJD', undefined],
])('the type of %s is %s', (value, mimetype) => {
  expect(decoded(value)).toEqual({ content: Buffer.from('ABC'), mimetype })
})

test.each([
  '',
  '=',
  '==',
  '\n',
  'Q',
  'QUJDR',
  'Q===',
  'QQ=Q',
  '=QQ=',
  'QQ==QQ==',
  '-_-_',
  'QU JD',
  'QU\tJD',
  'QUJD\0',
  'QUJD;',
  'QUJDé',
  'data:',
  'data:,QUJD',
  'data:image/png,QUJD',
  'data:image/png;base64',
  'data:image/png;base64,',
  'data:image/png;base64;QUJD',
  'data:image/png;charset=utf-8,QUJD',
  'DATA:image/png;base64,QUJD',
  ' data:image/png;base64,QUJD',
  `data:${'x'.repeat(2000)};base64,QUJD`,
])('%j is refused with a reason', (value) => {
  expect(decodeBase64(value, max)).toEqual({ issue: expect.stringMatching(/./) })
})

test.each([
  ['with padding', (content: Buffer) => content.toString('base64')],
  ['without padding', (content: Buffer) => content.toString('base64').replace(/=+$/, '')],
  ['in lines', (content: Buffer) => content.toString('base64').replace(/(.{76})/g, '$1\r\n')],
  ['as a data: URL', (content: Buffer) => `data:text/plain;base64,${content.toString('base64')}`],
])('the limit counts decoded bytes: %s', (_how, encode) => {
  for (const limit of [1, 2, 3, 4, 5, 100, 101, 102]) {
    expect(decoded(encode(Buffer.alloc(limit)), limit).content).toHaveLength(limit)
    expect(decodeBase64(encode(Buffer.alloc(limit + 1)), limit)).toEqual({
      issue: `more than ${limit} bytes when decoded`,
    })
  }
})

test.each([
  ['line breaks', '\n'.repeat(2_000_000)],
  ['line breaks and a wrong character', `${'\r\n'.repeat(1_000_000)}!`],
  ['padding', '='.repeat(2_000_000)],
  ['letters and a wrong character', `${'A'.repeat(2_000_000)}!`],
  ['the head of a data: URL', `data:${'a;'.repeat(1_000_000)}`],
  ['parameters of a data: URL', `data:a/b${';a=b'.repeat(500_000)}`],
])('two million characters of %s are checked quickly', async (_what, value) => {
  const took = await cpuMsOf(() => {
    expect(decodeBase64(value, 16 * 1024 * 1024)).toHaveProperty('issue')
  })
  expect(took).toBeLessThan(1000)
})

test('bytes of base64 digits are decoded as their text is, or left to the decoder of text', () => {
  for (const length of [...Array(100).keys(), 49_151, 49_152, 49_153, 200_000]) {
    const content = randomBytes(length)
    const digits = content.toString('base64')
    for (const encoded of [digits, digits.replace(/=+$/, ''), `${digits}=`, `=${digits}`, digits.slice(1)]) {
      const decoded = decodeDigits(Buffer.from(encoded))
      const expected = decodeBase64(encoded, max * max)
      const isSame = 'content' in expected ? decoded?.equals(expected.content) : decoded === undefined
      expect(isSame, encoded.slice(0, 200)).toBe(true)
    }
  }
})

test.each(['-', '_', '\n', ' ', '=', '!', '\0', 'é', '\u{1f600}'])(
  '%j among the digits is left to the text',
  (odd) => {
    const digits = randomBytes(300_000).toString('base64')
    for (const at of [0, 1, 65_535, 65_536, 65_537, digits.length - 5, digits.length - 2]) {
      const encoded = Buffer.from(digits.slice(0, at) + odd + digits.slice(at + 1))
      expect(decodeDigits(encoded), `${at}`).toBeUndefined()
    }
  },
)
