import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { sendStatuses } from '../../../src/core/sends/timeline.ts'

const sources = [
  'src/admin',
  'src/api',
  'src/core',
  'src/sends',
  'src/platform',
  'src/queue',
  'src/setup',
  'src',
  'workers',
]
  .flatMap((folder) =>
    readdirSync(folder, { recursive: folder !== 'src', encoding: 'utf8' }).map((file) => join(folder, file)),
  )
  .filter((file) => /\.tsx?$/.test(file))
  .map((file) => readFileSync(file, 'utf8'))

/** The lines that are logged, by how the code writes them. */
const ways = [
  /\blog(?:Event|Fault|Warning|WarningOnceAMinute)\(\s*[\w.]+,(?:\s*[\w.]+,)?\s*'([a-z_]+)'/g,
  /\b(?:info|warn|error|fatal)\(\{[^}]*\bevent: '([a-z_]+)'/g,
  /\bcreateTolerantWake\([\w, {}]+, '([a-z_]+)'/g,
  /\bstartPeriodicTask\([^)]*\bevent: '([a-z_]+)'/g,
]
const byStatus = sendStatuses.filter((status) => status !== 'queued' && status !== 'sending')
const byReceipt = ['delivered', 'read', 'undelivered', 'complained', 'receipt']
const logged = new Set([
  ...sources.flatMap((source) =>
    ways.flatMap((way) => [...source.matchAll(way)].map(([, name = '']) => name)),
  ),
  ...byStatus,
  ...byReceipt,
])

const rows = readFileSync('docs/reference/log.md', 'utf8').matchAll(/^\| (`[a-z_]+`(?:, `[a-z_]+`)*) \|/gm)
const documented = [...rows]
  .flatMap(([, cell = '']) => cell.split(', ').map((name) => name.slice(1, -1)))
  .filter((name) => name !== 'event')

test('docs/reference/log.md has each event of the log once, and no other', () => {
  expect(logged.size).toBeGreaterThan(40)
  expect(documented.sort()).toEqual([...logged].sort())
})
