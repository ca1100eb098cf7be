import { execFile, spawn, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { guideNames } from '../../src/api/docs/guide.ts'
import { permissions } from '../../src/core/accounts/api-key.ts'
import { ceilingType } from '../../src/core/callbacks/callback.ts'
import { absentId } from '../support/absent-id.ts'
import { type Account, accept, buildAccount, request, textBody } from '../support/builders.ts'
import { buildEndpoint } from '../support/endpoints.ts'
import { inSeconds } from '../support/later.ts'
import { faultBy } from '../support/openapi.ts'
import { portToKeep } from '../support/port.ts'
import { soonReconciled, startTestService, type TestService } from '../support/service.ts'
import { eventually } from '../support/wait.ts'

const run = promisify(execFile)
const written = 'http://127.0.0.1:3000'
const hasPython = spawnSync('python3', ['--version']).status === 0
/** How a sample of each language is run: as its reader would, with nothing installed. */
const languages = [
  { language: 'js', label: 'JavaScript', program: process.execPath, args: ['--input-type=module', '-e'] },
  { language: 'py', label: 'Python', program: 'python3', args: ['-c'] },
  { language: 'sh', label: 'curl', program: 'bash', args: ['-c'] },
].filter(({ language }) => language !== 'py' || hasPython)
const scripts = languages.filter(({ language }) => language !== 'sh')
type Language = (typeof languages)[number]

let service: TestService
let account: Account

beforeAll(async () => {
  service = await startTestService({
    ALLOWED_PRIVATE_NETWORKS: '127.0.0.0/8',
    CLIENT_PRIVATE_NETWORKS: '127.0.0.0/8',
  })
})
beforeAll(async () => {
  account = await buildAccount(service)
})
afterAll(() => service.stop())

/** The samples of a guide in a language. */
function samplesIn(guide: string, language: string): string[] {
  const page = readFileSync(`docs/client/${guide}.md`, 'utf8')
  return [...page.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'gms'))].map(
    ([, code = '']) => code,
  )
}

const environment = (more: Record<string, string> = {}) => ({
  ...process.env,
  API_KEY: account.apiKey,
  CHANNEL_ID: account.channelId,
  ...more,
})

/** The output of a sample. It calls the service of this test, or a server in front of it. */
async function outputOf(
  { program, args }: Language,
  code: string,
  url = service.url,
  more = {},
): Promise<string> {
  const { stdout } = await run(program, [...args, code.replaceAll(written, url)], { env: environment(more) })
  return stdout.trim()
}

const idIn = (output: string) => /[\da-f]{8}-[\da-f-]{27}/.exec(output)?.[0] ?? output

const read = (path: string) =>
  request(service, path, { headers: { Authorization: `Bearer ${account.apiKey}` } })

