import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { parse } from 'yaml'
import { type Binary, debianBinary } from '../../../src/dev/embedded/debian-binary.ts'
import { promtoolBinary } from '../../../src/dev/embedded/promtool-binary.ts'

interface Rule {
  alert: string
  labels: { severity: string }
  annotations: { summary: string; description: string; runbook_url: string }
}

const folder = 'ops/prometheus'
const read = (file: string) => readFileSync(`${folder}/${file}`, 'utf8')
const rules: Rule[] = parse(read('alerts.yml')).groups.flatMap((group: { rules: Rule[] }) => group.rules)
/** Operators put their own in its place, as docs/how-to/monitor.md says. */
const runbookBase = 'https://example.com/outbound-messaging-api/docs/how-to/runbooks.md'
const monitor = readFileSync('docs/how-to/monitor.md', 'utf8')
const runbooks = readFileSync('docs/how-to/runbooks.md', 'utf8')

let promtool: Binary

// The package is fetched the first time.
beforeAll(async () => {
  promtool = await promtoolBinary()
})

function run(...args: string[]) {
  const { status, stdout, stderr } = spawnSync(promtool.file, args, {
    cwd: folder,
    env: { ...process.env, ...promtool.env },
    encoding: 'utf8',
  })
  return { status, printed: stdout + stderr }
}

test('promtool finds no fault in the rules, and none in the example of a scrape config', () => {
  expect(run('check', 'rules', 'alerts.yml')).toMatchObject({ status: 0 })
  expect(run('check', 'config', '--syntax-only', 'prometheus.yml')).toMatchObject({ status: 0 })
})

test('each alert fires when it should, and not before', () => {
  expect(run('test', 'rules', 'alerts.test.yml')).toMatchObject({ status: 0 })
})

test('in each failure mode of the stores, exactly the alerts fire that name it', () => {
  expect(run('test', 'rules', 'failure-modes.test.yml')).toMatchObject({ status: 0 })
})

test('every alert has a test in which it fires', () => {
  const tests: { promql_expr_test?: { exp_samples: { labels: string }[] }[] }[] = [
    'alerts.test.yml',
    'failure-modes.test.yml',
  ].flatMap((file) => parse(read(file)).tests)
  const fires = tests
    .flatMap(({ promql_expr_test = [] }) => promql_expr_test)
    .flatMap(({ exp_samples }) => exp_samples)
    .map(({ labels }) => /alertname="(\w+)"/.exec(labels)?.[1])
  expect(new Set(fires)).toEqual(new Set(rules.map(({ alert }) => alert)))
})

test.each(rules)('$alert has a severity, a summary, and a link to its runbook', (rule) => {
  expect(rule.labels.severity).toMatch(/^(critical|warning|info)$/)
  expect(rule.annotations.summary).toMatch(/\.$/)
  expect(rule.annotations.description).toMatch(/\.$/)
  expect(rule.annotations.runbook_url).toBe(`${runbookBase}#${rule.alert.toLowerCase()}`)
  expect(monitor).toContain(runbookBase)
  const runbook = runbooks.split(`\n## ${rule.alert}\n`)[1]?.split(/\n##/)[0]
  expect(runbook?.trim().length, 'its part of docs/how-to/runbooks.md').toBeGreaterThan(80)
})

test('if promtool cannot be found or downloaded, one sentence says what to do', async () => {
  vi.stubEnv('PATH', '/nowhere')
  onTestFinished(() => void vi.unstubAllEnvs())
  const nowhere = debianBinary({
    what: 'nothing-of-that-name',
    names: ['nothing-of-that-name'],
    package: { choices: [['nothing-of-that-name']], withDependencies: false },
    advice: 'put it on PATH.',
  })
  await expect(nowhere).rejects.toThrow(/^No nothing-of-that-name here \(tried .*\): put it on PATH\.$/)
})
