import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { DCLinter } from 'dclint'
import { type Copy, DockerfileParser, type From } from 'dockerfile-ast'
import { validate } from 'dockerfile-utils'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { isInNetworks } from '../../../src/core/requests/public-address.ts'
import { programs } from '../../../src/dev/bundle.ts'
import { stopWithinMs } from '../../../src/platform/process/process.ts'
import { readAdminSettings, readSettings } from '../../../src/platform/settings/settings.ts'
import { testSecrets } from '../../support/service.ts'

const root = join(import.meta.dirname, '../../..')
const read = (file: string) => readFileSync(join(root, file), 'utf8')

const composeText = read('docker-compose.yml')
const dockerfileText = read('Dockerfile')
const manifest: {
  version: string
  license: string
  scripts: Record<string, string>
  bin: { outbound: string }
} = JSON.parse(read('package.json'))
const procfile = Object.fromEntries(
  [...read('Procfile').matchAll(/^(\w+): (.*)$/gm)].map(([, type = '', command = '']) => [type, command]),
)

/** The fields that these tests rely on; the whole form is checked against the Compose Specification's schema. */
const serviceSchema = z.looseObject({
  image: z.string(),
  command: z.array(z.string()).optional(),
  environment: z.record(z.string(), z.string()).default({}),
  depends_on: z.record(z.string(), z.object({ condition: z.string() })).optional(),
  ports: z.array(z.string()).optional(),
  restart: z.string(),
  stop_grace_period: z.string().optional(),
  init: z.boolean().optional(),
  healthcheck: z.object({ test: z.array(z.string()).optional(), disable: z.boolean().optional() }).optional(),
  volumes: z.array(z.string()).optional(),
})
const { migrate, api, proxy, worker, admin, postgres, redis } = z
  .object({
    migrate: serviceSchema,
    api: serviceSchema,
    proxy: serviceSchema,
    worker: serviceSchema,
    admin: serviceSchema,
    postgres: serviceSchema,
    redis: serviceSchema,
  })
  .parse(parse(composeText, { merge: true }).services)
const services = { migrate, api, proxy, worker, admin, postgres, redis }
const ours = { migrate, api, worker, admin }

/** Variables that only the stores' images or Compose itself know. */
const namesOfTheStores = ['POSTGRES_PASSWORD', 'POSTGRES_PORT', 'REDIS_PASSWORD', 'REDIS_PORT']
/** A setting of the admin process that another process has under the same name. */
const namesOfTheAdmin = ['ADMIN_TRUST_PROXY']

const settingNames = [...read('src/platform/settings/settings.ts').matchAll(/^ {2}([A-Z][A-Z_]+):/gm)].map(
  ([, name = '']) => name,
)

/**
 * As Compose fills it in: `${NAME:-default}` from these variables, also where the default has one in it, `$$` as a dollar sign.
 *
 * @throws an error with the words of `${NAME:?words}` if that isn't set.
 */
function interpolate(text: string, variables: Record<string, string> = {}): string {
  const fill = (part: string): string => {
    const filled = part.replace(
      /\$\{(\w+)(?::([-?])([^{}]*))?\}/,
      (_whole, name: string, kind, otherwise = '') => {
        if (kind === '?' && !variables[name]) throw new Error(`${name}: ${otherwise}`)
        return variables[name] || otherwise
      },
    )
    return filled === part ? part : fill(filled)
  }
  return text.split('$$').map(fill).join('$')
}

function environmentOf(service: z.output<typeof serviceSchema>, variables: Record<string, string>) {
  return Object.fromEntries(
    Object.entries(service.environment).map(([name, value]) => [name, interpolate(value, variables)]),
  )
}

const dockerfile = DockerfileParser.parse(dockerfileText)
const instructions = dockerfile.getInstructions()
const finalStage = instructions.slice(instructions.findLastIndex((each) => each.getKeyword() === 'FROM'))
const inFinalStage = (keyword: string) => finalStage.filter((each) => each.getKeyword() === keyword)

const imageCommand: string[] = JSON.parse(inFinalStage('CMD')[0]?.getArgumentsContent() ?? '[]')
const commands = {
  'the Procfile': Object.values(procfile).join('\n'),
  'docker-compose.yml': Object.values(ours)
    .flatMap(({ command = [] }) => [command.join(' ')])
    .join('\n'),
  'the comments of docker-compose.yml': composeText,
  'the Dockerfile': dockerfileText,
}

