import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { anchorsOf } from './anchors.ts'

const folders = ['src', 'db', 'workers', 'tests', 'docs', 'ops', '.ci', '.github', '.']

/** The files of these folders; of the root, only the files directly in it. */
const files = folders.flatMap((folder) =>
  readdirSync(folder, { recursive: folder !== '.', encoding: 'utf8' }).map((path) => join(folder, path)),
)

const isText = (file: string) => /\.(tsx?|mjs|md|sql|ya?ml)$|^(Procfile|Dockerfile|\.ci\/run)$/.test(file)

/** Files that a reader of a how-to will create have these names. */
const madeUp = /\/(?:example|planted|x)\b/
const named =
  /(?<![\w./:-])(?:tests|src|db|workers|docs|ops)\/[\w./-]*\.(?:tsx?|mjs|md|sql|json|ya?ml|css|png|svg|lua)\b/g

/** The prose of a file. Code has it only in comments: the compiler checks imports, and other strings may be paths of URLs. */
function proseOf(file: string): string {
  const text = readFileSync(file, 'utf8')
  if (!/\.(tsx?|mjs)$/.test(file)) return text
  return [...text.matchAll(/\/\*.*?\*\/|\/\/[^\n]*/gs)].map(([comment]) => comment).join('\n')
}

test('every file that a comment or the docs name by its path exists', () => {
  const names = files
    .filter(isText)
    .flatMap((file) => [...proseOf(file).matchAll(named)].map(([path]) => ({ file, path })))
  expect(names.length).toBeGreaterThan(100)
  expect(names.filter(({ path }) => !madeUp.test(path) && !existsSync(path))).toEqual([])
})

test('every section of the docs that the code or an alert rule names exists', () => {
  const links = files
    .filter((file) => /\.(tsx?|mjs|sql|ya?ml|json)$/.test(file))
    .flatMap((file) =>
      [...readFileSync(file, 'utf8').matchAll(/(docs\/[\w/-]+\.md)#([\w-]+)/g)].map(
        ([, page = '', anchor = '']) => ({ file, page, anchor }),
      ),
    )
  expect(links.length).toBeGreaterThan(60)
  expect(links.filter(({ page, anchor }) => !existsSync(page) || !anchorsOf(page).includes(anchor))).toEqual(
    [],
  )
})
