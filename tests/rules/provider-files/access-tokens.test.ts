import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { runCli } from '../../../src/cli/run.ts'
import { parseNetwork } from '../../../src/core/requests/public-address.ts'
import { checkFile } from '../../../src/providers/files/check/check-file.ts'
import { compileFile } from '../../../src/providers/files/compile.ts'
import {
  type EmulatedAnswer,
  type EmulatedResponse,
  httpEmulator,
  type ReceivedCall,
} from '../../../src/providers/shared/dev/http-emulator.ts'
import { createHttpClient } from '../../../workers/http/http.ts'
import { buildDelivery } from '../../support/deliveries.ts'
import { httpSender } from '../../support/http-sender.ts'

const fileWith = (auth: string) => `
name: acme
what: SMS, by Acme
label: Acme
documents: [{ url: "https://example.com/api", read: 2026-11-28 }]
setUp: ["Create a client."]
baseUrl: https://api.example.com
contacts: [phone]
messages: { text: { characters: 1000 } }
config:
  clientId: { words: "the id of the client" }
  clientSecret: { secret: true, words: "its secret" }
request:
  path: /messages
  auth: { oauth2: ${auth} }
  json: { to: { $: contact.value }, text: { $: text } }
answer: { id: /id, title: /title }
examples:
  config: { clientId: "acme:app", clientSecret: "made:up" }
  sends:
    - title: a text
      message: { type: text, text: { value: Hello } }
      request: { path: /messages, headers: { authorization: "Bearer TOKEN" } }
      answer: { status: 200, body: { id: m1 } }
      outcome: { outcome: sent, id: m1 }
`
const usual =
  '{ tokenUrl: "https://auth.example.com/token", clientId: clientId, clientSecret: clientSecret, scope: "sms send" }'

/** A vendor with a token endpoint, each with the next of its answers. */
async function buildVendor({ auth = usual, nowMs = Date.now } = {}) {
  const file = compileFile(fileWith(auth))
  if ('issues' in file) throw new Error(file.issues.join())
  const open = (usually: EmulatedResponse) =>
    httpEmulator<ReceivedCall>({
      config: (baseUrl) => ({ baseUrl }),
      read: (call) => call,
      answer: () => usually,
    })
  const tokens = await open({ status: 200, body: { access_token: 'token-1', expires_in: 3600 } })
  const api = await open({ status: 200, body: { id: 'm1' } })
  const http = createHttpClient({ allowedPrivateNetworks: [parseNetwork('127.0.0.0/8')] })
  onTestFinished(async () => void (await Promise.all([tokens.stop(), api.stop(), http.close()])))
  const { provider } = file
  const config = provider.config.parse({
    ...{ clientId: 'acme:app', clientSecret: 'made:up' },
    ...{ baseUrl: api.config.baseUrl, tokenUrl: `${tokens.config.baseUrl}/token` },
  })
  const sender = httpSender(provider as never, http, { nowMs })
  return {
    tokens,
    api,
    send: (signal = AbortSignal.timeout(5000)) =>
      sender.send(buildDelivery(provider, config) as never, signal),
    authorizations: () => api.calls.map(({ headers }) => headers.authorization),
  }
}

test('the file of a vendor with OAuth 2 keeps the contract', async () => {
  expect(await checkFile(fileWith(usual))).toMatchObject({ checked: { messages: 100 } })
})

test.each([
  [usual.replace('https://auth', 'http://auth'), /tokenUrl: has to be https/],
  [usual.replace('/token"', '/token?a=b"'), /tokenUrl: has to be https, without/],
  [usual.replace('clientSecret: clientSecret', 'clientSecret: clientId'), /clientId proves who calls/],
  [usual.replace('clientId: clientId', 'clientId: user'), /the config has no field user/],
])('an auth that is none is refused: %s', async (auth, message) => {
  const result = await checkFile(fileWith(auth))
  expect('issues' in result && result.issues.join('\n')).toMatch(message)
})

test('a token is fetched once for calls at the same time and those after', async () => {
  const { tokens, send, authorizations } = await buildVendor()
  const outcomes = await Promise.all([send(), send(), send()])
  expect(outcomes.map(({ outcome }) => outcome)).toEqual(['sent', 'sent', 'sent'])
  expect((await send()).outcome).toBe('sent')
  expect(tokens.calls).toHaveLength(1)
  expect(authorizations()).toEqual(Array(4).fill('Bearer token-1'))
  const [{ headers, body } = { headers: {}, body: '' }] = tokens.calls
  expect(headers.authorization).toBe(`Basic ${Buffer.from('acme%3Aapp:made%3Aup').toString('base64')}`)
  expect(String(body)).toBe('grant_type=client_credentials&scope=sms+send')
})

