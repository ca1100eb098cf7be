import { expect, test } from 'vitest'
import { placeholdersOf, renderTemplate, variableIssues } from '../../../../src/core/messages/template.ts'
import { textTemplate } from '../../../../src/core/messages/text-template.ts'
import { cpuMsOf } from '../../../support/cpu-time.ts'

const given = (...keys: string[]) => keys.map((key) => ({ key, value: `the ${key}` }))

test.each([
  ['Hello', []],
  ['Hello {{name}}', ['name']],
  ['{{ name }}, {{\tcode}} and {{name}} again', ['name', 'code']],
  [
    '{{first name}} {{größe}} {{1}} {{__proto__}} {{constructor}}',
    ['first name', 'größe', '1', '__proto__', 'constructor'],
  ],
  ['{name} {{}} {{name} {name}}', []],
  ['{{{name}}}', ['name']],
])('the placeholders of %j are %j, each once', (text, keys) => {
  expect(placeholdersOf(text)).toEqual(keys)
  expect(textTemplate.variablesOf({ text })).toEqual(keys)
})

test('every placeholder is replaced by its value, wherever it stands', () => {
  const variables = [
    { key: 'name', value: 'Ann' },
    { key: 'constructor', value: 'Bob' },
  ]
  expect(renderTemplate('{{name}}, {{ name }} and {{constructor}}', variables)).toBe('Ann, Ann and Bob')
})

test('a value is plain text: neither a placeholder nor a replacement pattern', () => {
  const variables = [
    { key: 'a', value: '{{b}} $& $1 $$' },
    { key: 'b', value: 'never' },
  ]
  expect(renderTemplate('<{{a}}>', variables)).toBe('<{{b}} $& $1 $$>')
})

test('an empty value removes the placeholder, and a missing variable keeps it', () => {
  expect(renderTemplate('<{{a}}{{b}}>', [{ key: 'a', value: '' }])).toBe('<{{b}}>')
})

test('each missing variable and each unknown one is named', () => {
  expect(variableIssues(['name', 'code'], given('code', 'nickname'))).toEqual([
    'message.template.variables: name is missing',
    'message.template.variables[1].key: the template has no variable nickname',
  ])
})

test('exactly the needed variables are valid, in any order', () => {
  expect(variableIssues(['name', 'code'], given('code', 'name'))).toEqual([])
  expect(variableIssues([], [])).toEqual([])
})

test('a text that opens a placeholder and never closes it is parsed quickly', async () => {
  const took = await cpuMsOf(() => {
    expect(placeholdersOf(`{{${' '.repeat(1000)}`)).toEqual([])
  })
  expect(took).toBeLessThan(200)
})

test.each([
  ['no text', {}],
  ['an empty text', { text: '' }],
  ['a text of another type', { text: 1 }],
  ['a text that is too long', { text: 'x'.repeat(4097) }],
  ['an unknown field', { text: 'x', html: 'x' }],
  ['a list', [{ text: 'x' }]],
])('a text template with %s is refused', (_what, definition) => {
  expect(textTemplate.definition.safeParse(definition).success).toBe(false)
})
