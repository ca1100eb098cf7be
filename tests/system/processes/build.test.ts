import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { programs } from '../../../src/dev/bundle.ts'
import { argumentsOf } from '../../../src/dev/service-process.ts'
import { startTestProcesses, type TestProcesses } from '../../support/processes.ts'
import { scrapeAt } from '../../support/scrape.ts'
import { testSecrets } from '../../support/service.ts'

const git = spawnSync('git', ['rev-parse', 'HEAD'], { encoding: 'utf8' })
const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
const built = { version, commit: git.stdout.trim() || 'unknown', node: process.version }

let processes: TestProcesses

beforeAll(async () => {
  processes = await startTestProcesses()
})
afterAll(() => processes.stop())

type Line = Record<string, unknown>
const linesOf = (log: string): Line[] =>
  log
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))

test('the first line of the log of API, worker and admin says which build starts', () => {
  const first = processes.logFiles.map((file) => linesOf(readFileSync(file, 'utf8'))[0])
  expect(first).toMatchObject(
    ['api', 'worker', 'admin'].map((process) => ({ event: 'starting', process, ...built })),
  )
})

test('so does that of migrate', () => {
  const env = { ...process.env, ...testSecrets, DATABASE_URL: processes.stores.databaseUrl }
  const { stdout } = spawnSync(process.execPath, argumentsOf('src/migrate.ts'), { env, encoding: 'utf8' })
  expect(linesOf(stdout)).toMatchObject([
    { event: 'starting', process: 'migrate', ...built },
    { event: 'migrated' },
  ])
})

test('/healthz of each has the version, and /metrics the build', async () => {
  const logged = processes.logFiles.flatMap((file) => linesOf(readFileSync(file, 'utf8')))
  const health = logged.filter(({ event }) => event === 'serving_health')
  expect(health).toHaveLength(2)
  const observed = [...health.map(({ metricsPort }) => `http://127.0.0.1:${metricsPort}`), processes.adminUrl]
  for (const url of [processes.url, ...observed])
    expect(await (await fetch(`${url}/healthz`)).json()).toEqual({ status: 'ok', version })
  for (const url of observed) expect((await scrapeAt(url)).value('outbound_build_info', built), url).toBe(1)
})

test('outbound --version prints it, with --json as an object', () => {
  const program = join(String(process.env.SERVICE_BUILD), 'src/cli/main.js')
  const print = (...args: string[]) => {
    const { status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8' })
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    return stdout
  }
  expect(print('--version')).toBe(`${version} (commit ${built.commit}, Node.js ${built.node})\n`)
  for (const args of [
    ['--version', '--json'],
    ['--json', '--version'],
  ])
    expect(JSON.parse(print(...args))).toEqual(built)
})

test('no program has an emulator or an example in it, nor a client of a server that it does not call', () => {
  const build = String(process.env.SERVICE_BUILD)
  for (const program of programs) {
    const text = readFileSync(join(build, `${program}.js`), 'utf8')
    // The bundler writes the path of each module before its code.
    const modules = [...text.matchAll(/^\/\/(?:#region)? (\S+\.js)$/gm)].map(([, path = '']) => path)
    expect(modules.length, program).toBeGreaterThan(10)
    expect(
      modules.filter((path) => /(^|\/)dev\//.test(path) && !path.includes('node_modules/')),
      program,
    ).toEqual([])
    // The command line tries the files of providers.
    const reads = ['workers/main', 'src/cli/main'].includes(program)
    expect(
      modules.some((path) => path.endsWith('/outcome-of-answer.js')),
      program,
    ).toBe(reads)
  }
  const files = readdirSync(build, { recursive: true, encoding: 'utf8' })
  expect(files.filter((path) => /(^|\/)dev\//.test(path))).toEqual([])
})