test('id and secret go in the body, if the file says so', async () => {
  const { tokens, send } = await buildVendor({
    auth: usual.replace(' }', ', credentials: body, audience: api }'),
  })
  await send()
  const [{ headers, body } = { headers: {}, body: '' }] = tokens.calls
  expect(headers.authorization).toBeUndefined()
  expect(Object.fromEntries(new URLSearchParams(String(body)))).toEqual({
    ...{ grant_type: 'client_credentials', scope: 'sms send', audience: 'api' },
    ...{ client_id: 'acme:app', client_secret: 'made:up' },
  })
})

test('a token is fetched again before it expires', async () => {
  let now = Date.now()
  const { tokens, send, authorizations } = await buildVendor({ nowMs: () => now })
  await send()
  tokens.answerNext({ status: 200, body: { access_token: 'token-2', expires_in: '3600' } })
  now += 3_560_000
  await send()
  now += 15_000
  await send()
  expect(authorizations()).toEqual(['Bearer token-1', 'Bearer token-1', 'Bearer token-2'])
})

test('after a 401, the call is made once more with a new token; a second 401 is a refusal of the channel', async () => {
  const { tokens, api, send, authorizations } = await buildVendor()
  await send()
  tokens.answerNext({ status: 200, body: { access_token: 'token-2' } })
  api.answerNext({ status: 401 })
  expect(await send()).toMatchObject({ outcome: 'sent' })
  expect(authorizations().slice(1)).toEqual(['Bearer token-1', 'Bearer token-2'])
  api.answerNext({ status: 401 }, { status: 401 })
  expect(await send()).toMatchObject({ outcome: 'channel_refused', fault: 'sender' })
  expect(api.calls).toHaveLength(5)
})

test.each<[string, EmulatedAnswer, object]>([
  ['an error', { status: 503 }, { outcome: 'retry_later', fault: 'provider' }],
  ['a lost connection', 'drop', { outcome: 'retry_later', fault: 'provider' }],
  ['too many calls', { status: 429 }, { outcome: 'retry_later', fault: 'sender' }],
  ['no token', { status: 200, body: {} }, { outcome: 'retry_later', fault: 'provider' }],
  [
    'a token that no header can have',
    { status: 200, body: { access_token: 'a\r\nb' } },
    { outcome: 'retry_later' },
  ],
  ['a wrong secret', { status: 401 }, { outcome: 'channel_refused', fault: 'sender' }],
  ['a refused client', { status: 400, body: { error: 'invalid_client' } }, { outcome: 'channel_refused' }],
  ['another 400', { status: 400, body: { error: 'invalid_request' } }, { outcome: 'retry_later' }],
])(
  'a token endpoint that answers with %s sends nothing, and is tried again with the next send',
  async (_, answer, wanted) => {
    const { tokens, api, send } = await buildVendor()
    tokens.answerNext(answer)
    const outcome = await send()
    expect(outcome).toMatchObject(wanted)
    expect(JSON.stringify(outcome)).toContain("Acme's token endpoint")
    expect(api.calls).toEqual([])
    expect(await send()).toMatchObject({ outcome: 'sent' })
  },
)

test('a send gives up on a token endpoint that never answers, and was not sent', async () => {
  const { tokens, api, send } = await buildVendor()
  tokens.answerNext('never_answer')
  expect(await send(AbortSignal.timeout(100))).toMatchObject({ outcome: 'retry_later', fault: 'provider' })
  expect(api.calls).toEqual([])
})

test('neither the token nor the secret gets into an outcome', async () => {
  const { api, send } = await buildVendor()
  const body = { title: 'token-1 made:up' }
  api.answerNext({ status: 403, body }, { status: 401, body }, { status: 401, body })
  for (const _ of [1, 2]) expect(JSON.stringify(await send())).not.toMatch(/token-1|made:up/)
})

test('a try that sends prints no token, though the answer repeats it', async () => {
  const { api, tokens } = await buildVendor()
  api.answerNext({ status: 401, body: { title: 'no rights: token-1' } })
  const folder = await mkdtemp(join(tmpdir(), 'try-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const path = join(folder, 'acme.yaml')
  await writeFile(path, fileWith(usual))
  const config = JSON.stringify({
    ...{ clientId: 'acme:app', clientSecret: 'made:up', baseUrl: api.config.baseUrl },
    tokenUrl: `${tokens.config.baseUrl}/token`,
  })
  const printed: string[] = []
  const print = (line: string) => void printed.push(line)
  await runCli(
    [
      'provider',
      'try',
      '--file',
      path,
      '--config',
      config,
      '--to',
      '+4915112345678',
      '--text',
      'Hi',
      '--send',
    ],
    { environment: { ALLOWED_PRIVATE_NETWORKS: '127.0.0.0/8' }, print, printError: print },
  )
  expect(
    api.calls.map(({ headers }) => headers.authorization),
    printed.join(),
  ).toEqual(['Bearer token-1'])
  expect(printed.join('\n')).toContain('no rights: …')
  expect(printed.join('\n')).not.toMatch(/token-1|made:up/)
})