describe.each(languages)('in $label', (language) => {
  const { language: name } = language

  test('the sample of the first send sends', async () => {
    const code = samplesIn('first-send', name).find((one) => one.includes('Hello Ann')) ?? ''
    const { status, body } = await read(`/v1/messages/${idIn(await outputOf(language, code))}`)
    expect(status).toBe(200)
    expect(body).toMatchObject({ channelId: account.channelId, contact: { name: 'Ann Example' } })
  })

  test('the samples of the reference for a send and a list do what they say', async () => {
    for (const [name, expected] of [
      ['send-message', 'requestId'],
      ['list-messages', 'messages'],
    ] as const) {
      const html = await (await fetch(`${service.url}/docs/${name}`)).text()
      const [, shown = ''] =
        new RegExp(`data-language="${language.label}"><pre[^>]*><code>(.*?)</code>`, 's').exec(html) ?? []
      const code = shown
        .replaceAll(/<[^>]+>/g, '')
        .replaceAll('&quot;', '"')
        .replaceAll('&#39;', "'")
        .replaceAll('&lt;', '<')
        .replaceAll('&gt;', '>')
        .replaceAll('&amp;', '&')
        .replaceAll(/"channelId": "[^"]*"/g, `"channelId": "${account.channelId}"`)
        .replace('order-4711-shipped', `reference-${language.label}`)
      expect(await outputOf(language, code)).toContain(`"${expected}"`)
    }
  })

  test('the sample of the idempotent retry sends once, however often it is run', async () => {
    const [code = ''] = samplesIn('idempotent-retry', name)
    const own = code.replaceAll('order-4711-shipped', `once-${name}`)
    const first = idIn(await outputOf(language, own))
    expect(idIn(await outputOf(language, own))).toBe(first)
    expect((await read(`/v1/messages/${first}`)).status).toBe(200)
  })

  test('the sample of errors decides by the code', async () => {
    const [code = ''] = samplesIn('errors', name)
    const of = (id: string) =>
      outputOf(language, code.replaceAll(/[\da-f]{8}-[\da-f-]{27}|\$REQUEST_ID/g, id))
    expect(await of(absentId)).toBe('It was never accepted, or is past its retention.')
    expect(await of(await accept(service, account, textBody()))).toBe('It is there.')
  })

  test('the sample of the list has all sends, page by page', async () => {
    const ids: string[] = []
    for (let n = 0; n < 3; n++)
      ids.push(await accept(service, account, { ...textBody(), reference: `paged-${name}` }))
    const [code = ''] = samplesIn('list', name)
    const own = code
      .replaceAll('order-4711', `paged-${name}`)
      .replace(/limit: '100'/, "limit: '2'")
      .replace(/"limit": 100/, '"limit": 2')
      .replace('status=failed', `reference=paged-${name}`)
    const output = await outputOf(language, own)
    for (const id of ids) expect(output).toContain(id)
  })
})

