import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { reasonsToWait } from '../../../db/reasons-to-wait.ts'
import { conditionTexts } from '../../../src/core/explanation/condition-texts.ts'
import type { ConditionTexts, Details } from '../../../src/core/explanation/model.ts'
import { ownReasons } from '../../../src/core/sends/own-reasons.ts'
import { anchorsOf } from './anchors.ts'

const docs = readdirSync('docs', { recursive: true, encoding: 'utf8' }).map((path) => join('docs', path))
const pages = [
  'README.md',
  'SECURITY.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  ...docs.filter((path) => path.endsWith('.md')),
]

function isThere(page: string, link: string): boolean {
  const [path = '', anchor] = link.split('#')
  const file = path === '' ? page : join(dirname(page), path)
  return existsSync(file) && (anchor === undefined || anchorsOf(file).includes(anchor))
}

test.each(pages)('every file and section that %s links to in this project exists', (page) => {
  const links = [...readFileSync(page, 'utf8').matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link)
  const ours = links.filter((link) => !/^https?:/.test(link))
  expect(ours.filter((link) => !isThere(page, link))).toEqual([])
})

test.each(pages)('no command of %s that is pasted waits for an answer of npx', (page) => {
  const commands = [...readFileSync(page, 'utf8').matchAll(/^```sh\n(.*?)^```/gms)].map(
    ([, text = '']) => text,
  )
  expect(commands.join('').match(/\bnpx (?!-y ).*/g) ?? []).toEqual([])
})

test('the changelog starts with Unreleased, then the version of package.json', () => {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
  const titles = [...readFileSync('CHANGELOG.md', 'utf8').matchAll(/^## (.*)$/gm)].map(([, title]) => title)
  expect(titles[0]).toBe('[Unreleased]')
  expect(titles[1]).toMatch(new RegExp(`^\\[${version}\\] - \\d{4}-\\d\\d-\\d\\d$`))
})

test('docs/decisions/README.md lists all records, in the order of their numbers', () => {
  const records = readdirSync('docs/decisions').filter((file) => file !== 'README.md')
  const rows = readFileSync('docs/decisions/README.md', 'utf8').matchAll(/^\| \[(\d+)\]\((.*?)\)/gm)
  const listed = [...rows].map(([, number, file]) => ({ number, file }))
  expect(listed).toEqual(records.sort().map((file) => ({ number: file.slice(0, 4), file })))
})

describe('docs/explanation/security.md', () => {
  const page = readFileSync('docs/explanation/security.md', 'utf8')
  /** A file of tests and the titles behind it: `tests/x.test.ts` “one”, “another”. */
  const claims = [...page.matchAll(/`(tests\/[\w/.-]+)`((?:,? “[^”]+”)+)/g)].map(
    ([, file = '', titles = '']) => ({
      file,
      titles: [...titles.matchAll(/“([^”]+)”/g)].map(([, title = '']) => title),
    }),
  )

  const isTitleIn = (source: string, title: string) =>
    ["'", '"', '`'].some((quote) => source.includes(quote + title + quote))

  test.each(claims)('the tests that it names in $file exist', ({ file, titles }) => {
    const source = readFileSync(file, 'utf8').replaceAll("\\'", "'")
    expect(titles.filter((title) => !isTitleIn(source, title))).toEqual([])
  })

  test('names a test for every threat, and no file without a title', () => {
    const rows = page.match(/^\|.*\|$/gm) ?? []
    const threats = rows.filter((row) => row.split('|').length === 5 && /^\| (?!Threat|Package)/.test(row))
    const isOfPackages = (row: string) => row.startsWith('| `')
    const unproven = threats.filter((row) => !isOfPackages(row) && !/`tests\/[\w/.-]+` “/.test(row))
    expect(threats.length).toBeGreaterThan(30)
    expect(unproven).toEqual([])
    expect(page.match(/`tests\/[\w/.-]+\.test\.ts`(?!,? “)/g)).toEqual(['`tests/rules/check/docs.test.ts`'])
  })
})

/** Everything that a user or an operator may read, in the product or beside it. */
const read = [
  ...[
    'README.md',
    'SECURITY.md',
    'CONTRIBUTING.md',
    'CHANGELOG.md',
    'docs',
    'ops',
    'src',
    'db',
    'workers',
  ].flatMap((path) =>
    statSync(path).isFile()
      ? [path]
      : readdirSync(path, { recursive: true, encoding: 'utf8' }).map((file) => join(path, file)),
  ),
].filter((path) => /\.(md|ya?ml|tsx?|json)$/.test(path))

test('users and operators read "fix", never "mend"', () => {
  const quaint = /\bmend(?:s|ed|ing)?\b/i
  expect(read.length).toBeGreaterThan(300)
  expect(read.filter((path) => quaint.test(readFileSync(path, 'utf8')))).toEqual([])
})

describe('docs/reference/admin.md', () => {
  const now = new Date(0)
  const channel = { name: 'SMS', maxInFlight: 1 }
  const facts = { now, channel, timeline: { events: [] }, attempts: 'No attempt was made.' }
  /** Has what the words of any kind refer to. */
  const sample = {
    at: now,
    since: now,
    until: now,
    note: null,
    fault: undefined,
    cause: 'bounce',
  }
  const reasons: { [kind: string]: string } = {
    provider_away: ownReasons.providerAway,
    crashed_workers: ownReasons.givenUp,
  }
  const headings = [...readFileSync('docs/reference/admin.md', 'utf8').matchAll(/^\| ([A-Z][^|]*) \|/gm)]
    .flatMap(([, cell = '']) => cell.split(', '))
    .map((words) => words.split(' …')[0] ?? '')

  const waits = Object.entries(reasonsToWait).map(([name, { texts }]) => [name, texts] as const)
  const ofConditions = Object.entries(conditionTexts).filter(([kind]) => kind !== 'failed_otherwise')

  test.each([...ofConditions, ...waits])('explains the heading of the page of a send: %s', (kind, words) => {
    const condition = { ...sample, kind, reason: reasons[kind] ?? '' }
    const heading = (words as ConditionTexts<unknown>).summary(condition, facts as unknown as Details)
    expect(
      headings.some((begin) => heading.startsWith(begin)),
      heading,
    ).toBe(true)
  })
})
