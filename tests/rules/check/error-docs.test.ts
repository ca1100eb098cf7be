import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { type ErrorCode, errorCodeNames, errorCodes } from '../../../src/api/errors/codes.ts'
import { errorBody } from '../../../src/api/errors.ts'
import { refusalsOf } from '../../../src/api/openapi/refusals.ts'
import { exampleIds } from '../../../src/api/routes/examples.ts'
import type { Route } from '../../../src/api/routes/route.ts'
import { routes } from '../../../src/api/routes.ts'
import { documentSettings } from '../../support/openapi.ts'

const refused = Object.values<Route>(routes).flatMap((route) =>
  Object.values(refusalsOf(route)).map(({ error }) => error(documentSettings)),
)

function sectionOf(code: ErrorCode): string {
  const { status, why, fix } = errorCodes[code]
  const message = refused.find((error) => error.code === code)?.message ?? ''
  const example = JSON.stringify(errorBody(status, message, exampleIds.requestId))
  return `### ${code}\n\nStatus ${status}. ${why}\n\n**Next step:** ${fix}\n\n\`\`\`json\n${example}\n\`\`\``
}

const filled = (page: string, text: string): string =>
  page.replace(/<!-- errors -->\n.*<!-- end -->/s, () => `<!-- errors -->\n\n${text}\n\n<!-- end -->`)

test('docs/client/errors.md has each error with its status, why, what to do and an example; `npm run error-docs` writes them', async () => {
  const file = 'docs/client/errors.md'
  const page = readFileSync(file, 'utf8')
  expect(page).toContain('<!-- errors -->')
  const sections = errorCodeNames.map(sectionOf).join('\n\n')
  await expect(filled(page, sections)).toMatchFileSnapshot(`../../../${file}`)
})

test('docs/reference/errors.md lists the codes of each status; `npm run error-docs` writes them', async () => {
  const file = 'docs/reference/errors.md'
  const page = readFileSync(file, 'utf8')
  expect(page).toContain('<!-- errors -->')
  const rows = errorCodeNames.map((code) => {
    const { status, why } = errorCodes[code]
    return `| \`${code}\` | ${status} | ${why} |`
  })
  await expect(
    filled(page, ['| `Error-Code` | Status | When |', '|---|---|---|', ...rows].join('\n')),
  ).toMatchFileSnapshot(`../../../${file}`)
})