describe.each(scripts)('in $label', (language) => {
  test('a refused send ends with the message of the error', async () => {
    const code = samplesIn('first-send', language.language).find((one) => one.includes('Hello Ann')) ?? ''
    await expect(outputOf(language, code, service.url, { API_KEY: 'omk_x' })).rejects.toThrow(
      /401: Send a valid API key/,
    )
  })

  test('the sample of the idempotent retry goes on after a 503 and a broken connection, and sends once', async () => {
    const keys: unknown[] = []
    const front = createServer(async (incoming, answer) => {
      keys.push(incoming.headers['idempotency-key'])
      const body = Buffer.concat(await incoming.toArray())
      if (keys.length === 1) {
        answer.writeHead(503, { 'Retry-After': '1' }).end('{"message":"later"}')
        return
      }
      const { authorization = '' } = incoming.headers
      const accepted = await fetch(service.url + incoming.url, {
        method: 'POST',
        headers: {
          authorization,
          'content-type': 'application/json',
          'idempotency-key': String(incoming.headers['idempotency-key']),
        },
        body,
      })
      // Accepted, but the answer is lost.
      if (keys.length === 2) incoming.socket.destroy()
      else answer.writeHead(accepted.status).end(await accepted.text())
    })
    await new Promise<void>((resolve) => front.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void front.close())
    const url = `http://127.0.0.1:${(front.address() as AddressInfo).port}`
    const [code = ''] = samplesIn('idempotent-retry', language.language)
    const key = `retried-${language.language}`
    const contact = language.language === 'js' ? '+4915112340001' : '+4915112340002'
    const own = code.replaceAll('order-4711-shipped', key).replace('+4915112345678', contact)
    const requestId = idIn(await outputOf(language, own, url))
    expect(keys).toEqual([key, key, key])
    const { body } = await read(`/v1/messages?contact=${encodeURIComponent(contact)}`)
    expect(body.messages.map((send: { requestId: string }) => send.requestId)).toEqual([requestId])
  })

  test('the receiver of callbacks takes what is signed, drops repeats, and refuses all else', async () => {
    const port = await portToKeep()
    const url = `http://127.0.0.1:${port}`
    const mine = await buildAccount(service)
    const { secret } = await buildEndpoint(service, mine.accountId, `${url}/callbacks`)
    const [code = ''] = samplesIn('callbacks', language.language)
    const child = spawn(language.program, [...language.args, code.replace('4001', String(port))], {
      env: environment({ CALLBACK_SECRET: secret }),
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    onTestFinished(() => void child.kill())
    const lines: string[] = []
    createInterface(child.stdout).on('line', (line) => lines.push(line))
    const post = (headers: Record<string, string>) => fetch(url, { method: 'POST', body: '{}', headers })
    await eventually('the receiver listens', () =>
      post({}).then(
        () => true,
        () => false,
      ),
    )
    const worker = await service.startWorker(`with ${language.label}`, { times: soonReconciled })
    const requestId = await accept(service, mine, textBody('Hello', '+15550100107'))
    await eventually('three lines', async () => lines.length >= 3)
    expect(lines).toEqual([
      expect.stringMatching(`^message.sent ${requestId} sent (null|None)$`),
      `message.delivered ${requestId} sent delivered`,
      `message.read ${requestId} sent read`,
    ])
    await worker.stop()
    const signed = { 'webhook-id': 'x', 'webhook-timestamp': String(Math.floor(Date.now() / 1000)) }
    for (const headers of [
      {},
      signed,
      { ...signed, 'webhook-signature': 'v1,AAAA' },
      { 'webhook-signature': 'é' },
    ])
      expect((await post(headers)).status).toBe(401)
  })
})

const blocksOf = (language: string) =>
  guideNames.flatMap((guide) => samplesIn(guide, language).map((code) => ({ guide, code })))

describe('in every guide', () => {
  let owner: Account
  beforeAll(async () => {
    owner = await buildAccount(service, { permissions: [...permissions] })
  })

  /** A sample's dates are to come. */
  const later = (code: string) => code.replaceAll(/2026-12-24T[\d:+]+/g, inSeconds(3600))

  test.each(blocksOf('sh'))('$guide: the commands succeed: $code', async ({ code }) => {
    const body = { ...textBody(), reference: 'appointment-4711', sendAt: inSeconds(600) }
    const REQUEST_ID = await accept(service, owner, body)
    const headers = { Authorization: `Bearer ${owner.apiKey}`, 'Content-Type': 'application/json' }
    const { body: entry } = await request(service, '/v1/suppressions', {
      method: 'POST',
      headers,
      body: JSON.stringify({ contact: { value: 'ben@example.com' } }),
    })
    const keys = { API_KEY: owner.apiKey, CHANNEL_ID: owner.channelId }
    // Fills in the places that a reader fills in.
    const own = later(code)
      .replace(/^export .*…$/m, '')
      .replaceAll('curl -sS', 'curl -sS --fail-with-body')
    const bash = languages.find(({ language }) => language === 'sh') as Language
    const more = { ...keys, REQUEST_ID, SUPPRESSION_ID: entry.suppressionId }
    await outputOf(bash, `set -e\n${own}`, service.url, more)
  })

  test.each(blocksOf('json'))(
    '$guide: the JSON is accepted, or is as documented: $code',
    async ({ code }) => {
      const value = JSON.parse(later(code))
      if ('channelId' in value && !('wouldSend' in value)) {
        await accept(service, owner, { ...value, channelId: undefined })
        return
      }
      const [, schema = ''] =
        [
          ['wouldSend', 'DryRun'],
          ['data', value.type === ceilingType ? 'CeilingUse' : 'SendChange'],
          ['statusCode', 'Error'],
          ['requestId', 'Accepted'],
        ].find(([field = '']) => field in value) ?? []
      expect(faultBy(schema, value)).toBeUndefined()
    },
  )
})

test('a guide has samples only in the languages that are tried here, and a client that another test compiles', () => {
  const pages = guideNames.map((guide) => readFileSync(`docs/client/${guide}.md`, 'utf8'))
  const used = new Set([...pages.join('\n').matchAll(/^```(\w+)\n/gm)].map(([, language]) => language))
  expect([...used].sort()).toEqual(['js', 'json', 'py', 'sh', 'ts'])
})
