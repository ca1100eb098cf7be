import { readdirSync } from 'node:fs'
import { resolve } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { statements } from '../../../db/statement.ts'

const header = `-- The service's prepared statements, as PostgreSQL gets them. Written by \`npm run statements\`, not by hand:
-- their sources are the files of db/ that call \`prepared\`.
`

beforeAll(async () => {
  const files = readdirSync('db', { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.ts'),
  )
  for (const file of files) await import(/* @vite-ignore */ resolve('db', file))
})

test('db/statements.sql shows the prepared statements as they are; `npm run statements` writes it', async () => {
  const names = [...statements.keys()].sort()
  const shown = names.map((name) => {
    const { purpose, text } = statements.get(name) ?? { purpose: '', text: '' }
    return `\n-- ${name}: ${purpose}\n${text};\n`
  })
  expect(names).toContain('claim_sends')
  await expect(header + shown.join('')).toMatchFileSnapshot('../../../db/statements.sql')
})

const longestLine = 120

test('no line of a statement is too long to read', () => {
  const long = [...statements].flatMap(([name, { text }]) =>
    text
      .split('\n')
      .filter((line) => line.length > longestLine)
      .map((line) => `${name}: ${line}`),
  )
  expect(long).toEqual([])
})

/** A statement with more lines doesn't fit a screen. */
const screen = 40
const partsOf = (lines: readonly string[]) =>
  lines.flatMap((line, index) => {
    const [, part] = /^(?:with )?(\w+) as (?:materialized )?\(/.exec(line) ?? []
    return part === undefined ? [] : [{ part, isExplained: lines[index - 1]?.startsWith('-- ') ?? false }]
  })

test('a statement that doesn’t fit a screen says what each of its parts is for', () => {
  const long = [...statements].filter(([, { text }]) => text.split('\n').length > screen)
  expect(long.map(([name]) => name)).toContain('grant_permits')
  const unexplained = long.flatMap(([name, { text }]) => {
    const parts = partsOf(text.split('\n'))
    expect(parts.length).toBeGreaterThan(1)
    return parts.filter(({ isExplained }) => !isExplained).map(({ part }) => `${name}: ${part}`)
  })
  expect(unexplained).toEqual([])
})

test('a statement with three parameters or more says what each one is', () => {
  const unnamed = [...statements].flatMap(([name, { text }]) => {
    const parameters = [...new Set(text.match(/\$\d+/g))]
    const comments = text.split('\n').filter((line) => line.trim().startsWith('-- '))
    const isNamed = (parameter: string) => comments.some((line) => line.includes(`${parameter}: `))
    return parameters.length < 3
      ? []
      : parameters.filter((one) => !isNamed(one)).map((one) => `${name}: ${one}`)
  })
  expect(unnamed).toEqual([])
})

const changesState = /update sends\b[^;]*?\bset status = (?!'sending')|insert into sends \([^)]*\bstatus\b/

test('a statement that changes the state of sends counts the changes, and tells their endpoints', () => {
  const changing = [...statements].filter(([, { text }]) => changesState.test(text))
  expect(changing.map(([name]) => name)).toContain('cancel_scheduled')
  const silent = changing.filter(
    ([, { text }]) => !(/\bchange_number( =|\))/.test(text) && text.includes('insert into callbacks')),
  )
  expect(silent.map(([name]) => name)).toEqual([])
})
