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

const page = await readFile('docs/client/clients.md', 'utf8')
const commands = [...page.matchAll(/`(npx [^`]+)`/g)].map(([, command = '']) => command)

/** Packages that npm has fetched once are not requested again. */
const env = { ...process.env, npm_config_prefer_offline: 'true' }
/** npm's codes where nothing of the registry could be reached. */
const isOffline = /npm error code (ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ENETUNREACH|EHOSTUNREACH|ENOTCACHED)/

// At once: each mostly waits for the registry.
test.concurrent.for(commands)(
  'the guide’s command makes a client without a complaint: %s',
  async (command, { skip }) => {
    const folder = await mkdtemp(join(tmpdir(), 'client-'))
    const own = command.replaceAll('http://127.0.0.1:3000', service.url)
    const { stdout, stderr } = await promisify(execFile)('sh', ['-c', own], { cwd: folder, env }).catch(
      (error: Error & { stderr: string }) => {
        skip(isOffline.test(error.stderr), 'npm reaches no registry: connect this machine to one')
        throw error
      },
    )
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
