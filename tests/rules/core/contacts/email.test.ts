import { expect, test } from 'vitest'
import { parseEmail } from '../../../../src/core/contacts/email.ts'
import { cpuMsOf } from '../../../support/cpu-time.ts'

const local64 = 'l'.repeat(64)
const label63 = 'd'.repeat(63)
/** 64 + 1 + 3 * 64 - 3 … filled up to the length that is asked for. */
const ofLength = (length: number) => {
  const start = `${local64}@${label63}.${label63}.`
  return `${start}${'d'.repeat(length - start.length - 3)}.de`
}

test.each([
  ['jane@example.com', 'jane@example.com'],
  ['Jane.Doe@Example.COM', 'Jane.Doe@example.com'],
  ['jane+tag@mail.example.co.uk', 'jane+tag@mail.example.co.uk'],
  ["o'hara_!#$%&*/=?^`{|}~-@example.com", "o'hara_!#$%&*/=?^`{|}~-@example.com"],
  ['1@2.example', '1@2.example'],
  ['jane@xn--bcher-kva.example', 'jane@xn--bcher-kva.example'],
  [`${local64}@example.com`, `${local64}@example.com`],
  [`jane@${label63}.com`, `jane@${label63}.com`],
  [ofLength(254), ofLength(254)],
])('%s is the address %s', (value, address) => {
  expect(parseEmail(value)).toBe(address)
})

test.each([
  '',
  '@',
  'jane',
  'jane@',
  '@example.com',
  'jane@example',
  'jane@.com',
  'jane@example.',
  'jane@example..com',
  'jane@-example.com',
  'jane@example-.com',
  'jane@exam_ple.com',
  `jane@${'d'.repeat(64)}.com`,
  '.jane@example.com',
  'jane.@example.com',
  'jane..doe@example.com',
  'jane doe@example.com',
  ' jane@example.com',
  'jane@example.com ',
  'jane@example.com\n',
  'jane\n@example.com',
  'jane@example.com\r\nBcc: joe@example.com',
  'jane@home@example.com',
  '"jane doe"@example.com',
  'Jane <jane@example.com>',
  'jane@example.com,joe@example.com',
  'jane@[127.0.0.1]',
  'jane(comment)@example.com',
  'jané@example.com',
  'jane@bücher.example',
  `${local64}l@example.com`,
  ofLength(255),
])('%j is none', (value) => {
  expect(parseEmail(value)).toBeUndefined()
})

test('the longest address is 254 characters long', () => {
  expect(ofLength(254)).toHaveLength(254)
})

test('a long text is checked quickly', async () => {
  const took = await cpuMsOf(() => {
    for (const long of ['a.'.repeat(500_000), `a@${'a.'.repeat(500_000)}`, `a@${'-'.repeat(1_000_000)}`]) {
      expect(parseEmail(long)).toBeUndefined()
    }
  })
  expect(took).toBeLessThan(1000)
})
