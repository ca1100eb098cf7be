import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import spectral from '@stoplight/spectral-core'
import rulesets from '@stoplight/spectral-rulesets'
import { expect, test } from 'vitest'
import { openApiDocument } from '../../../src/api/openapi/document.ts'
import { documentSettings } from '../../support/openapi.ts'

const run = promisify(execFile)
const text = JSON.stringify(openApiDocument({ ...documentSettings, PUBLIC_BASE_URL: 'https://api.acme.dev' }))

test('redocly lint finds no error and no warning', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'redocly-'))
  const file = join(folder, 'openapi.json')
  await writeFile(file, text)
  // It calls no other host.
  const env = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' }
  const lint = ['node_modules/@redocly/cli/bin/cli.js', 'lint', '--format=json', file]
  const { stdout } = await run(process.execPath, lint, { env }).catch((error: { stdout: string }) => error)
  const { totals, problems } = JSON.parse(stdout.slice(stdout.indexOf('{'), stdout.lastIndexOf('}') + 1))
  expect(problems).toEqual([])
  expect(totals).toMatchObject({ errors: 0, warnings: 0 })
  await rm(folder, { recursive: true })
})

test('so does spectral with its ruleset for OpenAPI', async () => {
  const linter = new spectral.Spectral()
  linter.setRuleset({ extends: [[rulesets.oas as never, 'recommended']] })
  const problems = await linter.run(JSON.parse(text))
  const lines = problems.map(({ code, severity, path }) => ({ code, severity, path: path.join('.') }))
  expect(lines).toEqual([])
})
