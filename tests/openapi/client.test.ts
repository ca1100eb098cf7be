import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Account, buildAccount } from '../support/builders.ts'
import { finishedTimeline, startTestService, type TestService } from '../support/service.ts'

const run = promisify(execFile)
const folder = new URL('./client/', import.meta.url)

const howTo = 'docs/how-to/use-a-typed-client.md'

const codeOf = (page: string) => [...page.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code = '']) => code)

/** The client of the how-to, and in a function the example that uses it. */
function programOf(page: string): string {
  const [client = '', use = ''] = codeOf(page)
  return `${client}\nexport async function use(baseUrl: string, apiKey: string, channelId: string) {\n${use}}\n`
}

let service: TestService
let account: Account

beforeAll(async () => {
  service = await startTestService()
  account = await buildAccount(service)
  await writeFile(new URL('documented.ts', folder), programOf(await readFile(howTo, 'utf8')))
  const [guide = ''] = codeOf(await readFile('docs/client/clients.md', 'utf8'))
  await writeFile(new URL('guide.ts', folder), guide)
  // As the how-to says: npx openapi-typescript $BASE_URL/openapi.json -o api.ts
  const generator = [
    '--import',
    './src/dev/clients/typescript-5.mjs',
    'node_modules/openapi-typescript/bin/cli.js',
  ]
  const output = ['-o', 'tests/openapi/client/api.ts']
  await run(process.execPath, [...generator, `${service.url}/openapi.json`, ...output])
})
afterAll(() => service.stop())

interface Result {
  data?: { requestId: string }
  error?: { statusCode: number; message: string }
  response: Response
}

/** Only what of client.ts is called here: its types come with the generated ones. */
interface Client {
  text(): Promise<Result>
  template(): Promise<Result>
  media(): Promise<Result>
  refused(): Promise<Result>
  batch(): Promise<{ data?: { requestId: string; messages: { requestId: string }[] } }>
  cancel(requestId: string): Promise<string | number | undefined>
  pages(reference: string): Promise<{ requestId: string; sendAt: string | null }[]>
  outcomesOf(requestId: string): Promise<{ isOver: boolean; outcomes: string[] }>
}

async function client(): Promise<Client> {
  const { clientOf } = await import(/* @vite-ignore */ new URL('client.ts', folder).href)
  return clientOf(service.url, account.apiKey, account.channelId)
}

test('the how-to and this test use the same versions of openapi-typescript and openapi-fetch', async () => {
  const page = await readFile(howTo, 'utf8')
  const named = [...page.matchAll(/(openapi-\w+)@([\d.]+)/g)].map(([, name, version]) => [name, version])
  expect(named.map(([name]) => name)).toEqual(['openapi-fetch', 'openapi-typescript'])
  for (const [name, version] of named) {
    const installed = JSON.parse(await readFile(`node_modules/${name}/package.json`, 'utf8')).version
    expect(`${installed}.`).toMatch(new RegExp(`^${version?.replaceAll('.', '\\.')}\\.`))
  }
})

test('a client generated from the document, and those of the how-to and the guide, compile with valid bodies, and not with invalid ones', async () => {
  const compiled = await run('node_modules/.bin/tsc', [
    '-p',
    'tests/openapi/client',
    '--pretty',
    'false',
  ]).catch(({ stdout }: { stdout: string }) => ({ stdout }))
  expect(compiled.stdout).toBe('')
})

test('it sends a text, a template and media, and reads their timelines', async () => {
  const { text, template, media, outcomesOf } = await client()
  const results = [await text(), await template(), await template(), await media()]
  expect(results.map(({ response }) => response.status)).toEqual([202, 202, 202, 202])
  const [first, second, again] = results.map(({ data }) => data?.requestId ?? '')
  expect(again).toBe(second)
  expect(again).not.toBe(first)
  const worker = await service.startWorker()
  for (const { data } of results) {
    const requestId = data?.requestId ?? ''
    await finishedTimeline(service, requestId, account.apiKey)
    expect(await outcomesOf(requestId)).toEqual({ isOver: true, outcomes: ['sent'] })
  }
  await worker.stop()
})

test('it sends a batch, pages through what it sent, and cancels', async () => {
  const { batch, cancel, pages } = await client()
  const { data } = await batch()
  const ids = data?.messages.map(({ requestId }) => requestId) ?? []
  const found = await pages('two')
  expect(found.map(({ requestId }) => requestId)).toEqual(ids.toReversed())
  expect(found.map(({ sendAt }) => sendAt === null)).toEqual([false, true])
  expect(await Promise.all(ids.map(cancel))).toEqual(['canceled', 'canceled'])
  expect(await cancel('absent')).toBe(404)
})

test('it returns the error of a refused request', async () => {
  const { refused } = await client()
  const { data, error } = await refused()
  expect(data).toBeUndefined()
  expect(error).toMatchObject({ statusCode: 404, message: 'Channel not found' })
})

test('that of the guide sends', async () => {
  const guide = new URL('guide.ts', folder)
  const code = await readFile(guide, 'utf8')
  await writeFile(guide, code.replace('http://127.0.0.1:3000', service.url))
  const env = { ...process.env, API_KEY: account.apiKey, CHANNEL_ID: account.channelId }
  const { stdout } = await run(process.execPath, ['--import', 'tsx', guide.pathname], { env })
  const { status } = await fetch(`${service.url}/v1/messages/${stdout.trim()}`, {
    headers: { Authorization: `Bearer ${account.apiKey}` },
  })
  expect(status).toBe(200)
})
