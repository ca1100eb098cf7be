import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestService, type TestService } from '../support/service.ts'

let service: TestService

beforeAll(async () => {
  service = await startTestService()
})
afterAll(() => service.stop())

const page = await readFile('docs/client/typed-clients.md', 'utf8')
const commands = [...page.matchAll(/`(npx [^`]+)`/g)].map(([, command = '']) => command)

/** They are fetched from the registry first. */
const timeout = 5 * 60_000

test.each(commands)(
  'the guide’s command makes a client without a complaint: %s',
  { timeout },
  async (command) => {
    const folder = await mkdtemp(join(tmpdir(), 'client-'))
    const own = command.replaceAll('http://127.0.0.1:3000', service.url)
    const { stdout, stderr } = await promisify(execFile)('sh', ['-c', own], { cwd: folder })
    // npm itself says which Node.js its packages want.
    const lines = `${stdout}\n${stderr}`.split('\n').filter((line) => !line.startsWith('npm '))
    expect(lines.filter((line) => /warn|error|invalid|unsupported|fail/i.test(line))).toEqual([])
    expect(await readdir(folder)).not.toEqual([])
    await rm(folder, { recursive: true })
  },
)

test('the guide has a command for each of the three generators, with its version', () => {
  expect(
    commands.map((command) => /(openapi-typescript|@hey-api\/openapi-ts|orval)@\d+/.exec(command)?.[1]),
  ).toEqual(['openapi-typescript', '@hey-api/openapi-ts', 'orval'])
})
