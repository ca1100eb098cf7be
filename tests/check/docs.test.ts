import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'

const docs = readdirSync('docs', { recursive: true, encoding: 'utf8' }).map((path) => join('docs', path))
const pages = ['README.md', 'SECURITY.md', ...docs.filter((path) => path.endsWith('.md'))]

/** As GitHub names the anchor of a heading. */
function anchorsOf(page: string): string[] {
  return [...readFileSync(page, 'utf8').matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}_ -]/gu, '')
      .replaceAll(' ', '-'),
  )
}

function isThere(page: string, link: string): boolean {
  const [path = '', anchor] = link.split('#')
  const file = path === '' ? page : join(dirname(page), path)
  return existsSync(file) && (anchor === undefined || anchorsOf(file).includes(anchor))
}

test.each(pages)('what %s links to in this project is there', (page) => {
  const links = [...readFileSync(page, 'utf8').matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link)
  const ours = links.filter((link) => !/^https?:/.test(link))
  expect(ours.filter((link) => !isThere(page, link))).toEqual([])
})

describe('docs/security.md', () => {
  const page = readFileSync('docs/security.md', 'utf8')
  /** A file of tests and the titles behind it: `tests/x.test.ts` “one”, “another”. */
  const claims = [...page.matchAll(/`(tests\/[\w/.-]+)`((?:,? “[^”]+”)+)/g)].map(
    ([, file = '', titles = '']) => ({
      file,
      titles: [...titles.matchAll(/“([^”]+)”/g)].map(([, title = '']) => title),
    }),
  )

  const isTitleIn = (source: string, title: string) =>
    ["'", '"', '`'].some((quote) => source.includes(quote + title + quote))

  test.each(claims)('the tests that it names in $file are there', ({ file, titles }) => {
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
    expect(page.match(/`tests\/[\w/.-]+\.test\.ts`(?!,? “)/g)).toEqual(['`tests/check/docs.test.ts`'])
  })
})
