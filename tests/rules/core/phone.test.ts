import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parsePhone, phonePattern } from '../../../src/core/phone.ts'
import { cpuMsOf } from '../../support/cpu-time.ts'

test.each([
  ['+4915112345678', '+4915112345678'],
  ['4915112345678', '+4915112345678'],
  ['004915112345678', '+4915112345678'],
  ['+49 151 123 456 78', '+4915112345678'],
  ['(+49) 151-12.34-56 78', '+4915112345678'],
  ['(0049) 151 12345678', '+4915112345678'],
  ['+1 (555) 010-0101', '+15550100101'],
  ['1234567', '+1234567'],
  ['123456789012345', '+123456789012345'],
  ['00123456789012345', '+123456789012345'],
  ['49151\u00a012345678', '+4915112345678'],
  ['49151–12345678', '+4915112345678'],
  ['+86（138）1234\uff0d5678', '+8613812345678'],
  ['\u202a+49 151 12345678\u202c', '+4915112345678'],
  ['\u2066\u200e+49\u2011151\u202f12345678\u2069', '+4915112345678'],
  ['\ufeff+49 151\u200b12345678', '+4915112345678'],
])('%j is the number %s', (value, number) => {
  expect(parsePhone(value)).toBe(number)
})

test.each([
  '',
  ' ',
  '+',
  '00',
  '123456',
  '1234567890123456',
  '0151123456',
  '+0151123456',
  '0000491511234',
  '+004915112345678',
  '00+4915112345678',
  '++4915112345678',
  '4915112345678+',
  '49/15112345678',
  '49_15112345678',
  '4915112345678x',
  'x4915112345678',
  '49151\t12345678',
  '4915112345678\n',
  '49151\u202812345678',
  '٤٩١٥١١٢٣٤٥٦',
  '４９１５１１２３４５６',
  '-1e10000000',
  '0x12345678',
])('%j is none', (value) => {
  expect(parsePhone(value)).toBeUndefined()
})

test.each([
  ['+49 (0)151 12345678', '+4915112345678'],
  ['0049 (0) 151 12345678', '+4915112345678'],
  ['(+49)(0)151-12345678', '+4915112345678'],
  ['00 49(0)15112345678', '+4915112345678'],
  ['+49\u00a0(0)\u00a0151\u00a012345678', '+4915112345678'],
  ['\u202d+49 ( 0 ) 151 12345678\u202c', '+4915112345678'],
  ['+86（0）138 12345678', '+8613812345678'],
  ['+7 (0) 912 345 67 89', '+79123456789'],
  ['+353 (0)85 123 4567', '+353851234567'],
  ['+4 4(0)20 7946 0000', '+442079460000'],
  ['+123 (0) 4567', '+1234567'],
  ['+49 (0) 1234', undefined],
  ['+49 (0)1234567890123', '+491234567890123'],
])('after + or 00 and a country code, a trunk zero in parentheses is dropped: %j is %s', (value, number) => {
  expect(parsePhone(value)).toBe(number)
})

test.each([
  ['no + or 00', '49 (0)151 12345678', '+49015112345678'],
  ['no parentheses', '+49 0151 12345678', '+49015112345678'],
  ['more than a zero in them', '+49 (0151) 12345678', '+49015112345678'],
  ['two zeros in them', '+49 (00)151 12345678', '+490015112345678'],
  ['more digits before than a country code has', '+49 15(0)1 12345678', '+49150112345678'],
  ['an open parenthesis', '+49 (0 151 12345678', '+49015112345678'],
  ['a second one', '+49 (0)(0)151 12345678', '+49015112345678'],
  ['no country code before', '+(0)49 151 12345678', undefined],
  ['nothing before', '(0)151 12345678', undefined],
  ['a second zero before, with which it is 00', '(0)(0)49 151 12345678', '+4915112345678'],
])('with %s, a zero is a digit: %j is %s', (_what, value, number) => {
  expect(parsePhone(value)).toBe(number)
})

const allOf = (property: string) => {
  const one = new RegExp(`^\\p{${property}}$`, 'u')
  const all: string[] = []
  for (let code = 0; code <= 0x10ffff; code++) {
    const sign = String.fromCodePoint(code)
    if (one.test(sign)) all.push(sign)
  }
  return all
}

test.each(['Space_Separator', 'Dash', 'Bidi_Control'])('every %s of Unicode is dropped', (property) => {
  const signs = allOf(property)
  expect(signs.length).toBeGreaterThan(10)
  for (const sign of signs) {
    const value = `${sign}+49${sign}(${sign}0${sign})${sign}15112345678${sign}`
    expect(parsePhone(value), sign.codePointAt(0)?.toString(16)).toBe('+4915112345678')
    for (const flags of ['', 'u']) expect(new RegExp(phonePattern, flags).test(value)).toBe(true)
  }
})

test('the pattern matches what is a number, with the flag u and without', () => {
  const rest = fc.array(
    fc.constantFrom(
      '+',
      '00',
      '0',
      '49',
      '1',
      '353',
      '(0)',
      '(',
      ')',
      ' ',
      '\u00a0',
      '-',
      '15112345678',
      'x',
    ),
    { maxLength: 9 },
  )
  fc.assert(
    fc.property(fc.constantFrom('', '+', '00', '+49', '0049 '), rest, (start, parts) => {
      const value = start + parts.join('')
      for (const flags of ['', 'u'])
        expect(new RegExp(phonePattern, flags).test(value)).toBe(parsePhone(value) !== undefined)
    }),
    { numRuns: 5000 },
  )
})

test('a stored number is parsed as itself', () => {
  expect(parsePhone(parsePhone('0049 151 12345678') ?? '')).toBe('+4915112345678')
})

test('a long text of separators is checked quickly', async () => {
  const took = await cpuMsOf(() => {
    expect(parsePhone(`${' .-()'.repeat(200_000)}x`)).toBeUndefined()
  })
  expect(took).toBeLessThan(1000)
})

test.each(['(', '(0', '0 ', '+49(0', '\u200e', '+4 9 '])('so is a text of many %j', async (part) => {
  const value = part.repeat(256).slice(0, 256)
  const took = await cpuMsOf(() => {
    for (let times = 0; times < 20; times++) {
      expect(parsePhone(value)).toBeUndefined()
      expect(new RegExp(phonePattern, 'u').test(value)).toBe(false)
    }
  })
  expect(took).toBeLessThan(1000)
})
