import { createHmac } from 'node:crypto'
import { mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { keepProviderFiles } from '../../src/provider-files.ts'
import type { Emulator } from '../../src/providers/shared/dev/emulator.ts'
import {
  type EmulatedAnswer,
  httpEmulator,
  jsonIn,
  type ReceivedCall,
} from '../../src/providers/shared/dev/http-emulator.ts'
import { type Account, accept, buildAccount, textBody } from '../support/builders.ts'
import { runCli, runCliWith } from '../support/cli.ts'
import { buildEndpoint, callbacksOf } from '../support/endpoints.ts'
import { sendReport } from '../support/receipts.ts'
import { finishedTimeline, startTestService, type TestService } from '../support/service.ts'
import { eventually } from '../support/wait.ts'

/** docs/how-to/add-your-vendor.md, as somebody follows it: its file and its commands. */
const page = await readFile('docs/how-to/add-your-vendor.md', 'utf8')
const [, file = ''] = /```yaml\n(.*?)```/s.exec(page) ?? []
const commands = [...page.matchAll(/^outbound (.*)$/gm)].map(([, line = '']) =>
  [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, word]) => quoted ?? word ?? ''),
)

let service: TestService
let account: Account
let acme: Emulator<Record<string, unknown>, EmulatedAnswer>
let files: { stop(): void }
let path: string

/** The made-up vendor, as its document says. */
const openAcme = () =>
  httpEmulator<Record<string, unknown>>({
    config: (baseUrl) => ({ baseUrl }),
    read: (call: ReceivedCall) => ({ ...call, json: jsonIn(call) }),
    answer: ({ path, headers, json }) =>
      path === '/v1/acme-1/sms' && Object(headers)['x-key'] === 'made-up-key' && json
        ? { status: 200, body: { messages: [{ id: 'm-1', state: 'queued' }] } }
        : { status: 401, body: {} },
  })

beforeAll(async () => {
  service = await startTestService({ ALLOWED_PRIVATE_NETWORKS: '127.0.0.0/8' })
  account = await buildAccount(service)
  acme = await openAcme()
  path = join(await mkdtemp(join(tmpdir(), 'acme-')), 'acme-sms.yaml')
  await writeFile(path, file)
  files = await keepProviderFiles(service.runtime)
  await service.startWorker()
})
afterAll(async () => {
  files.stop()
  await service.stop()
  await acme.stop()
})

async function run(words: string, changes: Record<string, unknown> = {}): Promise<Record<string, unknown>> {
  const command = commands.find((given) => given.join(' ').startsWith(words))
  if (!command) throw new Error(`The page has no command ${words}`)
  const args = command.map((word) => {
    if (word === 'acme-sms.yaml') return path
    if (word === '$ACCOUNT') return account.accountId
    return word.startsWith('{') ? JSON.stringify({ ...JSON.parse(word), ...changes }) : word
  })
  const { status, stdout, stderr } = await runCliWith(
    service,
    { ALLOWED_PRIVATE_NETWORKS: '127.0.0.0/8' },
    ...args,
  )
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  return JSON.parse(stdout)
}

test('from the file to a callback: a vendor is checked, tried, set, sent through, and reports', async () => {
  expect(await run('provider check')).toMatchObject({ name: 'acme-sms', messages: 100 })
  const tried = JSON.stringify(await run('provider try'))
  expect(tried).toContain('https://api.acme-sms.example/v1/acme-1/sms')
  expect(tried).not.toContain('made-up-key')
  await run('provider set')
  const { channelId } = await run('channel create', { baseUrl: acme.config.baseUrl })
  const owner = { ...account, channelId: String(channelId) }
  const endpoint = await buildEndpoint(service, account.accountId, 'https://example.com/callbacks')

  const requestId = await accept(service, owner, textBody('"}]&\r\n', '+4915112345678'))
  const timeline = await finishedTimeline(service, requestId, account.apiKey)
  expect(timeline).toMatchObject({ status: 'sent', attempts: 1, providerMessageId: 'm-1' })
  expect(acme.calls.at(-1)?.json).toEqual({
    messages: [{ to: '4915112345678', sender: '+15550100100', body: '"}]&\r\n', ref: requestId }],
  })

  const report = async (receipt: object, key = 'made-up-signing-key') => {
    const body = JSON.stringify([receipt])
    const signature = `sha256=${createHmac('sha256', key).update(body).digest('hex')}`
    const url = `${service.url}/receipts/${channelId}`
    const headers = { 'content-type': 'application/json', 'x-acme-signature': signature }
    return (await sendReport({ url, headers, body })).status
  }
  const delivered = { ref: requestId, id: 'm-1', state: 'delivered', at: Date.now() }
  expect(await report(delivered, 'another-key')).toBe(403)
  expect(await report(delivered)).toBe(200)
  await eventually('the callback', async () =>
    (await callbacksOf(service, endpoint)).some(({ type }) => type === 'message.delivered'),
  )
})

