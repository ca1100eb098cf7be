import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'

const biome = join(process.cwd(), 'node_modules', '.bin', 'biome')

/** Lints files, planted at paths of a project that has our rules and nothing else. */
function lint(files: Record<string, string>): { status: number | null; output: string } {
  const folder = mkdtempSync(join(tmpdir(), 'planted-'))
  try {
    const { vcs: _, $schema: _schema, ...rules } = JSON.parse(readFileSync('biome.json', 'utf8'))
    writeFileSync(join(folder, 'biome.json'), JSON.stringify(rules))
    for (const [path, content] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, path)), { recursive: true })
      writeFileSync(join(folder, path), content)
    }
    const { status, stdout, stderr } = spawnSync(biome, ['lint', '.'], { cwd: folder, encoding: 'utf8' })
    return { status, output: stdout + stderr }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

const importing = (specifier: string) => `import * as planted from '${specifier}'\n\nexport { planted }\n`

test.each([
  ['src/core/planted.ts', '../platform/settings.ts'],
  ['src/core/providers/planted.ts', '../../platform/settings.ts'],
  ['src/core/planted.ts', '../../db/client.ts'],
  ['src/core/planted.ts', 'node:fs'],
  ['src/core/planted.ts', 'node:fs/promises'],
  ['src/core/planted.ts', 'node:dns'],
  ['db/planted.ts', '../src/platform/settings.ts'],
  ['src/platform/planted.ts', '../api/errors.ts'],
  ['src/platform/planted.ts', '../queue/queue.ts'],
  ['src/platform/planted.ts', '../runtime.ts'],
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
])('npm run check refuses %s to import %s', (path, specifier) => {
  const { status, output } = lint({ [path]: importing(specifier) })
  expect(output).toContain('noRestrictedImports')
  expect(status).not.toBe(0)
})

test.each([
  ['src/core/planted.ts', 'node:crypto'],
  ['db/planted.ts', '../src/core/contact.ts'],
  ['src/api/planted.ts', '../platform/settings.ts'],
  ['src/admin/planted.tsx', '../platform/settings.ts'],
  ['workers/planted.ts', '../db/client.ts'],
])('npm run check lets %s import %s', (path, specifier) => {
  expect(lint({ [path]: importing(specifier) }).status).toBe(0)
})

test('npm run check refuses files that import each other, even if only their types', () => {
  const planted = (other: string) =>
    `import type * as ${other} from './${other}.ts'\n\nexport type { ${other} }\n`
  const { status, output } = lint({
    'workers/sends/one.ts': planted('two'),
    'workers/sends/two.ts': planted('one'),
  })
  expect(output).toContain('noImportCycles')
  expect(status).not.toBe(0)
})