describe('Compose', () => {
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'packaging-'))
  })
  afterAll(() => rm(folder, { recursive: true }))

  /** All rules but those about the order of things: here they stand in the order in which they start. */
  const rules = {
    'service-keys-order': 0,
    'services-alphabetical-order': 0,
    'top-level-properties-order': 0,
  } as const

  async function faultsOf(text: string): Promise<{ rule: string }[]> {
    const file = join(folder, 'docker-compose.yml')
    await writeFile(file, text)
    const linter = new DCLinter({ rules, quiet: true, debug: false, exclude: [] })
    return linter
      .lintFiles([file], false)
      .flatMap(({ messages }: { messages: { rule: string }[] }) => messages)
  }

  test('docker-compose.yml is valid by the schema of the Compose Specification, and lint finds no fault', async () => {
    expect(await faultsOf(composeText)).toEqual([])
  })

  test.each([
    ['an unknown key', 'stop_grace_period: 15s', 'stop_grace: 15s', 'invalid-schema'],
    ['an unknown condition', 'service_completed_successfully', 'service_done', 'invalid-schema'],
    ['a port on every interface', "'127.0.0.1:", "'", 'no-unbound-port-interfaces'],
  ])('that lint refuses %s', async (_what, sound, faulty, rule) => {
    expect(composeText).toContain(sound)
    const faults = await faultsOf(composeText.replaceAll(sound, faulty))
    expect(new Set(faults.map((fault) => fault.rule))).toEqual(new Set([rule]))
  })

  test('everything waits for the migration, and the migration for PostgreSQL', () => {
    expect(migrate.depends_on).toEqual({ postgres: { condition: 'service_healthy' } })
    for (const { depends_on } of [api, worker, admin])
      expect(depends_on).toEqual({
        migrate: { condition: 'service_completed_successfully' },
        redis: { condition: 'service_healthy' },
      })
  })

  test('the migration runs once, everything else is started again', () => {
    const { migrate: once, ...others } = services
    expect(once.restart).toBe('no')
    for (const { restart } of Object.values(others)) expect(restart).toBe('unless-stopped')
  })

  test.each(['api', 'worker', 'admin'] as const)('the %s gets longer to stop than it drains', (name) => {
    const graceMs = Number.parseInt(services[name].stop_grace_period ?? '', 10) * 1000
    expect(graceMs).toBeGreaterThanOrEqual(stopWithinMs[name] + 5000)
  })

  test('an init is the first process of each of the service, so that no signal is ignored', () => {
    for (const name of ['migrate', 'api', 'worker', 'admin'] as const) expect(services[name].init).toBe(true)
  })

  test('ports are published on loopback only, and none of the worker', () => {
    const ports = Object.values(services).flatMap((service) => service.ports ?? [])
    expect(ports.map((port) => interpolate(port))).toEqual([
      '127.0.0.1:3000:3000',
      '127.0.0.1:3001:3001',
      '127.0.0.1:5432:5432',
      '127.0.0.1:6379:6379',
    ])
    expect(worker.ports).toBeUndefined()
  })

  test("any number of APIs can run: none has a port of the host, which is the proxy's", () => {
    expect(api.ports).toBeUndefined()
    expect(proxy.ports?.map((port) => interpolate(port))).toEqual(['127.0.0.1:3000:3000'])
    expect(proxy.depends_on).toEqual({ api: { condition: 'service_started' } })
    const [mounted = ''] = proxy.volumes ?? []
    expect(existsSync(join(root, mounted.split(':')[0] ?? ''))).toBe(true)
    const { TRUST_PROXY } = readSettings(undefined, environmentOf(api, testSecrets))
    const [{ subnet }] = parse(composeText).networks.default.ipam.config
    expect(TRUST_PROXY).toHaveLength(1)
    expect(isInNetworks(subnet.replace('.0/24', '.5'), TRUST_PROXY)).toBe(true)
    for (const client of ['192.168.1.20', '172.18.0.5', '172.31.0.9', '10.0.0.7', '10.213.78.1', '127.0.0.1'])
      expect(isInNetworks(client, TRUST_PROXY), client).toBe(false)
  })

  test('Redis evicts nothing and appends to a file, and both stores keep their data in volumes', () => {
    const command = redis.command?.join(' ')
    expect(command).toContain('--maxmemory-policy noeviction')
    expect(command).toContain('--appendonly yes')
    expect(redis.volumes).toEqual(['redis:/data'])
    expect(postgres.volumes).toEqual(['postgres:/var/lib/postgresql'])
    for (const store of [redis, postgres]) expect(store.healthcheck?.test).toBeDefined()
  })

  test('Compose itself asks for the passwords of the stores alone, and says how to make them', () => {
    const asked = [...composeText.replaceAll('$$', '').matchAll(/\$\{(\w+):?\?([^}]*)\}/g)].map(
      ([, name, words]) => [name, words],
    )
    const words = 'Make it once, keep it in .env: openssl rand -hex 24'
    expect(Object.fromEntries(asked)).toEqual({ POSTGRES_PASSWORD: words, REDIS_PASSWORD: words })
    const values = [...Object.values(postgres.environment), ...Object.values(redis.environment)]
    for (const name of ['POSTGRES_PASSWORD', 'REDIS_PASSWORD']) {
      const others = { POSTGRES_PASSWORD: 'p', REDIS_PASSWORD: 'r', [name]: '' }
      expect(() => values.map((value) => interpolate(value, others))).toThrow(`${name}: ${words}`)
    }
  })

  test('no store is open: none has a password that anyone can read here, and no Redis is without one', () => {
    const stores = Object.entries(
      parse(composeText, { merge: true }).services as Record<string, object>,
    ).filter(([, service]) => 'image' in service && /^(redis|postgres):/.test(String(service.image)))
    expect(stores.map(([name]) => name)).toContain('redis-node-6')
    const set = { POSTGRES_PASSWORD: 'of-postgres', REDIS_PASSWORD: 'of-redis' }
    for (const [name, service] of stores) {
      const text = interpolate(JSON.stringify(service), set)
      expect(text, name).toContain(name === 'postgres' ? 'of-postgres' : 'of-redis')
      if (/^redis(-replica|-node-\d)?$/.test(name))
        expect(text, name).toMatch(/--requirepass\b.*--masterauth\b/)
    }
    expect(composeText).not.toMatch(/(POSTGRES|REDIS)_PASSWORD:-/)
  })

  test('the docs make an .env with which all processes start in production', async () => {
    const [, script = ''] = /```sh\n(umask 077[^`]*)```/.exec(read('docs/how-to/deploy.md')) ?? []
    const place = await mkdtemp(join(tmpdir(), 'env-'))
    onTestFinished(() => rm(place, { recursive: true }))
    expect(spawnSync('sh', ['-ec', script], { cwd: place }).status).toBe(0)
    expect(statSync(join(place, '.env')).mode & 0o077).toBe(0)
    const made = parseEnv(readFileSync(join(place, '.env'), 'utf8')) as Record<string, string>
    const production = { NODE_ENV: 'production' }
    for (const service of [migrate, api, worker])
      expect(readSettings(undefined, { ...environmentOf(service, made), ...production })).toMatchObject({
        DATABASE_URL: `postgres://outbound:${made.POSTGRES_PASSWORD}@postgres:5432/outbound`,
      })
    expect(environmentOf(api, made).REDIS_URL).toBe(`redis://:${made.REDIS_PASSWORD}@redis:6379`)
    expect(readAdminSettings({ ...environmentOf(admin, made), ...production })).toMatchObject({
      ADMIN_PORT: 3001,
    })
  })

  test.each([
    ['CREDENTIALS_KEY', 'openssl rand -base64 32'],
    ['API_KEY_PEPPER', 'openssl rand -base64 48'],
    ['ADMIN_PASSWORD', 'openssl rand -base64 18'],
  ])(
    'without %s the migration, and so every process after it, refuses to start and says how to create one',
    (name, how) => {
      const [shell = '', ...args] = (migrate.command ?? []).map((each) => interpolate(each))
      const env = { ...testSecrets, ADMIN_PASSWORD: 'secret', PATH: process.env.PATH, [name]: '' }
      const { status, stderr } = spawnSync(shell, args, { cwd: tmpdir(), env, encoding: 'utf8' })
      expect(status).not.toBe(0)
      expect(stderr).toContain(`${name}: is not set`)
      expect(stderr).toContain(how)
    },
  )

  test.each(['redis://127.0.0.1:6379', 'redis://localhost:6379'])(
    'with a REDIS_URL for processes outside, %s, the migration refuses to start and says so',
    (url) => {
      const [shell = '', ...args] = (migrate.command ?? []).map((each) => interpolate(each))
      const env = { ...testSecrets, ADMIN_PASSWORD: 'secret', PATH: process.env.PATH, REDIS_URL: url }
      const { status, stderr } = spawnSync(shell, args, { cwd: tmpdir(), env, encoding: 'utf8' })
      expect(status).toBe(1)
      expect(stderr).toMatch(/^REDIS_URL: unset it.*\n$/)
    },
  )

  test('the admin process, which listens on all addresses in its container, refuses to start without a password', () => {
    expect(() => readAdminSettings(environmentOf(admin, testSecrets))).toThrow('ADMIN_PASSWORD is not set')
    const set = { ...testSecrets, ADMIN_PASSWORD: 'secret' }
    expect(readAdminSettings(environmentOf(admin, set))).toMatchObject({
      ADMIN_HOST: '0.0.0.0',
      ADMIN_PORT: 3001,
    })
    expect(admin.healthcheck?.test?.at(-1)).toContain('http://127.0.0.1:3001/healthz')
  })

  test('the admin process is given the secrets with which the console sets up accounts', () => {
    const set = { ...environmentOf(admin, testSecrets), ADMIN_PASSWORD: 'five plain words' }
    const { CREDENTIALS_KEY, API_KEY_PEPPER } = testSecrets
    expect(readAdminSettings(set)).toMatchObject({
      CREDENTIALS_KEY: Buffer.from(CREDENTIALS_KEY, 'base64'),
      API_KEY_PEPPER,
    })
  })

  test('the processes get valid settings, with and without optional ones', () => {
    const { admin: _withoutKey, ...withKey } = ours
    for (const service of Object.values(withKey)) {
      expect(readSettings(undefined, environmentOf(service, testSecrets))).toMatchObject({
        PORT: 3000,
        METRICS_PORT: 3002,
        RATE_LIMIT_POINTS: 600,
      })
      const set = { ...testSecrets, RATE_LIMIT_POINTS: '7', POSTGRES_PASSWORD: 'secret' }
      expect(readSettings(undefined, environmentOf(service, set))).toMatchObject({
        DATABASE_URL: 'postgres://outbound:secret@postgres:5432/outbound',
        RATE_LIMIT_POINTS: 7,
      })
    }
  })

  test('every setting can be passed to the processes, and no other variable is', () => {
    expect(settingNames).toContain('DATABASE_URL')
    for (const service of Object.values(ours))
      expect(Object.keys(service.environment).sort()).toEqual([...settingNames].sort())
    const asked = [...composeText.matchAll(/\$\{(\w+)/g)].map(([, name]) => name)
    for (const name of asked)
      expect([...settingNames, ...namesOfTheStores, ...namesOfTheAdmin, 'OUTBOUND_IMAGE']).toContain(name)
  })

  test('the proxy that signs people in to the console is set apart from that before the API', () => {
    const set = {
      ...testSecrets,
      ADMIN_PASSWORD: 'secret',
      TRUST_PROXY: '10.0.0.1',
      ADMIN_TRUST_PROXY: '10.0.0.2',
    }
    expect(environmentOf(admin, set).TRUST_PROXY).toBe('10.0.0.2')
    expect(environmentOf(api, set).TRUST_PROXY).toBe('10.0.0.1')
  })
})

