import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

/** Names of PostgreSQL, libraries, PgBouncer and a vendor: this project's code doesn't contain them. */
const ofOthers = [
  ...['target_session_attrs', 'pg_restore_attribute_stats', 'synchronous_commit'],
  ...['enableAutoPipelining', 'connect_query', 'whatsapp_business_messaging'],
]

const comment = /^\s*(?:\/\*(?:[^*]|\*(?!\/))*\*\/|\/\/[^\n]*)/gm
const inBackticks = /`([A-Za-z_]\w*)(?:\([^)`]*\))?`/g
const isIdentifier = (word: string) => /[a-z0-9][A-Z]|[a-z]_[a-z]/.test(word)

const filesIn = (folders: string[], ending: RegExp) =>
  folders
    .flatMap((folder) =>
      readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((path) => join(folder, path)),
    )
    .filter((path) => ending.test(path))

/** Without this file, and without the schemas of former releases. */
const sources = filesIn(
  ['src', 'db', 'workers', 'ops', 'tests', 'sdk/python/outbound_messaging'],
  /\.(tsx?|mjs|py|sql|ya?ml|json)$/,
)
  .filter((path) => !path.startsWith('db/migrations/meta/') && !path.endsWith('identifiers.test.ts'))
  .map((path) => readFileSync(path, 'utf8').replaceAll(comment, ''))

test('every identifier in the docs, such as `requestId` or `next_attempt_at`, is in the code', () => {
  const inCode = new Set(sources.flatMap((source) => source.match(/[A-Za-z_]\w*/g) ?? []))
  const named = ['README.md', 'SECURITY.md', 'CONTRIBUTING.md', ...filesIn(['docs'], /\.md$/)].flatMap(
    (page) =>
      [...readFileSync(page, 'utf8').matchAll(inBackticks)]
        .map(([, word = '']) => ({ page, word }))
        .filter(({ word }) => isIdentifier(word) && !ofOthers.includes(word)),
  )
  expect(named.length).toBeGreaterThan(500)
  expect(named.filter(({ word }) => !inCode.has(word))).toEqual([])
})
