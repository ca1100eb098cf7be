import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parse } from 'yaml'

test('every push and every pull request runs .ci/run, with only Node set up and read-only permissions', () => {
  const { on, permissions, jobs } = parse(readFileSync('.github/workflows/ci.yml', 'utf8'))
  expect(Object.keys(on)).toEqual(['push', 'pull_request'])
  expect(permissions).toEqual({ contents: 'read' })
  expect(jobs.ci.container).toMatch(/^node:\d+-bookworm$/)
  expect(jobs.ci.steps.flatMap(({ run }: { run?: string }) => run ?? [])).toEqual(['.ci/run'])
  expect(
    jobs.ci.steps.find(({ uses }: { uses?: string }) => uses?.startsWith('actions/upload-artifact')),
  ).toMatchObject({
    if: 'always()',
    with: { path: 'tests/pictures\ndocs/images\n' },
  })
})

test('a tag of a release runs .ci/run, then builds its image and its bill of materials, with read-only permissions', () => {
  const { on, permissions, jobs } = parse(readFileSync('.github/workflows/release.yml', 'utf8'))
  expect([on, permissions]).toEqual([{ push: { tags: ['v*'] } }, { contents: 'read' }])
  const { jobs: ofPush } = parse(readFileSync('.github/workflows/ci.yml', 'utf8'))
  expect(jobs.checks.container).toBe(ofPush.ci.container)
  expect(jobs.checks.steps.at(-1)).toEqual({ run: '.ci/run' })
  expect(jobs.image.needs).toBe('checks')
  const commands = jobs.image.steps.flatMap(({ run }: { run?: string }) => run ?? []).join('\n')
  for (const command of ['npm sbom', 'docker build', 'docker save']) expect(commands).toContain(command)
})

test('.ci/run checks, runs the tests of every tier and of the pages, the fast ones on two releases of Node.js, draws the pictures of the docs and records the demo', () => {
  const lines = readFileSync('.ci/run', 'utf8').split('\n')
  const steps = [
    'npm ci',
    'npm run check',
    'run_tests test',
    '  PATH="$reports/other/node_modules/$package/bin:$PATH" run_tests test "test-on-$other"',
    'run_tests test:system',
    'run_tests test:browser',
    'npm run screenshots || failed=$?',
  ]
  expect(lines).toEqual(expect.arrayContaining(steps))
  expect(readFileSync('tests/screenshots/main.ts', 'utf8')).toContain('await recordDemo(')
})
