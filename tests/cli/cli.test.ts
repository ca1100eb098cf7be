import { expect, test } from 'vitest'
import { exitCodes, type FailureCode } from '../../src/cli/exit-codes.ts'
import { mintApiKey } from '../../src/core/accounts/api-key.ts'
import { openConfig } from '../../src/core/channels/sealed-config.ts'
import { post, request, textBody } from '../support/builders.ts'
import { startCli } from '../support/cli.ts'
import { finishedTimeline, serviceOfFile } from '../support/service.ts'

const service = await serviceOfFile()
await service.startWorker()

const cli = (args: string[], settings = {}) => startCli(service, settings, ...args).ended

/** Runs a command that has to succeed, with --json. */
async function ask(...args: string[]) {
  const { status, stdout, stderr } = await cli([...args, '--json'])
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  expect(stdout.trim().split('\n')).toHaveLength(1)
  return JSON.parse(stdout)
}

test('what the CLI sets up can send, be listed and be traced', async () => {
  const { accountId } = await ask('account', 'create', '--name', 'Acme', '--rate-limit', '5/60')
  const permission = 'messages:send,messages:read'
  const { keyId, apiKey } = await ask(
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
  const { channelId } = await ask('channel', 'create', ...created, '--on-uncertain', 'resend')
  const { flowId } = await ask('flow', 'create', '--account', accountId, '--name', 'Onboarding')

  const body = { ...textBody('Hello', '+4915112345678'), flowId }
  const sent = await post(service, { apiKey, channelId }, body)
  expect(sent.status).toBe(202)
  expect(sent.headers.get('RateLimit-Policy')).toBe('"default";q=5;w=60')
  await finishedTimeline(service, sent.body.requestId, apiKey)

  expect((await ask('key', 'list', '--account', accountId)).keys).toMatchObject([{ keyId, revokedAt: null }])
  expect(JSON.stringify(await ask('key', 'list', '--account', accountId))).not.toContain(apiKey)
  expect((await ask('channel', 'list', '--account', accountId)).channels).toMatchObject([
    { channelId, onUncertain: 'resend' },
  ])
  expect((await ask('flow', 'list', '--account', accountId)).flows).toMatchObject([
    { flowId, name: 'Onboarding' },
  ])
  const contact = ['--account', accountId, '--contact', '+49 (0)151\u201112345678']
  expect((await ask('conversation', 'list', ...contact)).conversations).toEqual([
    { conversationId: expect.any(String), openedAt: expect.any(String), closedAt: null, closedBy: null },
  ])

  const trace = await ask('trace', sent.body.requestId)
  expect(trace).toMatchObject({ status: 'sent', flowId, contact: { type: 'phone', value: '+49*********78' } })
  const { body: timeline } = await request(service, `/v1/messages/${sent.body.requestId}`, {
    headers: { Authorization: `Bearer ${apiKey}` },
  })
  expect(trace.events).toEqual(timeline.events)
  const readable = (await cli(['trace', sent.body.requestId])).stdout
  for (const { event } of trace.events) expect(readable).toContain(event)
  expect(readable).not.toContain('+4915112345678')
})

test('account update and channel update change what they name', async () => {
  const { accountId } = await ask('account', 'create', '--name', 'Updated')
  const created = ['--account', accountId, '--provider', 'sandbox', '--name', 'Box', '--config', '{}']
  const { channelId } = await ask('channel', 'create', ...created)
  expect(await ask('account', 'update', accountId, '--rate-limit', '7/3')).toEqual({ accountId })
  expect(await ask('channel', 'update', channelId, '--name', 'Chest', '--on-uncertain', 'resend')).toEqual({
    channelId,
  })
  expect((await ask('channel', 'list', '--account', accountId)).channels).toMatchObject([
    { name: 'Chest', onUncertain: 'resend' },
  ])
})

test('account list and template list show what was made, without the configs of channels', async () => {
  const { accountId } = await ask('account', 'create', '--name', 'Listed', '--rate-limit', '7/3')
  const limits = { rateLimitPoints: 7, rateLimitSeconds: 3 }
  const { accounts } = await ask('account', 'list')
  const listed = { accountId, name: 'Listed', ...limits, ceilings: null, createdAt: expect.any(String) }
  expect(accounts.at(-1)).toEqual(listed)
  const created = ['--account', accountId, '--provider', 'sandbox', '--name', 'Box', '--config', '{}']
  const { channelId } = await ask('channel', 'create', ...created)
  expect(await ask('template', 'list', '--channel', channelId)).toEqual({ templates: [] })
  const definition = { text: 'Hello {{name}}' }
  const set = ['template', 'set', '--channel', channelId, '--name', 'hello', '--definition']
  await ask(...set, JSON.stringify(definition))
  expect(await ask('template', 'list', '--channel', channelId)).toEqual({
    templates: [{ name: 'hello', definition, setAt: expect.any(String) }],
  })
  expect((await cli(['template', 'list', '--channel', channelId])).stdout).toContain(
    JSON.stringify(definition),
  )
})

test('a revoked key is listed as such', async () => {
  const { accountId } = await ask('account', 'create', '--name', 'Revoked')
  const { keyId } = await ask('key', 'create', '--account', accountId, '--permission', 'messages:send')
  expect(await ask('key', 'revoke', keyId)).toEqual({ keyId })
  expect((await ask('key', 'list', '--account', accountId)).keys).toMatchObject([
    { keyId, revokedAt: expect.any(String) },
  ])
})

const nobody = '01890000-0000-7000-8000-000000000000'

type Faulty = [args: string[], code: FailureCode, hint: string]
const faulty: Faulty[] = [
  [['template', 'list', '--channel', nobody], 'not_found', 'No channel'],
  [['account', 'create'], 'usage', '--name'],
  [['account', 'create', '--name', 'x', '--rate-limit', '5'], 'usage', 'POINTS/SECONDS'],
  [['account', 'create', '--name', 'x', '--rate-limit', '3/86401'], 'usage', '86400 seconds'],
  [
    ['key', 'create', '--account', nobody, '--permission', 'messages:send', '--expires-in', '0d'],
    'usage',
    'above 0',
  ],
  [['account', 'update', nobody, '--rate-limit', '5/60'], 'not_found', 'account create'],
  [['key', 'create', '--account', nobody, '--permission', 'messages:send'], 'not_found', 'account create'],
  [['key', 'create', '--account', nobody, '--permission', 'messages:write'], 'usage', 'messages:send'],
  [['key', 'revoke', 'x'], 'not_found', 'key list'],
  [
    ['channel', 'create', '--account', nobody, '--provider', 'pigeon', '--name', 'x', '--config', '{}'],
    'usage',
    'sandbox',
  ],
  [
    ['channel', 'create', '--account', nobody, '--provider', 'sandbox', '--name', 'x', '--config', '{'],
    'usage',
    'JSON',
  ],
  [['channel', 'update', nobody, '--name', 'x'], 'not_found', 'channel list'],
  [['conversation', 'list', '--account', nobody, '--contact', 'x'], 'usage', 'phone number'],
  [['trace', nobody], 'not_found', 'RETENTION_DAYS'],
  [['pigeon'], 'usage', 'pigeon'],
  [['account', 'list', '--pigeon'], 'usage', 'pigeon'],
  [[], 'usage', '--help'],
]

test.each(faulty)(
  'a wrong command says what to do in one line, and exits with the code of its kind: %j %s',
  async (args, code, hint) => {
    const { status, stdout, stderr } = await cli(args)
    expect({ status, stdout }).toEqual({ status: exitCodes[code], stdout: '' })
    expect(stderr).toMatch(/^[^\n]+\n$/)
    expect(stderr).toContain(hint)
    const inJson = await cli([...args, '--json'])
    expect({ ...inJson, stderr: JSON.parse(inJson.stderr) }).toEqual({
      status,
      stdout: '',
      stderr: { error: { code, message: stderr.trim() } },
    })
    expect(inJson.stderr).toMatch(/^[^\n]+\n$/)
  },
)

test('what a rule or a state forbids is told from what is absent or faulty', async () => {
  const { accountId } = await ask('account', 'create', '--name', 'Refused')
  const created = ['--account', accountId, '--provider', 'sandbox', '--name', 'Box', '--config', '{}']
  const { channelId } = await ask('channel', 'create', ...created)
  const { status, stdout, stderr } = await cli(['receipts', 'fetch', '--channel', channelId, '--json'])
  expect({ status, stdout }).toEqual({ status: exitCodes.refused, stdout: '' })
  expect(JSON.parse(stderr)).toEqual({
    error: { code: 'refused', message: expect.stringContaining("sandbox can't be asked for receipts") },
  })
})

test('a config that is no JSON is not repeated: it may hold credentials', async () => {
  const account = ['--account', nobody, '--provider', 'webhook', '--name', 'x']
  for (const config of [['--config', '{"secret":"SEKRET"'], ['--conf={"secret":"SEKRET"}']]) {
    const { status, stderr } = await cli(['channel', 'create', ...account, ...config])
    expect(status).toBe(exitCodes.usage)
    expect(stderr).not.toContain('SEKRET')
  }
})

test.each([[['key', 'revoke']], [['key', 'list', '--account']], [['trace']]])(
  'an API key in place of an id is not repeated: %j',
  async (command) => {
    const { apiKey } = mintApiKey(service.runtime.settings.API_KEY_PEPPER)
    for (const json of [[], ['--json']]) {
      const { status, stdout, stderr } = await cli([...command, apiKey, ...json])
      expect({ status, stdout }).toEqual({ status: exitCodes.not_found, stdout: '' })
      expect(stderr).toContain('omk_…')
      expect(stderr).not.toContain(apiKey.slice(4))
    }
  },
)

test('a config that the provider refuses is named by its field', async () => {
  const { accountId } = await ask('account', 'create', '--name', 'Refused config')
  const args = ['--account', accountId, '--provider', 'sandbox', '--name', 'x', '--config', '{"url":"x"}']
  expect((await cli(['channel', 'create', ...args])).stderr).toContain('url: unknown field')
})

async function sealedConfigOf(channelId: string): Promise<string> {
  const { rows } = await service.runtime.db.$client.query(
    'select sealed_config as sealed from channels where id = $1',
    [channelId],
  )
  return rows[0].sealed
}

test("a webhook's secret is changed without a gap, and is shown nowhere", async () => {
  const { accountId } = await ask('account', 'create', '--name', 'Webhook')
  const [old, next] = ['old', 'next'].map((text) => `whsec_${Buffer.alloc(32, text).toString('base64')}`)
  const configOf = (secret: unknown) => JSON.stringify({ url: 'https://example.com/messages', secret })
  const created = ['--account', accountId, '--provider', 'webhook', '--name', 'Ours']
  const { channelId } = await ask('channel', 'create', ...created, '--config', configOf(old))
  for (const secret of [[old, next], next]) {
    expect(await ask('channel', 'update', channelId, '--config', configOf(secret))).toEqual({ channelId })
    const sealed = await sealedConfigOf(channelId)
    expect(openConfig(sealed, channelId, [service.runtime.settings.CREDENTIALS_KEY])).toMatchObject({
      secret,
    })
    const listed = (await cli(['channel', 'list', '--account', accountId, '--json'])).stdout
    for (const known of [old, next]) expect(sealed + listed).not.toContain(String(known).slice(6))
  }
  const refused = await cli(['channel', 'update', channelId, '--config', configOf([old, next, old])])
  expect(refused.stderr).toContain('secret: has to contain 1 or 2 secrets')
  expect(refused.stderr).not.toContain(String(old).slice(6))
})

test("an smtp config without a name is sealed without one: the previous release doesn't know the field", async () => {
  const { accountId } = await ask('account', 'create', '--name', 'Mail')
  const config = { host: 'mx.example.com', from: 'Ann <ann@example.com>' }
  const created = ['--account', accountId, '--provider', 'smtp', '--name', 'Mail']
  const { channelId } = await ask('channel', 'create', ...created, '--config', JSON.stringify(config))
  const sealed = await sealedConfigOf(channelId)
  expect(openConfig(sealed, channelId, [service.runtime.settings.CREDENTIALS_KEY])).toStrictEqual({
    ...config,
    port: 587,
    secure: false,
    subject: 'Message',
  })
})

test('without a database the error says so, and why', async () => {
  const away = { DATABASE_URL: 'postgres://postgres@127.0.0.1:1/none' }
  const message = 'PostgreSQL does not answer; check DATABASE_URL and that it runs'
  const { status, stderr } = await cli(['trace', nobody], away)
  expect({ status, stderr }).toEqual({ status: exitCodes.store_away, stderr: `${message}\n` })
  const inJson = await cli(['trace', nobody, '--json'], away)
  expect({ status: inJson.status, ...JSON.parse(inJson.stderr) }).toEqual({
    status: exitCodes.store_away,
    error: { code: 'store_away', message, cause: 'unreachable' },
  })
})

test('a setting that is missing or wrong is a fault of usage', async () => {
  const { accountId } = await ask('account', 'create', '--name', 'Without a key')
  const create = ['channel', 'create', '--account', accountId, '--provider', 'sandbox', '--name', 'x']
  for (const CREDENTIALS_KEY of ['', 'short']) {
    const { status, stderr } = await cli([...create, '--config', '{}', '--json'], { CREDENTIALS_KEY })
    expect(status).toBe(exitCodes.usage)
    expect(JSON.parse(stderr)).toEqual({
      error: { code: 'usage', message: expect.stringContaining('CREDENTIALS_KEY') },
    })
  }
})
