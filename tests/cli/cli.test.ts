import { spawnSync } from 'node:child_process'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { mintApiKey } from '../../src/core/api-key.ts'
import { openConfig } from '../../src/core/sealed-config.ts'
import { post, request, textBody } from '../support/builders.ts'
import { finishedTimeline, startTestService, type TestService } from '../support/service.ts'

let service: TestService
let environment: NodeJS.ProcessEnv

beforeAll(async () => {
  service = await startTestService()
  await service.startWorker()
  const { CREDENTIALS_KEY, API_KEY_PEPPER } = service.runtime.settings
  environment = {
    ...process.env,
    DATABASE_URL: service.stores.databaseUrl,
    CREDENTIALS_KEY: CREDENTIALS_KEY.toString('base64'),
    API_KEY_PEPPER,
  }
})
afterAll(() => service.stop())

function cli(args: string[], env: NodeJS.ProcessEnv = environment) {
  const command = [inject('cliProgram'), ...args]
  const { status, stdout, stderr } = spawnSync(process.execPath, command, { env, encoding: 'utf8' })
  return { status, stdout, stderr }
}

/** Runs a command that has to succeed, with --json. */
function ask(...args: string[]) {
  const { status, stdout, stderr } = cli([...args, '--json'])
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  expect(stdout.trim().split('\n')).toHaveLength(1)
  return JSON.parse(stdout)
}

test('what the CLI sets up can send, be listed and be traced', async () => {
  const { accountId } = ask('account', 'create', '--name', 'Acme', '--rate-limit', '5/60')
  const permission = 'messages:send,messages:read'
  const { keyId, apiKey } = ask(
    'key',
    'create',
    '--account',
    accountId,
    '--permission',
    permission,
    '--expires-in',
    '90d',
  )
  const created = ['--account', accountId, '--provider', 'sandbox', '--name', 'Box', '--config', '{}']
  const { channelId } = ask('channel', 'create', ...created, '--on-uncertain', 'resend')
  const { flowId } = ask('flow', 'create', '--account', accountId, '--name', 'Onboarding')

  const body = { ...textBody('Hello', '+4915112345678'), flowId }
  const sent = await post(service, { apiKey, channelId }, body)
  expect(sent.status).toBe(202)
  expect(sent.headers.get('RateLimit-Policy')).toBe('"default";q=5;w=60')
  await finishedTimeline(service, sent.body.requestId, apiKey)

  expect(ask('key', 'list', '--account', accountId).keys).toMatchObject([{ keyId, revokedAt: null }])
  expect(JSON.stringify(ask('key', 'list', '--account', accountId))).not.toContain(apiKey)
  expect(ask('channel', 'list', '--account', accountId).channels).toMatchObject([
    { channelId, onUncertain: 'resend' },
  ])
  expect(ask('flow', 'list', '--account', accountId).flows).toMatchObject([{ flowId, name: 'Onboarding' }])
  const contact = ['--account', accountId, '--contact', '0049 151 12345678']
  expect(ask('conversation', 'list', ...contact).conversations).toEqual([
    { conversationId: expect.any(String), openedAt: expect.any(String), closedAt: null, closedBy: null },
  ])

  const trace = ask('trace', sent.body.requestId)
  expect(trace).toMatchObject({ status: 'sent', flowId, contact: { type: 'phone', value: '+49*********78' } })
  const { body: timeline } = await request(service, `/v1/messages/${sent.body.requestId}`, {
    headers: { Authorization: `Bearer ${apiKey}` },
  })
  expect(trace.events).toEqual(timeline.events)
  const readable = cli(['trace', sent.body.requestId]).stdout
  for (const { event } of trace.events) expect(readable).toContain(event)
  expect(readable).not.toContain('+4915112345678')
})

