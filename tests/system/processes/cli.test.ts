import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { argumentsOf } from '../../../src/dev/service-process.ts'
import { accept, buildAccount, textBody } from '../../support/builders.ts'
import { startTestService, type TestService, testSecrets } from '../../support/service.ts'
import { eventually } from '../../support/wait.ts'

let service: TestService

beforeAll(async () => {
  service = await startTestService()
})
afterAll(() => service.stop())

const built = [process.execPath, ...argumentsOf('src/cli/main.ts')]

/** @param program a build of the command line starts in a fifth of the time that `npm run cli` takes. */
function startCli(args: string[], [file = '', ...before] = built) {
  const env = { ...process.env, ...testSecrets, DATABASE_URL: service.stores.databaseUrl }
  const child = spawn(file, [...before, ...args], { env })
  const output = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].on('data', (chunk: Buffer) => {
      output[name] += chunk
    })
  }
  const ended = once(child, 'close').then(([status]) => ({ ...output, status }))
  return { output, ended, stdin: child.stdin }
}

test('a command prints one JSON object, nothing else, and exits with 0', async () => {
  const command = ['account', 'create', '--name', 'Acme', '--json']
  const { status, stdout, stderr } = await startCli(command, ['npm', 'run', '-s', 'cli', '--']).ended
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  expect(stdout).toMatch(/^[^\n]+\n$/)
  expect(JSON.parse(stdout)).toEqual({ accountId: expect.any(String) })
})

test('a faulty command prints one line on stderr and exits with its code; --help exits with 0', async () => {
  const [faulty, help] = await Promise.all([
    startCli(['key', 'revoke', 'x']).ended,
    startCli(['--help']).ended,
  ])
  expect(faulty).toEqual({ status: 3, stdout: '', stderr: expect.stringMatching(/^.*key list.*\n$/) })
  expect(help).toEqual({ status: 0, stdout: expect.stringContaining('channel'), stderr: '' })
})

test("a person's password is read from stdin, and printed nowhere", async () => {
  const running = startCli(['admin-user', 'add', '--name', 'ann', '--role', 'support', '--json'])
  running.stdin.end('correct horse battery staple\n')
  const { status, stdout, stderr } = await running.ended
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  expect(JSON.parse(stdout)).toEqual({ name: 'ann', role: 'support' })
  const none = startCli(['admin-user', 'set-password', '--name', 'ann'])
  none.stdin.end()
  const issue = expect.stringMatching(/^The password is too short: use at least 12 characters.*\n$/)
  expect(await none.ended).toEqual({ status: 64, stdout: '', stderr: issue })
})

test('the bin of package.json is a program of the build, and runs by itself', async () => {
  const { bin } = JSON.parse(readFileSync('package.json', 'utf8'))
  expect(Object.keys(bin)).toEqual(['outbound'])
  const program = join(String(process.env.SERVICE_BUILD), bin.outbound.replace(/^dist\//, ''))
  const { status, stdout } = spawnSync(program, ['account', 'create', '--help'], { encoding: 'utf8' })
  expect(status).toBe(0)
  expect(stdout).toContain('outbound account create --name Acme')
})

test('trace --follow prints events as they come, and exits with 0 when the send was sent', async () => {
  const account = await buildAccount(service)
  const requestId = await accept(service, account, textBody())
  const running = startCli(['trace', requestId, '--follow'])
  await eventually('its first event', async () => running.output.stdout.includes(' accepted '))
  await service.startWorker()
  const { status, stdout, stderr } = await running.ended
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  expect(stdout).toMatch(/ accepted .* attempt_started .* sent /s)
})
