import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { guideNames } from '../../../src/api/docs/guide.ts'
import { routes } from '../../../src/api/routes.ts'
import { waitNames } from '../../../src/sends/dry-run.ts'
import { rowsOf } from './table-rows.ts'

test('each page of docs/client is a guide of the documentation, in one group', () => {
  const files = readdirSync('docs/client').map((file) => file.replace('.md', ''))
  expect([...guideNames].sort()).toEqual(files.sort())
})

test('no route takes the page of a guide: each has an address of its own', () => {
  const pages = Object.keys(routes).map((name) =>
    name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`),
  )
  expect(guideNames.filter((name) => pages.includes(name))).toEqual([])
})

test("the clients' changelog has each released version, and what isn't released", () => {
  const titles = (file: string) =>
    [...readFileSync(file, 'utf8').matchAll(/^## \[?([\w.]+)/gm)].map(([, title]) => title)
  expect(titles('docs/client/changelog.md')).toEqual(titles('CHANGELOG.md'))
})

test('the guide of dry runs has each reason to wait in its words', () => {
  const rows = rowsOf('docs/client/dry-run.md', '| `waitsFor` | It waits for |')
  expect(Object.fromEntries(rows.map(([name = '', words]) => [name.replaceAll('`', ''), words]))).toEqual(
    waitNames,
  )
})

test('the recipients of the sandbox are the same for clients and for operators', () => {
  const head = '| Phone | E-mail | What happens | Ends as |'
  const rows = (file: string) =>
    rowsOf(file, head).map(([phone, mail, what, end = '']) => [phone, mail, what, end.split(';')[0]])
  expect(rows('docs/client/try-it.md')).toEqual(rows('docs/reference/providers/sandbox.md'))
})
