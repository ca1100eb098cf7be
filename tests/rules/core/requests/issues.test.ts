import { expect, test } from 'vitest'
import { z } from 'zod'
import { describeIssue, describeIssues } from '../../../../src/core/requests/issues.ts'

function issuesOf(schema: z.ZodType, value: unknown): string {
  const result = schema.safeParse(value, { error: describeIssue })
  return result.success ? 'none' : describeIssues(result.error.issues)
}

const schema = z.strictObject({
  name: z.string().max(3),
  kind: z.enum(['a', 'b']).optional(),
  list: z
    .array(z.strictObject({ key: z.string() }))
    .max(2)
    .optional(),
})

test.each([
  ['a field that is missing', {}, 'name: required'],
  ['a field of another type', { name: 1 }, 'name: has to be a string'],
  ['null', { name: null }, 'name: has to be a string, not null'],
  ['a body of another type', [], 'body: has to be an object'],
  ['a body that is null', null, 'body: has to be an object, not null'],
  ['a value that is not among those allowed', { name: 'x', kind: 'c' }, 'kind: has to be one of a, b'],
  ['a text that is too long', { name: 'long' }, 'name: at most 3 characters'],
  ['a list that is too long', { name: 'x', list: Array(3).fill({ key: '' }) }, 'list: at most 2 items'],
  ['a list of another type', { name: 'x', list: {} }, 'list: has to be an array'],
  ['a fault inside a list', { name: 'x', list: [{ key: '' }, {}] }, 'list[1].key: required'],
  ['an unknown field', { name: 'x', other: 1 }, 'other: unknown field'],
  ['an unknown field further in', { name: 'x', list: [{ key: '', x: 1 }] }, 'list[0].x: unknown field'],
  ['two unknown fields', { name: 'x', b: 1, a: 1 }, 'b: unknown field; a: unknown field'],
])('%s', (_what, value, issues) => {
  expect(issuesOf(schema, value)).toBe(issues)
})

test('all issues are in one line, each with its path', () => {
  const value = { name: 1, kind: 2, list: [{}], other: 1 }
  expect(issuesOf(schema, value).split('; ')).toEqual([
    'name: has to be a string',
    'kind: has to be one of a, b',
    'list[0].key: required',
    'other: unknown field',
  ])
})

test('of very many issues ten are listed, with the number of the others', () => {
  const value = { name: 'x', ...Object.fromEntries(Array.from({ length: 25 }, (_, i) => [`f${i}`, 1])) }
  const issues = issuesOf(schema, value).split('; ')
  expect(issues).toHaveLength(11)
  expect(issues.at(-1)).toBe('and 15 more faults')
})

test('ten issues are all listed', () => {
  const value = { name: 'x', ...Object.fromEntries(Array.from({ length: 10 }, (_, i) => [`f${i}`, 1])) }
  expect(issuesOf(schema, value).split('; ')).toHaveLength(10)
})

test('a very long name of a field is cut', () => {
  expect(issuesOf(schema, { name: 'x', ['n'.repeat(1000)]: 1 })).toBe(`${'n'.repeat(64)}: unknown field`)
})

test.each([
  ['a lone half', 'a\ud83d', 'a\ufffd'],
  ['a pair that the cut would halve', `${'n'.repeat(63)}😀`, `${'n'.repeat(63)}\ufffd`],
])('a name with half a surrogate pair is printed as valid Unicode: %s', (_what, name, printed) => {
  expect(issuesOf(schema, { name: 'x', [name]: 1 })).toBe(`${printed}: unknown field`)
})

test('no value is ever repeated', () => {
  const value = { name: ['hunter2'], kind: 'hunter2', list: 'hunter2' }
  expect(issuesOf(schema, value)).not.toContain('hunter2')
})
