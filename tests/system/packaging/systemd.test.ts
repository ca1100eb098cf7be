import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { type Binary, debianBinary } from '../../../src/dev/embedded/debian-binary.ts'
import { stopWithinMs } from '../../../src/platform/process/process.ts'
import { readSettings, settingNames } from '../../../src/platform/settings/settings.ts'
import { testSecrets } from '../../support/service.ts'

const folder = 'ops/systemd'
const files = readdirSync(folder)
const read = (file: string) => readFileSync(join(folder, file), 'utf8')
const instances: Record<string, string> = {
  'outbound-api@.service': '3000',
  'outbound-worker@.service': '4100',
}
const scripts: Record<string, string> = JSON.parse(readFileSync('package.json', 'utf8')).scripts

/** As systemd reads it, for the instance that the docs name. */
function unitValue(file: string, key: string): string {
  const [, value = ''] = new RegExp(`^${key}=(.*)$`, 'm').exec(read(file)) ?? []
  return value.replaceAll('%i', instances[file] ?? '').replaceAll('$$', '$')
}

let analyzer: Binary
// The package is fetched the first time.
beforeAll(async () => {
  analyzer = await debianBinary({
    what: 'systemd-analyze',
    names: ['systemd-analyze'],
    package: { choices: [['systemd']], withDependencies: true },
    versionOutput: /^systemd \d+/,
    advice: 'put it on PATH, e.g. with `apt-get install systemd`.',
  })
})

/** systemd's findings about the units, with Node.js where it is here, and other units in place of the system's own. */
async function faultsOf(change: (text: string) => string = (text) => text): Promise<string> {
  const units = await mkdtemp(join(tmpdir(), 'units-'))
  onTestFinished(() => rm(units, { recursive: true }))
  const copies = files.map((file) => join(units, file.replace('@.', `@${instances[file]}.`)))
  for (const [index, file] of files.entries())
    await writeFile(copies[index] ?? '', change(read(file)).replaceAll('/usr/bin/node', process.execPath))
  for (const target of [
    'network-online.target',
    'multi-user.target',
    'sysinit.target',
    'basic.target',
    'shutdown.target',
  ])
    await writeFile(join(units, target), `[Unit]\nDescription=${target}\nDefaultDependencies=no\n`)
  const { stdout, stderr, error } = spawnSync(analyzer.file, ['verify', '--man=no', ...copies], {
    env: { PATH: process.env.PATH, ...analyzer.env, SYSTEMD_UNIT_PATH: units },
    encoding: 'utf8',
  })
  if (error) throw error
  return stdout + stderr
}

describe('systemd-analyze', () => {
  test('finds no fault in the units', async () => {
    expect(await faultsOf()).toBe('')
  })

  test.each([
    ['TimeoutStopSec=', 'TimeoutStopSecs=', 'TimeoutStopSecs'],
    ['Type=exec', 'Type=execute', 'execute'],
    ['ProtectSystem=strict', 'ProtectSystem=strictly', 'strictly'],
  ])('finds %s written as %s', async (sound, faulty, named) => {
    expect(await faultsOf((text) => text.replace(sound, faulty))).toContain(named)
  })
})

test.each([
  ['outbound-api@.service', 'start', 'api'],
  ['outbound-worker@.service', 'worker', 'worker'],
  ['outbound-admin.service', 'admin', 'admin'],
] as const)(
  '%s starts what npm run %s does, and waits longer for its end than it drains',
  (file, script, kind) => {
    const command = scripts[script]?.replace('exec node', '/usr/bin/node') ?? 'none'
    expect(unitValue(file, 'ExecStart')).toContain(command)
    expect(Number(unitValue(file, 'TimeoutStopSec')) * 1000).toBeGreaterThanOrEqual(stopWithinMs[kind] + 5000)
    expect(unitValue(file, 'Restart')).toBe('always')
  },
)

test('the migration runs once', () => {
  expect(unitValue('outbound-migrate.service', 'Type')).toBe('oneshot')
  expect(unitValue('outbound-migrate.service', 'ExecStart')).toBe(
    scripts.migrate?.replace('exec node', '/usr/bin/node'),
  )
})

test('each process has ports of its own, by the name of its instance', () => {
  const [, shell = ''] = /^\/bin\/sh -c '(.*)'$/.exec(unitValue('outbound-api@.service', 'ExecStart')) ?? []
  const printed = spawnSync('sh', ['-c', shell.replace(/exec .*/, 'exec printenv METRICS_PORT')], {
    encoding: 'utf8',
  })
  expect(printed.stdout.trim()).toBe('4000')
  expect(unitValue('outbound-api@.service', 'Environment')).toBe('NODE_ENV=production PORT=3000')
  expect(unitValue('outbound-worker@.service', 'Environment')).toBe('NODE_ENV=production METRICS_PORT=4100')
  const stores = { DATABASE_URL: 'postgres://u:p@postgres/outbound', REDIS_URL: 'redis://redis' }
  const ports = { PORT: '3000', METRICS_PORT: printed.stdout.trim() }
  expect(readSettings(undefined, { ...stores, ...testSecrets, ...ports })).toMatchObject({
    PORT: 3000,
    METRICS_PORT: 4000,
  })
})

test('the migration gets no key, the others do', () => {
  const unset = (file: string) => unitValue(file, 'UnsetEnvironment').split(' ')
  const keys = ['CREDENTIALS_KEY', 'CREDENTIALS_KEY_PREVIOUS']
  expect(unset('outbound-migrate.service')).toEqual([...keys, 'API_KEY_PEPPER', 'ADMIN_PASSWORD'])
  for (const file of ['outbound-api@.service', 'outbound-worker@.service', 'outbound-admin.service'])
    expect(unset(file)).toEqual([''])
  for (const name of keys) expect(settingNames).toContain(name)
})

test('the examples of the units and the docs give no port to two processes', () => {
  const texts = [...files.map(read), readFileSync('docs/how-to/deploy.md', 'utf8')].join('\n')
  const named = (kind: string) => {
    const ports = [...texts.matchAll(new RegExp(`outbound-${kind}@(\\d+)`, 'g'))].map(([, port]) =>
      Number(port),
    )
    return [...new Set(ports)]
  }
  const { ADMIN_PORT } = readSettings(['ADMIN_PORT'], {})
  const ports = [...named('api').flatMap((port) => [port, port + 1000]), ...named('worker'), ADMIN_PORT]
  expect(ports.length).toBeGreaterThan(4)
  expect(new Set(ports).size).toBe(ports.length)
})

test('no unit names an unknown setting', () => {
  const names = files.flatMap((file) =>
    [...read(file).matchAll(/(?<=[ ='])([A-Z_]{4,})=/g)].map(([, name]) => name),
  )
  expect(new Set(names)).toEqual(new Set(['NODE_ENV', 'PORT', 'METRICS_PORT']))
  for (const name of ['PORT', 'METRICS_PORT']) expect(settingNames).toContain(name)
})
