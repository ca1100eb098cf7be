import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import packageJson from '../../../package.json' with { type: 'json' }
import { buildPrograms } from '../../bench/program.ts'

test('the programs that the benchmark builds know the version of the service', async () => {
  await buildPrograms()
  const built = new URL('../../../dist/bench/src/platform/version.js', import.meta.url)
  const show = `console.log((await import('${built.href}')).version)`
  const { stdout } = await promisify(execFile)('node', ['--input-type=module', '--eval', show])
  expect(stdout.trim()).toBe(packageJson.version)
}, 60_000)