test.each([
  ['--message', '{"type":"text","text":{}}', 'Fix --message: text.value: required'],
  ['--message', '{"type":"text","text":{"value":"Hello"},"to":"x"}', 'Fix --message: to: unknown field'],
  [
    '--message',
    '{"type":"media","media":{"mediaType":"image"}}',
    'Fix --message: media: send base64 or mediaUrl',
  ],
  ['--message', '7', 'Fix --message: '],
  ['--text', '', 'Fix --text: text.value: '],
])(
  'a try with a message that the API would refuse says so on one line: %s %s',
  async (option, given, expected) => {
    const config = '{"account":"acme-1","key":"made-up-key","from":"+15550100100"}'
    const { status, stdout, stderr } = await runCli(
      service,
      ...['provider', 'try', '--file', path, '--config', config, '--to', '+4915112345678', option, given],
    )
    expect({ status, stdout }).toEqual({ status: 64, stdout: '' })
    expect(stderr).toMatch(/^[^\n]+\n$/)
    expect(stderr).toContain(expected)
  },
)

test('a refusal inside a 200 fails the send and suppresses the contact, as the table says', async () => {
  const { channelId } = await run('channel create', { baseUrl: acme.config.baseUrl })
  const owner = { ...account, channelId: String(channelId) }
  acme.answerNext({ status: 200, body: { messages: [{ state: 'refused', reason: 'E21' }] } })
  const refused = await accept(service, owner, textBody('Hello', '+4915112345670'))
  expect(await finishedTimeline(service, refused, account.apiKey)).toMatchObject({ status: 'failed' })
  const again = await accept(service, owner, textBody('Hello', '+4915112345670'))
  const events = await finishedTimeline(service, again, account.apiKey)
  expect(JSON.stringify(events)).toContain('suppressed')
})

test('a file is not removed while a channel uses it; a version that the configs do not fit is refused; the audit has the hash', async () => {
  const removed = await runCli(service, 'provider', 'remove', 'acme-sms')
  expect(removed).toMatchObject({ status: 4, stderr: expect.stringContaining('delete the channel first') })
  await writeFile(
    path,
    file
      .replace('  account: { words', '  region: { words: "the region" }\n  account: { words')
      .replace('examples:\n  config: {', 'examples:\n  config: { region: eu,'),
  )
  const set = await runCli(service, 'provider', 'set', '--file', path)
  expect(set).toMatchObject({
    stderr: expect.stringMatching(/^The config of channel \S+ does not fit this file: region: required/),
  })
  await writeFile(path, file)
  const { stdout } = await runCli(service, 'audit', 'list', '--target', 'acme-sms')
  expect(JSON.parse(stdout)).toMatchObject({
    entries: [{ action: 'provider.set', details: { hash: expect.stringMatching(/^[0-9a-f]{64}$/) } }],
  })
})

test('a file that replaces one of the release wins, and the list says so', async () => {
  const { stdout } = await runCli(service, 'provider', 'show', 'telnyx')
  const replaced = join(path, '..', 'telnyx.yaml')
  await writeFile(
    replaced,
    JSON.parse(stdout).content.replace('what: SMS and MMS, by Telnyx', 'what: our own Telnyx'),
  )
  expect((await runCli(service, 'provider', 'set', '--file', replaced)).stderr).toBe('')
  const listed = async () => {
    const { providers } = JSON.parse((await runCli(service, 'provider', 'list')).stdout)
    return providers.find(({ name }: { name: string }) => name === 'telnyx')
  }
  expect(await listed()).toMatchObject({
    what: 'our own Telnyx',
    source: 'your file, which replaces one of the release',
  })
  expect((await runCli(service, 'provider', 'remove', 'telnyx')).status).toBe(0)
  expect(await listed()).toMatchObject({ what: 'SMS and MMS, by Telnyx', source: 'a file of the release' })
})

test('a vendor that calls by GET and signs nothing reports by the token in the address, and by it alone', async () => {
  const byGet = file
    .replace('name: acme-sms', 'name: acme-get')
    .replace(
      / {2}proof:\n[\s\S]*?(?= {2}request: \/ref)/,
      '  proof: { token: signingKey }\n  by: GET\n  body: query\n',
    )
    .replace(
      / {2}receipts:\n {4}- title[\s\S]*$/,
      `  receipts:
    - { title: handed over, query: { ref: x, state: handed_over }, receipts: [{ means: accepted }] }
    - { title: delivered, query: { ref: x, state: delivered }, receipts: [{ means: delivered }] }
    - { title: failed, query: { ref: x, state: failed }, receipts: [{ means: undelivered }] }
`,
    )
  await writeFile(path, byGet)
  expect((await runCli(service, 'provider', 'set', '--file', path)).stderr).toBe('')
  const config = {
    account: 'acme-1',
    key: 'made-up-key',
    from: '+15550100100',
    signingKey: 'made-up-token',
    baseUrl: acme.config.baseUrl,
  }
  const created = await runCliWith(
    service,
    { ALLOWED_PRIVATE_NETWORKS: '127.0.0.0/8' },
    ...['channel', 'create', '--account', account.accountId, '--provider', 'acme-get', '--name', 'SMS'],
    ...['--config', JSON.stringify(config)],
  )
  const { channelId } = JSON.parse(created.stdout)
  const requestId = await accept(service, { ...account, channelId }, textBody())
  await finishedTimeline(service, requestId, account.apiKey)
  const report = async (token: string, init = {}) =>
    (
      await fetch(
        `${service.url}/receipts/${channelId}?ref=${requestId}&state=delivered&token=${token}`,
        init,
      )
    ).status
  expect(await report('another-token')).toBe(403)
  expect(await report('made-up-token')).toBe(200)
  expect(await finishedTimeline(service, requestId, account.apiKey)).toMatchObject({ delivery: 'delivered' })
})
