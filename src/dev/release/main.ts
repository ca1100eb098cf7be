import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { releasedChangelog, releasedClientChangelog } from './released-changelog.ts'

const usage =
  'Say which release: npm run release -- minor, patch, major, or a version such as 0.4.0. Add --dry-run to see what it would write.'
const changelogFile = 'CHANGELOG.md'
const clientChangelogFile = 'docs/client/changelog.md'
/** The clients have the version of the service. */
const ofClients = [
  'sdk/typescript/package.json',
  'sdk/python/pyproject.toml',
  'sdk/python/outbound_messaging/__init__.py',
]
/** Ignored by git. */
const folder = 'release'

/** Makes a release of the checkout that it runs in: version, changelog, bill of materials, commit and tag. It pushes nothing. */
function release(args: readonly string[]): void {
  const isTrial = args.includes('--dry-run')
  const [bump = '', ...others] = args.filter((argument) => argument !== '--dry-run')
  if (!/^(major|minor|patch|\d+\.\d+\.\d+)$/.test(bump) || others.length > 0) throw new Error(usage)
  if (run('git', 'status', '--porcelain') !== '')
    throw new Error('Commit or remove your changes first: a release is made from a clean checkout.')
  const present: string = JSON.parse(readFileSync('package.json', 'utf8')).version
  const version = versionAfter(present, bump)
  const tag = `v${version}`
  if (run('git', 'tag', '--list', tag) !== '')
    throw new Error(`There is a tag ${tag}. Choose another version.`)
  const day = new Date().toISOString().slice(0, 10)
  const released = releasedChangelog(readFileSync(changelogFile, 'utf8'), version, day)
  if (!released)
    throw new Error(`${changelogFile} has no line under [Unreleased]. Write what changed, and commit it.`)
  const forClients = releasedClientChangelog(readFileSync(clientChangelogFile, 'utf8'), version, day)
  if (forClients === undefined)
    throw new Error(`${clientChangelogFile} has no heading "## Unreleased". Add it, and commit it.`)
  if (isTrial) {
    console.log(`${tag}, ${day}\n\n${released.notes}`)
    return
  }
  writeFileSync(changelogFile, released.text)
  writeFileSync(clientChangelogFile, forClients)
  run('npm', 'version', version, '--no-git-tag-version', '--ignore-scripts')
  for (const file of ofClients) setVersion(file, present, version)
  const bill = writeBill(version)
  run('git', 'commit', '--quiet', '--all', '--message', `Release ${version}`)
  // A changelog has headings, which git would drop as comments.
  run('git', 'tag', '--annotate', tag, '--cleanup=whitespace', '--message', `${tag}\n\n${released.notes}`)
  console.log(`Tagged ${tag}. Its bill of materials: ${bill}\n\n${nextSteps(version)}`)
}

/** @throws Error if the file has the present version not exactly once. */
function setVersion(file: string, present: string, version: string): void {
  const [before, after, ...others] = readFileSync(file, 'utf8').split(`"${present}"`)
  if (before === undefined || after === undefined || others.length > 0)
    throw new Error(`${file} has the version ${present} not exactly once. Set it by hand: ${version}.`)
  writeFileSync(file, `${before}"${version}"${after}`)
}

/** Writes what the service consists of, as CycloneDX, from the lock file. @returns its path. */
function writeBill(version: string): string {
  const omitted = ['--package-lock-only', '--omit=dev', '--omit=optional']
  const bill = JSON.parse(run('npm', 'sbom', '--sbom-format=cyclonedx', ...omitted))
  // Instead of the name of the folder.
  bill.metadata.component.name = JSON.parse(readFileSync('package.json', 'utf8')).name
  const path = join(folder, `sbom-${version}.cdx.json`)
  mkdirSync(folder, { recursive: true })
  writeFileSync(path, `${JSON.stringify(bill, null, 2)}\n`)
  return path
}

function versionAfter(present: string, bump: string): string {
  const [major = 0, minor = 0, patch = 0] = present.split('.').map(Number)
  switch (bump) {
    case 'major':
      return `${major + 1}.0.0`
    case 'minor':
      return `${major}.${minor + 1}.0`
    case 'patch':
      return `${major}.${minor}.${patch + 1}`
    default:
      return bump
  }
}

const nextSteps = (version: string) => `Next:
  git push --follow-tags
  docker build --build-arg VERSION=${version} --build-arg REVISION=$(git rev-parse HEAD) --tag IMAGE:${version} .`

/** @throws Error with what the command printed. */
function run(command: string, ...args: string[]): string {
  return execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }).trim()
}

try {
  release(process.argv.slice(2))
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
}
