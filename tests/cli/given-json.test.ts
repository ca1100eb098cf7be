import { spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { listTemplates } from '../../db/accounts/templates.ts'
import { openConfig } from '../../src/core/channels/sealed-config.ts'
import { buildAccount } from '../support/builders.ts'
import { runCli, runCliGiven, runCliWith } from '../support/cli.ts'
import { serviceOfFile, testSecrets } from '../support/service.ts'
import { webhookSecret } from '../support/webhook-receiver.ts'

const service = await serviceOfFile()
const account = await buildAccount(service)
const config = { url: 'https://example.com/hook', secret: webhookSecret }
let folder = ''

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'given-json-'))
})
afterAll(() => rm(folder, { recursive: true }))

async function file(content: string | Buffer): Promise<string> {
  const path = join(folder, 'given.json')
  await writeFile(path, content)
  return path
}

const create = ['channel', 'create', '--provider', 'webhook', '--name', 'x', '--account', account.accountId]

async function configOf(stdout: string) {
  const { channelId } = JSON.parse(stdout)
  const { rows } = await service.runtime.db.$client.query(
    'select sealed_config from channels where id = $1',
    [channelId],
  )
  return openConfig(rows[0].sealed_config, channelId, [service.runtime.settings.CREDENTIALS_KEY])
}

test('a config comes from a file, also with a byte order mark', async () => {
  for (const mark of ['', '\uFEFF']) {
    const path = await file(`${mark}${JSON.stringify(config)}\n`)
    const { stdout } = await runCli(service, ...create, '--config', `@${path}`)
    expect(await configOf(stdout)).toMatchObject(config)
    const { channelId } = JSON.parse(stdout)
    const changed = await file(JSON.stringify({ ...config, url: 'https://example.com/other' }))
    expect((await runCli(service, 'channel', 'update', channelId, '--config', `@${changed}`)).status).toBe(0)
    expect(await configOf(stdout)).toMatchObject({ url: 'https://example.com/other' })
  }
})

test('a config comes on stdin', async () => {
  const child = spawn(
    process.execPath,
    ['--import', 'tsx', 'src/cli/main.ts', ...create, '--config', '-', '--json'],
    { env: { ...process.env, ...testSecrets, DATABASE_URL: service.stores.databaseUrl } },
  )
  child.stdin.end(JSON.stringify(config))
  expect(await configOf(await text(child.stdout))).toMatchObject(config)
})

test('a definition of a template comes from a file', async () => {
  const path = await file('{"text":"Hello {{name}}"}')
  const set = ['template', 'set', '--channel', account.channelId, '--name', 'welcome']
  expect((await runCli(service, ...set, '--definition', `@${path}`)).status).toBe(0)
  expect(await listTemplates(service.runtime.db, account.channelId)).toMatchObject([
    { name: 'welcome', definition: { text: 'Hello {{name}}' } },
  ])
})

test.each<[string, () => Promise<string>, RegExp]>([
  ['that is not there', async () => join(folder, 'absent.json'), /can't read .*absent\.json \(ENOENT\)/],
  ['that is a folder', async () => folder, /can't read .* \(EISDIR\)/],
  ['without a name', async () => '', /names no file after the @; write @FILE, or - for stdin/],
  ['in Windows-1252', () => file(Buffer.from('{"secret":"gr\xfcn"}', 'latin1')), /is not UTF-8; convert it/],
  ['in UTF-16', () => file(Buffer.from('\uFEFF{"url":"x"}', 'utf16le')), /is not UTF-8; convert it/],
  ['that is not JSON', () => file('{"secret":"hunter2"'), /is not valid JSON; check it, in .*given\.json/],
])('a file %s is one line that says what to do, and repeats nothing of it', async (_, path, message) => {
  const { status, stderr } = await runCli(service, ...create, '--config', `@${await path()}`)
  expect(status).toBe(64)
  expect(stderr.trim().split('\n')).toHaveLength(1)
  expect(stderr).toMatch(message)
  expect(stderr).toContain('--config')
  expect(stderr).not.toContain('hunter2')
})

test('a config as an argument works, and the command names its fields that others saw, without their values', async () => {
  const warningsOf = async (...args: string[]) => {
    const warnings: string[] = []
    const printWarning = (line: string) => warnings.push(line)
    expect(await runCliGiven(service, { printWarning }, ...args)).toMatchObject({ status: 0 })
    return warnings
  }
  const argument = JSON.stringify(config)
  const [warning = ''] = await warningsOf(...create, '--config', argument)
  expect(warning).toMatch(/^--config was an argument, which other users .* give url, secret as @FILE or - /)
  expect(warning).not.toContain(webhookSecret)
  const { stdout } = await runCli(service, ...create, '--config', argument)
  const { channelId } = JSON.parse(stdout)
  expect(await warningsOf('channel', 'update', channelId, '--config', argument)).toEqual([warning])
  expect(await warningsOf(...create, '--config', `@${await file(argument)}`)).toEqual([])
  const sandbox = [
    'channel',
    'create',
    '--provider',
    'sandbox',
    '--name',
    'x',
    '--account',
    account.accountId,
  ]
  expect(await warningsOf(...sandbox, '--config', '{}')).toEqual([])
})

test('the command reads its secrets from files', async () => {
  const databaseUrl = await file(`${service.stores.databaseUrl}\n`)
  const settings = { DATABASE_URL: '', DATABASE_URL_FILE: databaseUrl }
  const listed = await runCliWith(service, settings, 'channel', 'list', '--account', account.accountId)
  expect(listed).toMatchObject({ status: 0 })
  const both = await runCliWith(service, { DATABASE_URL_FILE: databaseUrl }, 'account', 'list')
  expect(both).toMatchObject({ status: 64, stderr: expect.stringContaining('DATABASE_URL_FILE is set, and') })
})
