import { execFileSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { cached } from '../../src/dev/embedded/cache-folder.ts'
import { debianBinary } from '../../src/dev/embedded/debian-binary.ts'
import { unpackDebianPackage } from '../../src/dev/embedded/debian-package.ts'
import { serverUser } from '../../src/dev/embedded/server-user.ts'

export interface PgbouncerBinary {
  file: string
  args: string[]
  env: Record<string, string>
  /** From 1.21 on it can keep prepared statements. */
  version: [major: number, minor: number]
}

const path = 'usr/sbin/pgbouncer'
const release = 'trixie'
/** The packages that it depends on, directly or not; the others are in Debian 13 as here. */
const libraries = [
  'libc6',
  'libcares2',
  'libevent-2.1-7t64',
  'libldap2',
  'libpam0g',
  'libssl3t64',
  'libsystemd0',
  'libsasl2-2',
  'libaudit1',
  'libcap-ng0',
  'libcap2',
  'libzstd1',
]

/** The one of the machine's own release: in Debian 12 it is 1.18, which keeps no prepared statements. */
export async function ownPgbouncer(): Promise<PgbouncerBinary> {
  const { file, env } = await debianBinary({
    what: 'PgBouncer',
    names: ['pgbouncer'],
    path,
    package: { choices: [['pgbouncer']], withDependencies: true },
    advice: 'put it on PATH, e.g. with `apt-get install pgbouncer`.',
    user: serverUser(),
  })
  return withVersion({ file, args: [], env })
}

/** One that keeps prepared statements: the machine's own, else Debian 13's, run by that release's own loader and libraries. */
export async function newPgbouncer(): Promise<PgbouncerBinary> {
  const own = await ownPgbouncer()
  if (keepsStatements(own)) return own
  const folder = await cached(`pgbouncer-${release}-${process.arch}`, (partial) =>
    unpackDebianPackage(
      { choices: [['pgbouncer', ...libraries]], withDependencies: false, release },
      partial,
    ),
  )
  const shared = readdirSync(folder, { recursive: true, withFileTypes: true }).filter(({ name }) =>
    /\.so(\.|$)/.test(name),
  )
  const loader = shared.find(({ name }) => /^ld-linux/.test(name))
  const places = [...new Set(shared.map(({ parentPath }) => parentPath))]
  return withVersion({
    file: join(loader?.parentPath ?? '', loader?.name ?? ''),
    args: ['--library-path', places.join(':'), join(folder, path)],
    env: {},
  })
}

/** Whether there is none to be had here: no apt, or a mirror that doesn't have the release. Any other fault is one. */
export function isMissing(error: unknown): boolean {
  const { code, stderr = '' } = error as { code?: unknown; stderr?: string }
  return (
    code === 'ENOENT' ||
    /Unable to locate package|apt knows no mirror|does not have a Release file/.test(`${stderr}${error}`)
  )
}

export const keepsStatements = ({ version: [major, minor] }: PgbouncerBinary) => major > 1 || minor >= 21

function withVersion(binary: Omit<PgbouncerBinary, 'version'>): PgbouncerBinary {
  const { file, args, env } = binary
  const text = execFileSync(file, [...args, '--version'], { env, encoding: 'utf8' })
  const [, major, minor] = /PgBouncer (\d+)\.(\d+)/.exec(text) ?? []
  return { ...binary, version: [Number(major), Number(minor)] }
}
