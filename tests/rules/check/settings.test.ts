import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { readSettings, settingNames } from '../../../src/platform/settings/settings.ts'

const required: Record<string, string> = {
  DATABASE_URL: 'postgres://user:password@localhost:5432/outbound',
  REDIS_URL: 'redis://localhost:6379',
  CREDENTIALS_KEY: Buffer.alloc(32, 1).toString('base64'),
  API_KEY_PEPPER: 'x'.repeat(32),
}
const defaults: Record<string, unknown> = readSettings(undefined, required)

const [, table = ''] = readFileSync('docs/reference/settings.md', 'utf8').split(/^\|-.*$/m)
const documented = [...table.matchAll(/^\| `([A-Z_]+)` \| (.*) \|$/gm)].map(([, name = '', rest = '']) => {
  const [byDefault = '', range = '', usedBy = '', meaning = ''] = rest
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim())
  return { name, byDefault, range, usedBy, meaning }
})

test('docs/reference/settings.md has each setting once, and no other', () => {
  expect(documented.map(({ name }) => name).sort()).toEqual([...settingNames].sort())
})

test.each(documented)('the docs give the default, unit, processes and purpose of $name', (row) => {
  const { name, byDefault, range, usedBy, meaning } = row
  const value = defaults[name]
  const isNone = name in required || value === undefined || String(value) === ''
  expect(byDefault).toMatch(isNone ? /^none(;|$)/ : /^`[^`]+`(;|$)/)
  if (!isNone) expect(byDefault.split('`')[1]).toBe(String(value))
  for (const cell of [range, usedBy, meaning]) expect(cell).toMatch(/\w/)
})

const ranges = documented.flatMap(({ name, range }) => {
  const [, least, most] = /(?<!\w)([\d,]+) to ([\d,]+)/.exec(range) ?? []
  return least && most ? [{ name, least: numberIn(least), most: numberIn(most) }] : []
})

test.each(ranges)('$name accepts the range in the docs, from $least to $most', ({ name, least, most }) => {
  const accepts = (value: number) => {
    try {
      // The former number of shards has to be another one.
      const variables = { ...required, QUEUE_SHARDS: '2', [name]: String(value) }
      return readSettings(undefined, variables) !== undefined
    } catch {
      return false
    }
  }
  expect([least - 1, least, most, most + 1].map(accepts)).toEqual([false, true, true, false])
})

function numberIn(digits: string): number {
  return Number(digits.replaceAll(',', ''))
}
