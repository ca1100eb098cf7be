import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { inputSchema, type JsonSchema } from '../../../../src/api/openapi/json-schema.ts'
import { sendRequestSchemas } from '../../../../src/core/sends/send-request.ts'

const page = readFileSync('docs/reference/api.md', 'utf8')

/** The rows of a section's table: a field's name, and its limits. */
function rowsOf(section: string): { name: string; limits: string }[] {
  const [, text = ''] = page.split(`\n## ${section}\n`)
  const [table = ''] = text.split('\n## ')
  return [...table.matchAll(/^\| `([^`]+)` \|.*\| ([^|]*) ?\|$/gm)].map(([, name = '', limits = '']) => ({
    name,
    limits,
  }))
}

const rows = [
  ...rowsOf('Media').map(({ name, limits }) => ({ path: `message.media.${name}`, limits })),
  ...rowsOf('Body').map(({ name, limits }) => ({ path: name.replace('…', 'message.template.'), limits })),
]

/** By its path, such as `message.template.variables[].key`. */
function fieldsOf({ properties = {}, items }: JsonSchema, path = ''): { path: string; field: JsonSchema }[] {
  const inside = Object.entries(properties).flatMap(([name, field]) => {
    const at = path ? `${path}.${name}` : name
    return [{ path: at, field }, ...fieldsOf(field, at)]
  })
  return items ? fieldsOf(items, `${path}[]`) : inside
}

// In both places it is one field.
const fields = fieldsOf(inputSchema(sendRequestSchemas([]).channelInBody)).filter(
  ({ path }) => !/^message\.(flowId|closeConversation)$/.test(path),
)

test('docs/reference/api.md has a row for each field of the body of a send, and for no other', () => {
  expect(fields.length).toBeGreaterThan(15)
  expect(rows.map(({ path }) => path).sort()).toEqual(fields.map(({ path }) => path).sort())
})

/** As the docs say it. The lengths of contacts depend on their type, and stand in a section of their own. */
function lengthOf({ minLength, maxLength, maxItems, maxProperties }: JsonSchema): string | undefined {
  if (maxItems !== undefined) return `at most ${maxItems} items`
  if (maxProperties !== undefined) return `at most ${maxProperties} entries`
  if (maxLength === undefined) return undefined
  return minLength === undefined
    ? `at most ${maxLength} characters`
    : `${minLength} to ${maxLength} characters`
}

test.each(fields)('docs/reference/api.md has the length of $path', ({ path, field }) => {
  const { limits = '' } = rows.find((row) => row.path === path) ?? {}
  const [length] = /(at most \d+|\d+ to \d+) (characters|items|entries)/.exec(limits) ?? []
  expect(length).toBe(lengthOf(field))
})
