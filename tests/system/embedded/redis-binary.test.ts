import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { afterEach, expect, onTestFinished, test, vi } from 'vitest'
import { removeCached } from '../../../src/dev/embedded/cache-folder.ts'
import { cacheName, debianBinary } from '../../../src/dev/embedded/debian-binary.ts'
import { unpackDebianPackage } from '../../../src/dev/embedded/debian-package.ts'
import { redisBinary, redisPackage } from '../../../src/dev/embedded/redis-binary.ts'

const hasApt = spawnSync('apt-get', ['--version']).status === 0

afterEach(() => vi.unstubAllEnvs())

async function aFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'redis-binary-'))
  await chmod(folder, 0o755)
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return folder
}

const script = (text: string) => async (file: string) => {
  await writeFile(file, `#!/bin/sh\n${text}\n`)
  await chmod(file, 0o755)
}

test.each<[string, (file: string) => Promise<void>]>([
  [
    'a link to nowhere, as of redis-server where the tools are missing',
    (file) => symlink('redis-check-rdb', file),
  ],
  ['no program', (file) => writeFile(file, 'text')],
  ['a program that ends with an error', script('echo "error while loading shared libraries" >&2; exit 127')],
  ['a program that is no Redis', script('exit 0')],
])('a redis-server on PATH that is %s is passed by', async (_what, make) => {
  const folder = await aFolder()
  await make(join(folder, 'redis-server'))
  vi.stubEnv('PATH', [folder, process.env.PATH].join(delimiter))

  const { file, env } = await redisBinary()

  expect(dirname(file)).not.toBe(folder)
  const { stdout } = spawnSync(file, ['--version'], { env: { ...process.env, ...env }, encoding: 'utf8' })
  expect(stdout).toContain('server v=')
})

test.skipIf(!hasApt)(
  "Debian's package runs from where it was unpacked, although its tools are installed and apt fetches none",
  async () => {
    const state = await aFolder()
    await writeFile(join(state, 'status'), await statusWithTools())
    await writeFile(join(state, 'apt.conf'), `Dir::State::status "${state}/status";\n`)
    vi.stubEnv('APT_CONFIG', join(state, 'apt.conf'))

    const folder = await aFolder()
    await unpackDebianPackage(redisPackage, folder)

    expect(existsSync(join(folder, 'usr/bin/redis-server')), 'and is no link to nowhere').toBe(true)
  },
)

/** The packages that dpkg knows of a machine that has all but the server installed, just as apt would fetch it. */
async function statusWithTools(): Promise<string> {
  const [programs, controls] = [await aFolder(), await aFolder()]
  const { stdout } = spawnSync('sh', ['-c', 'command -v dpkg-deb'], { encoding: 'utf8' })
  const dpkgDeb = stdout.trim()
  // Only the archives show by what apt compares an installed package.
  const noteControl = `${dpkgDeb} -f "$2" > "${controls}/$(basename "$2")"\nexec ${dpkgDeb} "$@"`
  await script(noteControl)(join(programs, 'dpkg-deb'))
  vi.stubEnv('PATH', [programs, process.env.PATH].join(delimiter))
  await unpackDebianPackage(redisPackage, await aFolder())
  vi.unstubAllEnvs()
  const others = (await readdir(controls)).filter((name) => !name.startsWith('redis-server'))
  expect(others.join()).toContain('redis-tools')
  const installed = others.map(async (name) => {
    const control = await readFile(join(controls, name), 'utf8')
    return control.replace(/^Package: .*$/m, '$&\nStatus: install ok installed').trim()
  })
  const before = await readFile('/var/lib/dpkg/status', 'utf8')
  return `${[before.trim(), ...(await Promise.all(installed))].join('\n\n')}\n`
}

test.skipIf(!hasApt)('a copy in the cache that no longer runs is fetched again', async () => {
  const wanted = {
    what: `Hello of process ${process.pid}`,
    names: ['hello'],
    package: { choices: [['hello']], withDependencies: false },
    versionOutput: /^hello/,
    advice: '',
  }
  const name = cacheName(wanted)
  onTestFinished(() => removeCached(name))
  const { file } = await debianBinary(wanted)
  await script('exit 127')(file)

  expect(await debianBinary(wanted)).toMatchObject({ file })

  expect(spawnSync(file, ['--version'], { encoding: 'utf8' }).stdout).toMatch(/^hello/)
})
