import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { Provider } from '../../../src/providers/define-provider.ts'
import { formSchema } from '../../../src/providers/files/form-schema.ts'
import { providerNames, providers } from '../../../src/providers/index.ts'
import { fileOf, knownNames, providerOf } from '../../../src/providers/known.ts'
import { shippedNames } from '../../../src/providers/shipped.ts'
import {
  codesTable,
  comparison,
  limitsTable,
  otherCodesTable,
  receiptsTable,
  statusesTable,
  suppressingTable,
} from './provider-tables.ts'
import { vendorPage } from './vendor-page.ts'

/** The tables that a provider's page has, by the comment before each: `<!-- codes -->`. */
const tables = {
  limits: limitsTable,
  codes: codesTable,
  statuses: statusesTable,
  receipts: receiptsTable,
  'other codes': otherCodesTable,
  'suppressing codes': suppressingTable,
} satisfies Record<string, (provider: Provider) => string>

const neededBy = ({
  call,
  codes,
  receipts,
  otherCodes,
  suppressingCodes,
}: Provider): (keyof typeof tables)[] => [
  'limits',
  ...(codes ? (['codes'] as const) : []),
  ...(typeof call === 'string' ? [] : (['statuses'] as const)),
  ...(receipts ? (['receipts'] as const) : []),
  ...(otherCodes ? (['other codes'] as const) : []),
  ...(suppressingCodes ? (['suppressing codes'] as const) : []),
]

/** The page with each table as the code has it. */
const filled = (page: string, tableOf: (name: string) => string): string =>
  page.replace(
    /<!-- ([\w ]+) -->\n.*?<!-- end -->/gs,
    (_, name: string) => `<!-- ${name} -->\n\n${tableOf(name)}\n\n<!-- end -->`,
  )

test.each(providerNames)(
  'docs/reference/providers/%s.md has the tables that its code says; `npm run provider-docs` writes them',
  async (name) => {
    const file = `docs/reference/providers/${name}.md`
    const page = readFileSync(file, 'utf8')
    const present = [...page.matchAll(/<!-- ([\w ]+) -->\n.*?<!-- end -->/gs)].map(([, table]) => table)
    expect(present.sort()).toEqual(neededBy(providers[name]).sort())
    const tableOf = (table: string) => tables[table as keyof typeof tables](providers[name])
    await expect(filled(page, tableOf)).toMatchFileSnapshot(`../../../${file}`)
  },
)

test.each(shippedNames)(
  'docs/reference/providers/%s.md is what its file says; `npm run provider-docs` writes it',
  async (name) => {
    const file = fileOf(name)
    if (!file) throw new Error(name)
    await expect(vendorPage(file)).toMatchFileSnapshot(`../../../docs/reference/providers/${name}.md`)
  },
)

test('docs/reference/provider-file.schema.json is the schema of the form; `npm run provider-docs` writes it', async () => {
  const schema = `${JSON.stringify(formSchema(), undefined, 2)}\n`
  await expect(schema).toMatchFileSnapshot('../../../docs/reference/provider-file.schema.json')
})

test('docs/reference/providers.md compares the providers as their code says; `npm run provider-docs` writes it', async () => {
  const page = readFileSync('docs/reference/providers.md', 'utf8')
  expect(page).toContain('<!-- comparison -->')
  await expect(
    filled(page, () => comparison(Object.fromEntries(knownNames().map((name) => [name, providerOf(name)])))),
  ).toMatchFileSnapshot('../../../docs/reference/providers.md')
})
