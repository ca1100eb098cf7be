import { expect, test } from 'vitest'
import { hashApiKey, mintApiKey, wasMintedHere } from '../../../../src/core/accounts/api-key.ts'

const pepper = 'a pepper that only the tests know of'
const letters = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

function mint() {
  return mintApiKey(pepper).apiKey
}

test('a key is omk_, 43 characters of randomness and 6 of checksum', () => {
  for (let i = 0; i < 100; i++) expect(mint()).toMatch(/^omk_[0-9A-Za-z]{43}[0-9A-Za-z]{6}$/)
})

test('no key is minted twice, and every character of its secret varies', () => {
  const keys = Array.from({ length: 1000 }, mint)
  expect(new Set(keys).size).toBe(keys.length)
  // 62^43 is a little more than 2^256, so the first character is one of fewer letters than the others.
  for (let index = 5; index < 47; index++) {
    expect(new Set(keys.map((key) => key.charAt(index))).size, `character ${index}`).toBeGreaterThan(50)
  }
})

test('a checksum cannot be guessed: hardly two keys share one', () => {
  const checksums = Array.from({ length: 1000 }, () => mint().slice(-6))
  expect(new Set(checksums).size).toBeGreaterThan(990)
})

test('a minted key is recognised without a query', () => {
  for (let i = 0; i < 100; i++) expect(wasMintedHere(mint(), pepper)).toBe(true)
})

test('a change of any one character is noticed', () => {
  const key = mint()
  for (let index = 0; index < key.length; index++) {
    const other = letters.charAt((letters.indexOf(key.charAt(index)) + 1) % letters.length)
    expect(wasMintedHere(key.slice(0, index) + other + key.slice(index + 1), pepper), `${index}`).toBe(false)
  }
})

test.each<[string, (key: string) => string]>([
  ['nothing', () => ''],
  ['the prefix alone', () => 'omk_'],
  ['a character less', (key) => key.slice(0, -1)],
  ['a character more', (key) => `${key}0`],
  ['a line break behind', (key) => `${key}\n`],
  ['a space in front', (key) => ` ${key}`],
  ['capitals', (key) => key.toUpperCase()],
  ['another prefix', (key) => key.replace('omk_', 'okm_')],
  ['characters of several bytes', (key) => `${key.slice(0, -1)}é`],
  ['a million characters', () => `omk_${'x'.repeat(1_000_000)}`],
])('%s is no key', (_what, form) => {
  expect(wasMintedHere(form(mint()), pepper)).toBe(false)
})

test('the checksum can be made only with the pepper', () => {
  expect(wasMintedHere(mintApiKey('another pepper of an installation').apiKey, pepper)).toBe(false)
})

test('only the hash of the key under the pepper, 32 bytes, and 8 characters to show are stored', () => {
  const { apiKey, hash, displayPrefix } = mintApiKey(pepper)
  expect(hash).toEqual(hashApiKey(apiKey, pepper))
  expect(hash).toHaveLength(32)
  expect(hash).not.toEqual(hashApiKey(apiKey, `${pepper}.`))
  expect(hash).not.toEqual(hashApiKey(mint(), pepper))
  expect(displayPrefix).toBe(apiKey.slice(0, 8))
})

test('the hash reveals nothing of the checksum', () => {
  const { apiKey, hash } = mintApiKey(pepper)
  const secret = apiKey.slice(4, 47)
  expect(hash.equals(hashApiKey(secret, pepper))).toBe(false)
})