test('account update and channel update change what they name', async () => {
  const { accountId } = ask('account', 'create', '--name', 'Acme')
  const created = ['--account', accountId, '--provider', 'sandbox', '--name', 'Box', '--config', '{}']
  const { channelId } = ask('channel', 'create', ...created)
  expect(ask('account', 'update', accountId, '--rate-limit', '7/3')).toEqual({ accountId })
  expect(ask('channel', 'update', channelId, '--name', 'Chest', '--on-uncertain', 'resend')).toEqual({
    channelId,
  })
  expect(ask('channel', 'list', '--account', accountId).channels).toMatchObject([
    { name: 'Chest', onUncertain: 'resend' },
  ])
})

test('account list and template list show what was made, without the configs of channels', () => {
  const { accountId } = ask('account', 'create', '--name', 'Listed', '--rate-limit', '7/3')
  const limits = { rateLimitPoints: 7, rateLimitSeconds: 3 }
  const { accounts } = ask('account', 'list')
  const listed = { accountId, name: 'Listed', ...limits, createdAt: expect.any(String) }
  expect(accounts.at(-1)).toEqual(listed)
  const created = ['--account', accountId, '--provider', 'sandbox', '--name', 'Box', '--config', '{}']
  const { channelId } = ask('channel', 'create', ...created)
  expect(ask('template', 'list', '--channel', channelId)).toEqual({ templates: [] })
  const definition = { text: 'Hello {{name}}' }
  const set = ['template', 'set', '--channel', channelId, '--name', 'hello', '--definition']
  ask(...set, JSON.stringify(definition))
  expect(ask('template', 'list', '--channel', channelId)).toEqual({
    templates: [{ name: 'hello', definition, setAt: expect.any(String) }],
  })
  expect(cli(['template', 'list', '--channel', channelId]).stdout).toContain(JSON.stringify(definition))
})

test('a revoked key is listed as such', () => {
  const { accountId } = ask('account', 'create', '--name', 'Acme')
  const { keyId } = ask('key', 'create', '--account', accountId, '--permission', 'messages:send')
  expect(ask('key', 'revoke', keyId)).toEqual({ keyId })
  expect(ask('key', 'list', '--account', accountId).keys).toMatchObject([
    { keyId, revokedAt: expect.any(String) },
  ])
})

const nobody = '01890000-0000-7000-8000-000000000000'

test.each([
  [['template', 'list', '--channel', nobody], 'No channel'],
  [['account', 'create'], '--name'],
  [['account', 'create', '--name', 'x', '--rate-limit', '5'], 'POINTS/SECONDS'],
  [['account', 'create', '--name', 'x', '--rate-limit', '3/86401'], '86400 seconds'],
  [['key', 'create', '--account', nobody, '--permission', 'messages:send', '--expires-in', '0d'], 'above 0'],
  [['account', 'update', nobody, '--rate-limit', '5/60'], 'account create'],
  [['key', 'create', '--account', nobody, '--permission', 'messages:send'], 'account create'],
  [['key', 'create', '--account', nobody, '--permission', 'messages:write'], 'messages:send'],
  [['key', 'revoke', 'x'], 'key list'],
  [
    ['channel', 'create', '--account', nobody, '--provider', 'pigeon', '--name', 'x', '--config', '{}'],
    'sandbox',
  ],
  [
    ['channel', 'create', '--account', nobody, '--provider', 'sandbox', '--name', 'x', '--config', '{'],
    'JSON',
  ],
  [['channel', 'update', nobody, '--name', 'x'], 'channel list'],
  [['conversation', 'list', '--account', nobody, '--contact', 'x'], 'phone number'],
  [['trace', nobody], 'RETENTION_DAYS'],
  [['pigeon'], 'pigeon'],
  [[], '--help'],
])('a faulty command says what to do in one line and exits with 1: %j', (args, hint) => {
  const { status, stdout, stderr } = cli([...args, '--json'])
  expect({ status, stdout }).toEqual({ status: 1, stdout: '' })
  expect(stderr.trim().split('\n')).toHaveLength(1)
  expect(stderr).toContain(hint)
})

