import { describe, expect, test } from 'vitest'
import { limitJson, maxFields } from '../../../../src/core/requests/json-limits.ts'

const limited = (json: string) => limitJson(Buffer.from(json))
const arrays = (depth: number, inside = '') => '['.repeat(depth) + inside + ']'.repeat(depth)

test.each([
  ['a body', '{"contact":{"value":"+4915112345678"},"message":{"type":"text","text":{"value":"x"}}}'],
  ['what is deep in a string', JSON.stringify({ a: arrays(100) })],
  ['commas in a string', JSON.stringify({ a: ','.repeat(20_000) })],
  ['brackets behind an escaped quote', JSON.stringify({ a: `"${arrays(100)}` })],
  [
    'brackets behind a quote escaped far into a string',
    JSON.stringify({ a: `${'x'.repeat(100)}"${arrays(100)}` }),
  ],
  ['32 levels', arrays(32)],
  [
    'an escape at the end of what is looked through',
    JSON.stringify({ a: `${'x'.repeat(62)}\\"${arrays(100)}` }),
  ],
  ['no JSON', 'hello'],
  ['nothing', ''],
  ['a string without an end', `{"a":"${arrays(100)}`],
  ['more ends than beginnings', `${']'.repeat(100)}${'['.repeat(120)}`],
])('%s is left as it is', (_what, json) => {
  const result = limited(json)
  expect(result?.json.toString()).toBe(json)
  expect(result?.isTooDeep).toBe(false)
})

test.each([1, 2, 3, 4, 5, 6, 7])('a string that ends in %i backslashes ends where it ends', (count) => {
  for (const length of [0, 1, 2, 61, 62, 63, 64, 65, 127, 128, 129]) {
    const json = JSON.stringify([`${'x'.repeat(length)}${'\\'.repeat(count)}`, 1])
    expect(limited(json)).toEqual({ json: Buffer.from(json), isTooDeep: false })
    const flood = `[${JSON.stringify('x'.repeat(length) + '\\'.repeat(count))}${',1'.repeat(maxFields)}]`
    expect(limited(flood)).toBeUndefined()
  }
})

describe('values deeper than 32 are left out, and their siblings stay', () => {
  test.each([
    ['arrays', `{"a":${arrays(32)},"b":1}`, `{"a":${arrays(31, '0')},"b":1}`],
    ['two of them', `[${arrays(32)},1,${arrays(40)}]`, `[${arrays(31, '0')},1,${arrays(31, '0')}]`],
    ['with strings', arrays(33, '"]]]]"'), arrays(32, '0')],
    ['with more than the limit of fields', arrays(33, '1,'.repeat(maxFields)), arrays(32, '0')],
    ['without an end', '['.repeat(1000), `${'['.repeat(32)}0`],
  ])('%s', (_what, json, kept) => {
    const result = limited(json)
    expect(result?.json.toString()).toBe(kept)
    expect(result?.isTooDeep).toBe(true)
  })
})

describe('more fields and items than the limit', () => {
  const items = (count: number, item: string) => `[${Array(count).fill(item).join(',')}]`
  test.each([
    ['numbers', (count: number) => items(count, '1')],
    ['strings', (count: number) => items(count, '"a"')],
    ['members', (count: number) => `{${Array.from({ length: count }, (_, n) => `"a${n}":0`).join(',')}}`],
    ['empty arrays', (count: number) => items(count / 2, '[]')],
    ['empty objects', (count: number) => items(count / 2, '{}')],
    ['what is left out', (count: number) => arrays(32, '[]'.repeat(count - 32))],
  ])('%s', (_what, json) => {
    expect(limited(json(maxFields - 2))).toBeDefined()
    expect(limited(json(maxFields + 2))).toBeUndefined()
  })
})
