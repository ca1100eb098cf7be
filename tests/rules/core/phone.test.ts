import { expect, test } from 'vitest'
import { parsePhone } from '../../../src/core/phone.ts'
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
  '49151\u00a012345678',
  '49151–12345678',
  '４９１５１１２３４５６',
  '-1e10000000',
  '0x12345678',
])('%j is none', (value) => {
  expect(parsePhone(value)).toBeUndefined()
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
