import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import packageJson from '../../../package.json' with { type: 'json' }
import { buildPrograms } from '../../bench/program.ts'

test('the programs that the benchmark builds know the version of the service, and its migrations', async () => {
  await buildPrograms()
  const built = (path: string) => new URL(`../../../dist/bench/${path}.js`, import.meta.url).href
  const show = `await import('${built('db/migrations')}'); console.log((await import('${built('src/platform/version')}')).version)`
  const { stdout } = await promisify(execFile)('node', ['--input-type=module', '--eval', show])
  expect(stdout.trim()).toBe(packageJson.version)
})
