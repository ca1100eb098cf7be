import { execFile, spawn } from 'node:child_process'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { permissions } from '../../src/core/accounts/api-key.ts'
import { clientDocument, operationsOf } from '../../src/dev/clients/operations.ts'
import { packTypescript } from '../../src/dev/clients/pack-typescript.ts'
import { type Account, buildAccount } from '../support/builders.ts'
import { portToKeep } from '../support/port.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { eventually } from '../support/wait.ts'
import { webhookSecret } from '../support/webhook-receiver.ts'

const run = promisify(execFile)
const maxGzipBytes = 10_240

let folder: string
let packed: string
let wheel: string
let service: TestService
let account: Account

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'clients-'))
  packed = await packTypescript(folder)
  const { stdout } = await run('python3', ['sdk/python/build_backend.py', folder])
  wheel = join(folder, stdout.trim())
  // As npm installs it.
  const installed = join(folder, 'node_modules/outbound-messaging-client')
  await mkdir(installed, { recursive: true })
  await run('tar', ['xzf', packed, '--strip-components=1', '-C', installed])
  service = await startTestService()
  account = await buildAccount(service, { permissions: [...permissions] })
})
afterAll(async () => {
  await service.stop()
  await rm(folder, { recursive: true })
})

test('publint has nothing to say about the npm package', async () => {
  const { messages, pkg } = await publint({ pkgDir: 'sdk/typescript', strict: true })
  expect(messages.map((message) => formatMessage(message, pkg ?? {}))).toEqual([])
})

test('its types are right for each way of importing it', async () => {
  const result = await checkPackage(createPackageFromTarballData(await readFile(packed)))
  expect(result.types).toMatchObject({ kind: 'included' })
  expect('problems' in result && result.problems).toEqual([])
})

test.each(['dist/index.js', 'dist/cjs/index.js'])('%s is at most 10 KB, compressed', async (file) => {
  expect(gzipSync(await readFile(join('sdk/typescript', file))).length).toBeLessThan(maxGzipBytes)
})

test('the packages need no other, and have the version of the service', async () => {
  const { version } = JSON.parse(await readFile('package.json', 'utf8'))
  const own = JSON.parse(await readFile('sdk/typescript/package.json', 'utf8'))
  const python = await readFile('sdk/python/pyproject.toml', 'utf8')
  expect([own.version, own.dependencies]).toEqual([version, undefined])
  expect(python).toContain(`\nversion = "${version}"\n`)
  expect(python).toContain('\ndependencies = []\n')
  expect(await readFile('sdk/python/outbound_messaging/__init__.py', 'utf8')).toContain(`"${version}"`)
})

test('every module of the Python client is of Python 3.9, and imports the standard library alone', async () => {
  const names = await readdir('sdk/python/outbound_messaging')
  const program = `import ast, sys
for path in sys.argv[1:]:
    for node in ast.walk(ast.parse(open(path, encoding="utf-8").read(), feature_version=(3, 9))):
        names = [one.name for one in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.level == 0: names = [node.module]
        for name in names:
            if name.split(".")[0] not in sys.stdlib_module_names: print(path, name)`
  const files = names
    .filter((name) => name.endsWith('.py'))
    .map((name) => `sdk/python/outbound_messaging/${name}`)
  const { stdout } = await run('python3', ['-c', program, ...files, 'sdk/python/build_backend.py'])
  expect(stdout).toBe('')
})

test('errors of the Python client pass between processes whole', async () => {
  const program = `import pickle, outbound_messaging as o
answer = {"status": 404, "code": "channel_not_found", "request_id": "r", "retry_after_seconds": 1.5, "idempotency_key": "k"}
for error in [o.ChannelNotFoundError("No", **answer), o.ConnectionError("No", "k"), o.VerificationError("No")]:
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        copy = pickle.loads(pickle.dumps(error, protocol))
        assert (type(copy), copy.args, vars(copy)) == (type(error), error.args, vars(error)), copy`
  await run('python3', ['-c', program], { env: { ...process.env, PYTHONPATH: wheel } })
})

const snake = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
const names = operationsOf(clientDocument()).map(({ name }) => name)

test('each route that is for clients is a method of each client', async () => {
  const { Client } = await import(
    /* @vite-ignore */ join(folder, 'node_modules/outbound-messaging-client/dist/index.js')
  )
  const client = new Client({ baseUrl: service.url, apiKey: account.apiKey })
  expect(names.filter((name) => typeof client[name] !== 'function')).toEqual([])
  const program = 'import outbound_messaging as o; print(*dir(o.Client), "-", *dir(o.AsyncClient))'
  const { stdout } = await run('python3', ['-c', program], { env: { ...process.env, PYTHONPATH: wheel } })
  for (const methods of stdout.split(' - '))
    expect(methods.split(/\s+/)).toEqual(expect.arrayContaining(names.map(snake)))
})

