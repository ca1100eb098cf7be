import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'

const biome = join(process.cwd(), 'node_modules', '.bin', 'biome')

const refused: [string, string][] = [
  ['src/core/planted.ts', '../platform/metrics.ts'],
  ['src/core/contacts/planted.ts', '../../platform/metrics.ts'],
  ['src/core/contacts/planted.ts', '../../sends/send-end.ts'],
  ['src/core/planted.ts', '../../db/connection/client.ts'],
  ['src/core/planted.ts', '../providers/index.ts'],
  ['src/core/channels/planted.ts', '../../providers/index.ts'],
  ['src/providers/planted.ts', '../platform/metrics.ts'],
  ['src/providers/twilio/planted.ts', '../../platform/http/guarded-connector.ts'],
  ['src/providers/twilio/planted.ts', '../../../workers/http/http.ts'],
  ['src/providers/twilio/planted.ts', '../../../db/connection/client.ts'],
  ['src/providers/twilio/planted.ts', '../../sends/send-end.ts'],
  ['src/providers/twilio/planted.ts', './dev/emulator.ts'],
  ['src/providers/shared/http/planted.ts', '../../../sends/send-end.ts'],
  ['src/providers/twilio/planted.ts', 'node:http'],
  ['src/providers/twilio/dev/planted.ts', '../../../../workers/http/http.ts'],
  ['src/providers/twilio/dev/planted.ts', '../../../dev/stack.ts'],
  ['db/planted.ts', '../src/providers/twilio/dev/emulator.ts'],
  ['src/api/planted.ts', '../providers/twilio/dev/emulator.ts'],
  ['workers/providers/planted.ts', '../../src/providers/twilio/dev/emulator.ts'],
  ['src/core/planted.ts', 'node:fs'],
  ['src/core/planted.ts', 'node:fs/promises'],
  ['src/core/planted.ts', 'node:dns'],
  ['db/planted.ts', '../src/platform/settings/settings.ts'],
  ['src/platform/planted.ts', '../api/errors.ts'],
  ['src/platform/planted.ts', '../queue/queue.ts'],
  ['src/platform/planted.ts', '../runtime.ts'],
  ['src/platform/redis/planted.ts', '../../sends/send-end.ts'],
  ['src/queue/planted.ts', '../sends/send-end.ts'],
  ['db/receipts/planted.ts', '../../src/sends/send-end.ts'],
  ['src/sends/planted.ts', '../api/errors.ts'],
  ['src/setup/planted.ts', '../cli/answer.ts'],
  ['src/setup/planted.ts', '../admin/errors.tsx'],
  ['src/core/planted.ts', '../setup/making.ts'],
  ['db/planted.ts', '../src/setup/making.ts'],
  ['src/sends/planted.ts', '../../workers/deliver.ts'],
  ['src/queue/planted.ts', '../runtime.ts'],
  ['src/queue/planted.ts', '../../workers/deliver.ts'],
  ['db/delivery/planted.ts', '../../src/queue/queue.ts'],
  ['src/api/planted.ts', '../../workers/deliver.ts'],
  ['src/api/planted.ts', '../server.ts'],
  ['src/api/planted.ts', '../cli/answer.ts'],
  ['src/cli/planted.ts', '../api/errors.ts'],
  ['src/cli/planted.ts', '../dev/stack.ts'],
  ['src/admin/planted.tsx', '../api/errors.ts'],
  ['src/admin/planted.tsx', './main.ts'],
  ['src/api/planted.ts', '../admin/layout.tsx'],
  ['workers/planted.ts', '../src/api/errors.ts'],
  ['workers/planted.ts', './main.ts'],
  ['workers/providers/planted.ts', '../../src/api/errors.ts'],
  ['workers/upkeep/planted.ts', '../deliver.ts'],
  ['workers/upkeep/planted.ts', '../../src/api/errors.ts'],
  ['workers/sends/planted.ts', '../deliver.ts'],
  ['workers/sends/planted.ts', '../upkeep/heartbeat.ts'],
  ['workers/sends/claim/planted.ts', '../../upkeep/heartbeat.ts'],
  ['workers/sends/planted.ts', '../callbacks/record-try.ts'],
  ['workers/callbacks/planted.ts', '../call-back.ts'],
  ['workers/callbacks/planted.ts', '../sends/dispatch.ts'],
  ['workers/callbacks/planted.ts', '../upkeep/periodic-task.ts'],
  ['workers/queue/planted.ts', '../call-back.ts'],
  ['workers/queue/planted.ts', '../sends/send-states.ts'],
  ['workers/queue/planted.ts', '../callbacks/sends-first.ts'],
  ['workers/queue/planted.ts', '../upkeep/periodic-task.ts'],
  ['workers/queue/planted.ts', '../http/http.ts'],
  ['workers/queue/planted.ts', '../providers/index.ts'],
  ['workers/providers/planted.ts', '../sends/dispatch.ts'],
  ['workers/providers/planted.ts', '../queue/slots.ts'],
  ['workers/http/planted.ts', '../providers/index.ts'],
  ['workers/http/planted.ts', '../callbacks/record-try.ts'],
]

