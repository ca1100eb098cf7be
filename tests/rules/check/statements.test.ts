import { readdirSync } from 'node:fs'
import { resolve } from 'node:path'
import { expect, test } from 'vitest'
import '../../../db/admission/accepts.ts'
import { fieldsAndTypes, fieldTypes } from '../../../db/admission/new-send.ts'
import { statements } from '../../../db/statement.ts'

const header = `-- The service's prepared statements, as PostgreSQL gets them. Written by \`npm run statements\`, not by hand:
-- their sources are the files of db/ that call \`prepared\`.
`

test('db/statements.sql shows the prepared statements as they are; `npm run statements` writes it', async () => {
  const files = readdirSync('db', { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.ts'),
  )
  for (const file of files) await import(/* @vite-ignore */ resolve('db', file))
  const names = [...statements.keys()].sort()
  const shown = names.map((name) => {
    const { purpose, text } = statements.get(name) ?? { purpose: '', text: '' }
    return `\n-- ${name}: ${purpose}\n${text};\n`
  })
  expect(names).toContain('claim_sends')
  await expect(header + shown.join('')).toMatchFileSnapshot('../../../db/statements.sql')
})

test.each(Object.keys(fieldTypes))('a new send’s %s is used by the statement that records it', (field) => {
  const { text = '' } = statements.get('insert_keyed_sends') ?? {}
  const used = text.replaceAll(/\s+/g, ' ').replace(fieldsAndTypes.replaceAll(/\s+/g, ' '), '')
  expect(used).not.toContain(`${field}" uuid`)
  expect(used).toMatch(new RegExp(`\\b${field}\\b`))
})
