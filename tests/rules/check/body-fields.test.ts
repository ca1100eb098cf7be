import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { inputSchema, type JsonSchema } from '../../../src/api/openapi/json-schema.ts'
import { sendRequestSchemas } from '../../../src/core/send-request.ts'

const page = readFileSync('docs/reference/api.md', 'utf8')

/** The names in the first column of a section's table. */
function namesIn(section: string): string[] {
  const [, text = ''] = page.split(`\n## ${section}\n`)
  const [table = ''] = text.split('\n## ')
  return [...table.matchAll(/^\| `([^`]+)` \|/gm)].map(([, name = '']) => name)
}

/** `message.template.variables[].key` */
function pathsOf({ properties = {}, items }: JsonSchema, path = ''): string[] {
  const inside = Object.entries(properties).flatMap(([name, field]) => {
    const at = path ? `${path}.${name}` : name
    return [at, ...pathsOf(field, at)]
  })
  return items ? pathsOf(items, `${path}[]`) : inside
}

test('docs/reference/api.md has a row for each field of the body of a send, and for no other', () => {
  const media = namesIn('Media').map((name) => `message.media.${name}`)
  const body = namesIn('Body').map((name) => name.replace('…', 'message.template.'))
  // In both places it is one field.
  const known = pathsOf(inputSchema(sendRequestSchemas([]).channelInBody)).filter(
    (path) => !/^message\.(flowId|closeConversation)$/.test(path),
  )
  expect(known.length).toBeGreaterThan(15)
  expect([...body, ...media].sort()).toEqual(known.sort())
})
