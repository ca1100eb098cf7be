import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { contactTypes } from '../../../src/core/contacts/contact.ts'
import { suppressionCauses } from '../../../src/core/suppression/suppression.ts'

/** The names that a text has as strings or as keys, if there are several: then it lists them. */
function listedIn(text: string, names: readonly string[]): string[] {
  const found = names.filter((name) => new RegExp(`'${name}'|^\\s*${name}: `, 'm').test(text))
  return found.length > 1 ? found : []
}

const files = ['src', 'workers', 'db'].flatMap((folder) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.tsx?$/.test(path))
    .map((path) => join(folder, path)),
)

/** Beside the table: examples, and what each code of a provider says. */
const tables: [what: string, names: readonly string[], table: string, beside: RegExp][] = [
  ['kinds of contact', contactTypes, 'src/core/contacts/contact.ts', /^src\/(?:dev|api\/routes\/examples)/],
  ['causes of suppressions', suppressionCauses, 'src/core/suppression/suppression.ts', /^src\/providers\//],
]

test.each(tables)('the %s are listed in one table, and nowhere else', (_, names, table, beside) => {
  expect(listedIn(readFileSync(table, 'utf8'), names)).toEqual(names)
  const others = files.filter((file) => file !== table && !beside.test(file))
  expect(others.length).toBeGreaterThan(100)
  expect(others.filter((file) => listedIn(readFileSync(file, 'utf8'), names).length > 0)).toEqual([])
})

test.each(["kind === 'phone' || kind === 'email'", '{\n  phone: 1,\n  email: 2,\n}'])(
  'a second list of them would be found: %j',
  (text) => {
    expect(listedIn(text, contactTypes)).toEqual(['phone', 'email'])
  },
)
