import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { Provider } from '../../../src/providers/define-provider.ts'
import { providerNames, providers } from '../../../src/providers/index.ts'
import {
  codesTable,
  comparison,
  limitsTable,
  otherCodesTable,
  receiptsTable,
  statusesTable,
  suppressingTable,
} from './provider-tables.ts'

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

test('docs/reference/providers.md compares the providers as their code says; `npm run provider-docs` writes it', async () => {
  const page = readFileSync('docs/reference/providers.md', 'utf8')
  expect(page).toContain('<!-- comparison -->')
  await expect(filled(page, () => comparison(providers))).toMatchFileSnapshot(
    '../../../docs/reference/providers.md',
  )
})
