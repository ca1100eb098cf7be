import { type SpawnOptions, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { openSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { listAccounts } from '../../../db/accounts/accounts.ts'
import { importSuppressions } from '../../../db/suppression/import.ts'
import { argumentsOf } from '../../../src/dev/service-process.ts'
import { type Account, accept, buildAccount, textBody } from '../../support/builders.ts'
import { startTestService, type TestService, testSecrets } from '../../support/service.ts'

let service: TestService
let folder: string
let account: Account

beforeAll(async () => {
  service = await startTestService()
  folder = await mkdtemp(join(tmpdir(), 'cli-output-'))
})
beforeEach(async () => {
  account = await buildAccount(service)
})
afterAll(async () => {
  await service.stop()
  await rm(folder, { recursive: true })
})

const environment = () => ({ ...process.env, ...testSecrets, DATABASE_URL: service.stores.databaseUrl })
const program = argumentsOf('src/cli/main.ts')

function start(args: string[], stdout: 'pipe' | number = 'pipe') {
  const options: SpawnOptions = { env: environment(), stdio: ['ignore', stdout, 'pipe'] }
  const child = spawn(process.execPath, [...program, ...args], options)
  const errors = child.stderr ? text(child.stderr) : ''
  const ended = once(child, 'exit').then(async ([status]) => ({ status, stderr: await errors }))
  return { stdout: child.stdout, ended }
}

/** Runs a command of whose output nobody reads anything. */
async function unread(...args: string[]) {
  const { stdout, ended } = start(args)
  stdout?.destroy()
  return await ended
}

const inSilence = { status: 0, stderr: '' }

/** Adds so many contacts to the account's list. */
async function suppress(count: number): Promise<void> {
  async function* page() {
    yield Array.from({ length: count }, (_, n) => ({
      contact: { type: 'email' as const, value: `c${n}@example.com` },
      channelId: null,
      reason: null,
    }))
  }
  await importSuppressions(service.runtime.db, account.accountId, page())
}

test('a long output that head cuts ends in silence', async () => {
  await suppress(20_000)
  const command = [process.execPath, ...program, 'suppression', 'export', '--account', account.accountId]
  const script = 'set -o pipefail; "$@" | head -n 2'
  const { status, stdout, stderr } = spawnSync('bash', ['-c', script, 'bash', ...command], {
    env: environment(),
    encoding: 'utf8',
  })
  expect({ status, stderr }).toEqual(inSilence)
  expect(stdout.trim().split('\n')).toHaveLength(2)
})

test('so does a short one, a help and a failure after which nobody reads', async () => {
  expect(await unread('account', 'list')).toEqual(inSilence)
  expect(await unread('account', 'list', '--json')).toEqual(inSilence)
  expect(await unread('--help')).toEqual(inSilence)
  expect(await unread('key', 'revoke', 'x')).toEqual({
    status: 3,
    stderr: expect.stringContaining('No key x'),
  })
})

test('trace --follow ends with its reader', async () => {
  // Read to its end, it would exit with 1.
  const requestId = await accept(service, account, textBody('Hello', '+15550100103'))
  const { stdout, ended } = start(['trace', requestId, '--follow'])
  if (!stdout) throw new Error('It has no stdout')
  await once(stdout, 'data')
  stdout.destroy()
  const worker = await service.startWorker('after the reader')
  expect(await ended).toEqual(inSilence)
  await worker.stop()
})

test('a command that changes something does it whole, although nobody reads its output', async () => {
  expect(await unread('account', 'create', '--name', 'Unread')).toEqual(inSilence)
  expect((await listAccounts(service.runtime.db)).map(({ name }) => name)).toContain('Unread')

  const path = join(folder, 'contacts.csv')
  const rows = Array.from({ length: 300_001 }, (_, n) => `c${n}@example.com,,`)
  await writeFile(path, ['contact,channelId,reason', ...rows].join('\n'))
  const list = ['--account', account.accountId, '--file', path]
  expect(await unread('suppression', 'import', ...list)).toEqual(inSilence)
  const { rows: counted } = await service.runtime.db.$client.query(
    'select count(*)::int as count from suppressions where account_id = $1',
    [account.accountId],
  )
  expect(counted).toEqual([{ count: 300_001 }])
})

test('an output that a full disk cuts is a failure that says so', async () => {
  const { ended } = start(['account', 'list'], openSync('/dev/full', 'w'))
  expect(await ended).toEqual({
    status: 1,
    stderr: expect.stringMatching(/^The command has run, but its output can't be written \(ENOSPC\); .*\n$/),
  })
})