describe('commands', () => {
  test.each(Object.entries(commands))('every file that %s start is built from a source', (_where, text) => {
    const files = [...text.matchAll(/dist\/[\w/.-]+\.js/g)].map(([file]) => file)
    expect(files).not.toEqual([])
    const { include, exclude } = JSON.parse(read('tsconfig.build.json'))
    for (const file of files) {
      const source = file.replace('dist/', '').replace(/js$/, 'ts')
      expect(existsSync(join(root, source)), source).toBe(true)
      expect(include).toContain(source.split('/')[0])
      for (const folder of exclude) expect(source.startsWith(folder)).toBe(false)
    }
  })

  test('a build starts without the libraries beside it: each program has them in its file', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'build-'))
    onTestFinished(() => rm(folder, { recursive: true }))
    await cp(String(process.env.SERVICE_BUILD), folder, { recursive: true })
    for (const program of programs) {
      const load = `import(${JSON.stringify(join(folder, `${program}.js`))})`
      const { status, stderr } = spawnSync(process.execPath, ['-e', load], { env: {}, encoding: 'utf8' })
      // Without settings and in no thread, none goes on: what counts is that it came so far.
      expect([program, status, stderr]).toEqual([
        program,
        1,
        expect.not.stringContaining('ERR_MODULE_NOT_FOUND'),
      ])
    }
  })

  test('classes of errors have their own names in a build', () => {
    for (const program of programs) {
      const source = readFileSync(join(String(process.env.SERVICE_BUILD), `${program}.js`), 'utf8')
      expect(
        source.match(/\b(Error|\w+(Error|Fault))\$\d+ = class|class \w+(Error|Fault)\$\d+\b/g),
      ).toBeNull()
    }
  })

  test('every one-command script of package.json replaces npm’s shell, which would not pass on a SIGTERM', () => {
    for (const [name, script] of Object.entries(manifest.scripts)) {
      if (!script.includes('&&')) expect(script, name).toMatch(/^exec /)
    }
  })

  test('Procfile, Compose and image start the same files as npm run migrate, start, worker and admin', () => {
    const [release, start, deliver, support] = ['migrate', 'start', 'worker', 'admin'].map(
      (name) => manifest.scripts[name]?.replace('exec ', '') ?? '',
    )
    expect(procfile.release).toBe(`exec ${release}`)
    expect(procfile.web?.endsWith(`)) ${start}`)).toBe(true)
    expect(procfile.worker?.endsWith(`)) ${deliver}`)).toBe(true)
    expect(migrate.command?.at(-1)?.trimEnd().endsWith(`exec ${release}`)).toBe(true)
    expect(worker.command?.join(' ')).toBe(deliver)
    expect(procfile.admin).toBe(`exec ${support}`)
    expect(admin.command?.join(' ')).toBe(support)
    expect(api.command).toBeUndefined()
    expect(imageCommand.join(' ')).toBe(start)
  })

  test.each([
    ['5100', '6100'],
    ['', '0'],
    [undefined, '0'],
  ])('with PORT %s the Procfile gives a process METRICS_PORT %s', (port, metricsPort) => {
    for (const command of [procfile.web, procfile.worker]) {
      const shown = `${command?.replace(/node .*/, '')} printenv METRICS_PORT`
      const env = { PATH: process.env.PATH, ...(port !== undefined && { PORT: port }) }
      expect(spawnSync('sh', ['-c', shown], { env, encoding: 'utf8' }).stdout.trim()).toBe(metricsPort)
    }
  })

  test('Procfile and Dockerfile name no unknown setting', () => {
    const assigned = [
      ...Object.values(procfile)
        .join('\n')
        .matchAll(/([A-Z_]+)=/g),
    ].map(([, name]) => name)
    const asked = [...dockerfileText.matchAll(/process\.env\.(\w+)/g)].map(([, name]) => name)
    expect([assigned.length, asked.length]).toEqual([2, 1])
    for (const name of [...assigned, ...asked]) expect(settingNames).toContain(name)
  })
})