const allowed: [string, string][] = [
  ['src/core/planted.ts', 'node:crypto'],
  ['src/providers/twilio/planted.ts', '../../core/sends/outcome.ts'],
  ['src/providers/twilio/planted.ts', '../shared/http/http-call.ts'],
  ['src/providers/twilio/planted.ts', 'node:crypto'],
  ['src/providers/twilio/dev/planted.ts', 'node:http'],
  ['src/providers/twilio/dev/planted.ts', '../../shared/dev/emulator.ts'],
  ['db/planted.ts', '../src/providers/index.ts'],
  ['workers/providers/planted.ts', '../../src/providers/index.ts'],
  ['db/planted.ts', '../src/core/contacts/contact.ts'],
  ['db/sends/planted.ts', '../../src/core/sends/outcome.ts'],
  ['src/core/contacts/planted.ts', '../sends/outcome.ts'],
  ['src/platform/redis/planted.ts', '../../../db/sends/sends.ts'],
  ['src/sends/planted.ts', '../queue/queue.ts'],
  ['src/api/planted.ts', '../platform/metrics.ts'],
  ['src/admin/planted.tsx', '../platform/metrics.ts'],
  ['workers/planted.ts', '../db/connection/client.ts'],
  ['workers/upkeep/planted.ts', '../sends/claim/permits.ts'],
  ['workers/sends/planted.ts', '../queue/slots.ts'],
  ['workers/sends/claim/planted.ts', '../../../src/queue/queue.ts'],
  ['workers/sends/planted.ts', '../../db/callbacks/new-callbacks.ts'],
  ['workers/callbacks/planted.ts', '../../db/sends/sends.ts'],
  ['workers/queue/planted.ts', '../../src/queue/queue.ts'],
]

/** A file of its own for each import. */
const plantedAt = (path: string, specifier: string) =>
  path.replace(
    'planted',
    `planted-${[...refused, ...allowed].findIndex((one) => one[0] === path && one[1] === specifier)}`,
  )
const importing = (specifier: string) => `import * as planted from '${specifier}'\n\nexport { planted }\n`
const importingTypes = (other: string) =>
  `import type * as ${other} from './${other}.ts'\n\nexport type { ${other} }\n`

/** The findings, by file. */
const found = new Map<string, string[]>()

beforeAll(() => {
  const files = Object.fromEntries(
    [...refused, ...allowed].map(([path, specifier]) => [plantedAt(path, specifier), importing(specifier)]),
  )
  const circle = {
    'workers/sends/one.ts': importingTypes('two'),
    'workers/sends/two.ts': importingTypes('one'),
  }
  for (const { category, location } of lint({ ...files, ...circle })) {
    found.set(location.path, [...(found.get(location.path) ?? []), category])
  }
})

/** Lints files, planted at paths of a project that has our rules and nothing else. */
function lint(files: Record<string, string>): { category: string; location: { path: string } }[] {
  const folder = mkdtempSync(join(tmpdir(), 'planted-'))
  try {
    const { vcs: _, $schema: _schema, ...rules } = JSON.parse(readFileSync('biome.json', 'utf8'))
    writeFileSync(join(folder, 'biome.json'), JSON.stringify(rules))
    for (const [path, content] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, path)), { recursive: true })
      writeFileSync(join(folder, path), content)
    }
    const args = ['lint', '.', '--reporter=json', '--max-diagnostics=none', '--error-on-warnings']
    const { status, stdout } = spawnSync(biome, args, { cwd: folder, encoding: 'utf8' })
    expect(status).toBe(1)
    return JSON.parse(stdout).diagnostics
  } finally {
    rmSync(folder, { recursive: true })
  }
}

test.each(refused)('npm run check refuses %s to import %s', (path, specifier) => {
  expect(found.get(plantedAt(path, specifier))).toEqual(['lint/style/noRestrictedImports'])
})

test.each(allowed)('npm run check lets %s import %s', (path, specifier) => {
  expect(found.get(plantedAt(path, specifier))).toBeUndefined()
})

test('npm run check refuses files that import each other, even if only their types', () => {
  expect(found.get('workers/sends/one.ts')).toContainEqual(expect.stringContaining('noImportCycles'))
})
