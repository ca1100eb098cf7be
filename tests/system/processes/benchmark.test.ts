import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import packageJson from '../../../package.json' with { type: 'json' }
import { buildPrograms } from '../../bench/program.ts'

test('the programs that the benchmark builds know the version of the service, and its migrations', async () => {
  await buildPrograms()
  const built = (path: string) => new URL(`../../../dist/bench/${path}.js`, import.meta.url).href
  const show = `await import('${built('db/migrations')}'); console.log((await import('${built('src/platform/process/build')}')).build.version)`
  const { stdout } = await promisify(execFile)('node', ['--input-type=module', '--eval', show])
  expect(stdout.trim()).toBe(packageJson.version)
})

test('the benchmark of the whole way of a send measures all three services and each of their processes', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'bench-test-'))
  try {
    const out = join(folder, 'out.json')
    const options = ['through', '--quick', '--runs', '1', '--out', out]
    // It ends with 1 where a floor isn't reached, as on a busy machine.
    await promisify(execFile)('npm', ['run', 'bench', '--', ...options]).catch(({ stdout, stderr }) => {
      expect(stdout, stderr).toContain('Written to')
    })
    const { findings } = JSON.parse(await readFile(out, 'utf8'))
    const figures: { variant: string; values: number[] }[] = findings[0].results.flatMap(
      (result: { figures: object[] }) => result.figures,
    )
    expect(new Set(figures.map(({ variant }) => variant))).toEqual(
      new Set(['this', 'plain', 'bare', 'ratio', 'API', 'worker', 'PostgreSQL', 'Redis', 'together']),
    )
    for (const { values } of figures) expect(values).toEqual([expect.any(Number)])
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})