describe('the image', () => {
  test('lint finds no fault in the Dockerfile', () => {
    expect(validate(dockerfileText)).toEqual([])
  })

  test.each([
    ['STOPSIGNAL SIGTERM', 'STOPSIGNL SIGTERM'],
    ['--timeout=5s', '--timout=5s'],
    ['EXPOSE 3000', 'EXPOSE http'],
  ])('that lint refuses %s written as %s', (sound, faulty) => {
    expect(dockerfileText).toContain(sound)
    expect(validate(dockerfileText.replace(sound, faulty))).not.toEqual([])
  })

  test('every stage is based on one Node image, pinned by its major version', () => {
    const images = instructions
      .filter((each): each is From => each.getKeyword() === 'FROM')
      .map((each) => each.getImage())
    expect(new Set(images)).toEqual(new Set(['node:26-bookworm-slim']))
  })

  test('it runs as a numbered user that is not root, and Compose changes nothing about that', () => {
    const [user, ...others] = inFinalStage('USER').map((each) => each.getArgumentsContent())
    expect(others).toEqual([])
    expect(user).toMatch(/^[1-9]\d*:[1-9]\d*$/)
    for (const service of Object.values(ours)) {
      expect(service).not.toHaveProperty('user')
      expect(service).not.toHaveProperty('privileged')
      expect(service).toMatchObject({ cap_drop: ['ALL'], read_only: true })
    }
  })

  test('node itself gets the SIGTERM, with no npm or shell in front', () => {
    expect(imageCommand[0]).toBe('node')
    expect(inFinalStage('ENTRYPOINT')).toEqual([])
    expect(inFinalStage('STOPSIGNAL').map((each) => each.getArgumentsContent())).toEqual(['SIGTERM'])
    expect(worker.command?.[0]).toBe('node')
    expect(admin.command?.[0]).toBe('node')
  })

  test('only production dependencies, the build and package.json are copied into it', () => {
    const copied = inFinalStage('COPY').map((each) => {
      const from = (each as Copy).getFromFlag()?.getValue()
      return [from, ...each.getArguments().map((argument) => argument.getValue())]
    })
    expect(copied).toEqual([
      [undefined, 'package.json', './'],
      ['dependencies', '/app/node_modules', './node_modules'],
      ['build', '/app/dist', './dist'],
    ])
    expect(inFinalStage('ENV').map((each) => each.getArgumentsContent())).toEqual(['NODE_ENV=production'])
  })

  test('outbound is on its PATH', () => {
    expect(inFinalStage('RUN').map((each) => each.getArgumentsContent())).toEqual([
      `ln -s /app/${manifest.bin.outbound} /usr/local/bin/outbound`,
    ])
  })

  test('nothing secret is built in', () => {
    for (const name of Object.keys(testSecrets)) expect(dockerfileText).not.toContain(name)
    const copies = dockerfile.getCOPYs().flatMap((each) => each.getArguments().map((arg) => arg.getValue()))
    expect(copies).not.toContain('.')
  })

  test('it has OCI labels', () => {
    const labels = inFinalStage('LABEL')[0]?.getArgumentsContent() ?? ''
    for (const name of ['title', 'description', 'version', 'revision'])
      expect(labels).toContain(`org.opencontainers.image.${name}=`)
    expect(labels).toContain(`org.opencontainers.image.licenses="${manifest.license}"`)
  })
})

