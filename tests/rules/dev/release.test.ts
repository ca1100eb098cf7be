import { execFileSync, spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const program = join(root, 'src/dev/release/main.ts')
const changelog = `# Changelog

## [Unreleased]

### Added

- A line.

## [0.2.0] - 2026-11-25

- Another line.
`

const clientChangelog = `# Changelog for clients

## Unreleased

- A line for programs.

## 0.2.0

- Another line.
`
const clientChangelogFile = 'docs/client/changelog.md'

const ofClients = [
  'sdk/typescript/package.json',
  'sdk/python/pyproject.toml',
  'sdk/python/outbound_messaging/__init__.py',
]

let checkout: string

/** A checkout of its own, with the lock file of this project. */
beforeEach(() => {
  checkout = mkdtempSync(join(tmpdir(), 'release-'))
  for (const name of ['package.json', 'package-lock.json', ...ofClients]) {
    mkdirSync(dirname(join(checkout, name)), { recursive: true })
    copyFileSync(join(root, name), join(checkout, name))
  }
  writeFileSync(join(checkout, 'CHANGELOG.md'), changelog)
  mkdirSync(dirname(join(checkout, clientChangelogFile)), { recursive: true })
  writeFileSync(join(checkout, clientChangelogFile), clientChangelog)
  writeFileSync(join(checkout, '.gitignore'), 'release/\n')
  git('init', '--quiet')
  git('config', 'user.name', 'Ann')
  git('config', 'user.email', 'ann@example.com')
  commitAll()
})
afterEach(() => rmSync(checkout, { recursive: true }))

const git = (...args: string[]) => execFileSync('git', args, { cwd: checkout, encoding: 'utf8' }).trim()
function commitAll(): void {
  git('add', '--all')
  git('commit', '--quiet', '--message', 'All')
}
const read = (name: string) => readFileSync(join(checkout, name), 'utf8')
const release = (...args: string[]) =>
  spawnSync(process.execPath, ['--import', import.meta.resolve('tsx'), program, ...args], {
    cwd: checkout,
    encoding: 'utf8',
  })
const present: string = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).version
const [major, minor = 0] = present.split('.').map(Number)
const next = `${major}.${minor + 1}.0`

test('a release has its version everywhere, its lines of the changelog, a tag with these, and a bill of materials of what is shipped', () => {
  const { status, stdout, stderr } = release('minor')
  expect([status, stderr]).toEqual([0, ''])
  expect(stdout).toContain('git push --follow-tags')
  for (const name of ['package.json', 'package-lock.json']) expect(JSON.parse(read(name)).version).toBe(next)
  for (const name of ofClients) {
    expect(read(name)).toContain(`"${next}"`)
    expect(read(name)).not.toContain(`"${present}"`)
  }
  const day = new Date().toISOString().slice(0, 10)
  expect(read('CHANGELOG.md')).toBe(
    changelog.replace('## [Unreleased]\n', `## [Unreleased]\n\n## [${next}] - ${day}\n`),
  )
  expect(read(clientChangelogFile)).toBe(
    clientChangelog.replace('## Unreleased\n', `## Unreleased\n\n## ${next}\n`),
  )
  expect(git('status', '--porcelain')).toBe('')
  expect(git('log', '-1', '--format=%s %D')).toContain(`Release ${next}`)
  expect(git('tag', '--points-at', 'HEAD')).toBe(`v${next}`)
  expect(git('tag', '--list', '--format=%(contents)')).toBe(`v${next}\n\n### Added\n\n- A line.`)
  const bill = JSON.parse(read(`release/sbom-${next}.cdx.json`))
  expect(bill).toMatchObject({ bomFormat: 'CycloneDX', metadata: { component: { version: next } } })
  expect(bill.metadata.component.name).toBe('outbound-messaging-api')
  const names = bill.components.map(({ name }: { name: string }) => name)
  expect(names).toContain('hono')
  expect(names).not.toContain('vitest')
})

test('a release that programs do not notice says so in their changelog', () => {
  writeFileSync(
    join(checkout, clientChangelogFile),
    clientChangelog.replace('- A line for programs.\n\n', ''),
  )
  commitAll()
  expect(release('minor').status).toBe(0)
  expect(read(clientChangelogFile)).toContain(
    `## Unreleased\n\n## ${next}\n\n- Nothing that programs notice.\n\n## 0.2.0\n`,
  )
})

test('what users type and run has no version in it that a release would leave behind', () => {
  for (const file of [
    'README.md',
    'sdk/typescript/README.md',
    'sdk/python/README.md',
    'docs/client/clients.md',
  ])
    expect(readFileSync(join(root, file), 'utf8'), file).not.toContain(present)
})

test.each<[string, string[], string, () => void]>([
  ['without a version', [], 'Say which release', () => {}],
  ['with a version that is none', ['0.3'], 'Say which release', () => {}],
  ['of a tag that is there', [next], `There is a tag v${next}`, () => git('tag', `v${next}`)],
  ['with changes', ['minor'], 'Commit or remove', () => writeFileSync(join(checkout, 'new.txt'), '')],
  [
    'without a line under Unreleased',
    ['minor'],
    'no line under [Unreleased]',
    () => {
      writeFileSync(join(checkout, 'CHANGELOG.md'), changelog.replace(/### Added[^#]+/, ''))
      commitAll()
    },
  ],
  [
    'without a heading for what is unreleased in the changelog for clients',
    ['minor'],
    'no heading "## Unreleased"',
    () => {
      writeFileSync(join(checkout, clientChangelogFile), '# Changelog for clients\n')
      commitAll()
    },
  ],
])('a release %s is refused, and changes nothing', (_what, args, message, prepare) => {
  prepare()
  const before = [git('rev-parse', 'HEAD'), git('status', '--porcelain'), git('tag')]
  const { status, stderr } = release(...args)
  expect([status, stderr]).toEqual([1, expect.stringContaining(message)])
  expect([git('rev-parse', 'HEAD'), git('status', '--porcelain'), git('tag')]).toEqual(before)
})

test('a dry run says which lines it would release, and changes nothing', () => {
  const { status, stdout } = release('patch', '--dry-run')
  expect([status, stdout]).toEqual([0, expect.stringContaining('- A line.')])
  expect([git('status', '--porcelain'), git('tag')]).toEqual(['', ''])
})