const languages = [
  {
    language: 'TypeScript',
    readme: 'sdk/typescript/README.md',
    mark: 'js',
    program: process.execPath,
    file: 'x.mjs',
  },
  { language: 'Python', readme: 'sdk/python/README.md', mark: 'py', program: 'python3', file: 'x.py' },
]

describe.each(languages)('the README in $language', ({ language, readme, mark, program, file }) => {
  async function examples(): Promise<string[]> {
    const page = await readFile(readme, 'utf8')
    return [...page.matchAll(new RegExp(`^\`\`\`${mark}\\n(.*?)^\`\`\``, 'gms'))].map(([, code = '']) => code)
  }

  const environment = () => ({
    ...process.env,
    ...{ BASE_URL: service.url, API_KEY: account.apiKey, CHANNEL_ID: account.channelId },
    ...{ PYTHONPATH: wheel, CALLBACK_SECRET: webhookSecret },
  })

  const outputOf = async (example: number) => await outputOfCode((await examples())[example] ?? '')

  async function outputOfCode(code: string): Promise<string> {
    const path = join(folder, `${language}-${file}`)
    const own = code.replaceAll('order-4711', `order-${language}`)
    await writeFile(path, own.replace('http://127.0.0.1:3000', service.url))
    const { stdout } = await run(program, [path], { env: environment() })
    return stdout.trim()
  }

  test('has six examples', async () => {
    expect(await examples()).toHaveLength(6)
  })

  test('sends, retries, tells errors apart, lists, and cancels a batch', async () => {
    const sent = await outputOf(0)
    expect(sent).toMatch(/^[\da-f-]{36} queued$/)
    expect((await outputOf(1)).toLowerCase()).toBe('true')
    expect(await outputOf(2)).toMatch(/^No such channel, says request [\da-f-]{36}$/)
    expect(await outputOf(3)).toContain(sent)
    expect(await outputOf(4)).toBe('2 1')
  })

  test('has the client that the guide of the documentation shows, too', async () => {
    const page = await readFile('docs/client/clients.md', 'utf8')
    const [, code = ''] = new RegExp(`^\`\`\`${mark}\\n(.*?)^\`\`\``, 'ms').exec(page) ?? []
    expect(await outputOfCode(code.replace('order-4711', `guide-${language}`))).toMatch(
      /^[\da-f-]{36} queued$/,
    )
  })

  test('receives callbacks that are genuine, and no others, also after one that was cut', async () => {
    const port = await portToKeep()
    const path = join(folder, `${language}-receiver-${file}`)
    await writeFile(path, (await examples())[5]?.replace('4001', String(port)) ?? '')
    const child = spawn(program, [path], { env: environment(), stdio: ['ignore', 'pipe', 'inherit'] })
    onTestFinished(() => void child.kill())
    const body = '{"type":"endpoint.test","timestamp":"2026-11-21T12:43:12.123Z","data":{"endpointId":"x"}}'
    const post = async (secret: string) => {
      const headers = {
        'webhook-id': 'one',
        'webhook-timestamp': String(Math.floor(Date.now() / 1000)),
        'webhook-signature': new Webhook(secret).sign('one', new Date(), body),
      }
      return (await fetch(`http://127.0.0.1:${port}`, { method: 'POST', headers, body })).status
    }
    await eventually('the receiver listens', () =>
      post(webhookSecret).then(
        (status) => status === 204,
        () => false,
      ),
    )
    expect(await post('whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA')).toBe(401)
    const cut = request({ host: '127.0.0.1', port, method: 'POST', headers: { 'content-length': 9 } })
    cut.on('error', () => {})
    await new Promise<void>((resolve) => cut.write('{', () => resolve()))
    cut.destroy()
    expect(await post(webhookSecret)).toBe(204)
  })
})

test('CommonJS has the same client', async () => {
  const path = join(folder, 'required.cjs')
  await writeFile(path, `console.log(Object.keys(require('outbound-messaging-client')).sort().join())`)
  const { stdout } = await run(process.execPath, [path])
  const { default: _, ...exported } = await import(
    /* @vite-ignore */ join(folder, 'node_modules/outbound-messaging-client/dist/index.js')
  )
  expect(stdout.trim()).toBe(Object.keys(exported).sort().join())
})
