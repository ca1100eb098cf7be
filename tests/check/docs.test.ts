import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'

const docs = readdirSync('docs', { recursive: true, encoding: 'utf8' }).map((path) => join('docs', path))
const pages = ['README.md', ...docs.filter((path) => path.endsWith('.md'))]

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