test('a config that is no JSON is not repeated: it may hold credentials', () => {
  const account = ['--account', nobody, '--provider', 'webhook', '--name', 'x']
  for (const config of [['--config', '{"secret":"SEKRET"'], ['--conf={"secret":"SEKRET"}']]) {
    const { status, stderr } = cli(['channel', 'create', ...account, ...config])
    expect(status).toBe(1)
    expect(stderr).not.toContain('SEKRET')
  }
})

test.each([[['key', 'revoke']], [['key', 'list', '--account']], [['trace']]])(
  'an API key in place of an id is not repeated: %j',
  (command) => {
    const { apiKey } = mintApiKey(service.runtime.settings.API_KEY_PEPPER)
    const { status, stdout, stderr } = cli([...command, apiKey])
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' })
    expect(stderr).toContain('omk_…')
    expect(stderr).not.toContain(apiKey.slice(4))
  },
)

test('a config that the provider refuses is named by its field', () => {
  const { accountId } = ask('account', 'create', '--name', 'Acme')
  const args = ['--account', accountId, '--provider', 'sandbox', '--name', 'x', '--config', '{"url":"x"}']
  expect(cli(['channel', 'create', ...args]).stderr).toContain('url: unknown field')
})

async function sealedConfigOf(channelId: string): Promise<string> {
  const { rows } = await service.runtime.db.$client.query(
    'select sealed_config as sealed from channels where id = $1',
    [channelId],
  )
  return rows[0].sealed
}

test("a webhook's secret is changed without a gap, and is shown nowhere", async () => {
  const { accountId } = ask('account', 'create', '--name', 'Acme')
  const [old, next] = ['old', 'next'].map((text) => `whsec_${Buffer.alloc(32, text).toString('base64')}`)
  const configOf = (secret: unknown) => JSON.stringify({ url: 'https://example.com/messages', secret })
  const created = ['--account', accountId, '--provider', 'webhook', '--name', 'Ours']
  const { channelId } = ask('channel', 'create', ...created, '--config', configOf(old))
  for (const secret of [[old, next], next]) {
    expect(ask('channel', 'update', channelId, '--config', configOf(secret))).toEqual({ channelId })
    const sealed = await sealedConfigOf(channelId)
    expect(openConfig(sealed, channelId, [service.runtime.settings.CREDENTIALS_KEY])).toMatchObject({
      secret,
    })
    const listed = cli(['channel', 'list', '--account', accountId, '--json']).stdout
    for (const known of [old, next]) expect(sealed + listed).not.toContain(String(known).slice(6))
  }
  const refused = cli(['channel', 'update', channelId, '--config', configOf([old, next, old])])
  expect(refused.stderr).toContain('secret: has to hold 1 or 2 secrets')
  expect(refused.stderr).not.toContain(String(old).slice(6))
})

test('an smtp config without a name is sealed without one: the release before knows no such field', async () => {
  const { accountId } = ask('account', 'create', '--name', 'Acme')
  const config = { host: 'mx.example.com', from: 'Ann <ann@example.com>' }
  const created = ['--account', accountId, '--provider', 'smtp', '--name', 'Mail']
  const { channelId } = ask('channel', 'create', ...created, '--config', JSON.stringify(config))
  const sealed = await sealedConfigOf(channelId)
  expect(openConfig(sealed, channelId, [service.runtime.settings.CREDENTIALS_KEY])).toStrictEqual({
    ...config,
    port: 587,
    secure: false,
    subject: 'Message',
  })
})

test('without a database the message says so', () => {
  const away = { ...environment, DATABASE_URL: 'postgres://postgres@127.0.0.1:1/none' }
  const { status, stderr } = cli(['trace', nobody], away)
  expect(status).toBe(1)
  expect(stderr).toBe('PostgreSQL does not answer; check DATABASE_URL and that it runs\n')
})