describe('.dockerignore', () => {
  const patterns = read('.dockerignore')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => ({ keeps: line.startsWith('!'), matches: matcher(line.replace(/^!/, '')) }))

  /** Docker's rules, as far as the file uses them: a pattern also covers what is below; the last match decides. */
  function matcher(pattern: string): RegExp {
    const escaped = pattern.replaceAll('.', '\\.').replaceAll('*', '[^/]*')
    return new RegExp(`^${escaped.replace(/^\[\^\/\]\*\[\^\/\]\*\//, '(.*/)?')}(/|$)`)
  }

  const isKeptOut = (path: string) => patterns.findLast(({ matches }) => matches.test(path))?.keeps === false

  test.each([
    'node_modules/pg/package.json',
    '.git/config',
    '.env',
    '.env.production',
    'src/.env',
    'workers/.env.local',
    'src/node_modules/x/index.js',
    'dist/src/server.js',
    'tests/support/service.ts',
    'docker-compose.yml',
    'secret.pem',
  ])('%s is left out of the image and of its build', (path) => {
    expect(isKeptOut(path)).toBe(true)
  })

  test('every file that the Dockerfile copies exists and is not ignored', () => {
    const sources = dockerfile
      .getCOPYs()
      .filter((each) => !each.getFromFlag())
      .flatMap((each) => each.getArguments().slice(0, -1))
      .map((argument) => argument.getValue())
    expect(sources).toContain('src')
    for (const source of [
      ...sources,
      'db/migrations/meta/_journal.json',
      'src/platform/settings/settings.ts',
    ]) {
      expect(existsSync(join(root, source)), source).toBe(true)
      expect(isKeptOut(source), source).toBe(false)
    }
  })
})
