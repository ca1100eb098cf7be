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

/** The names of statements that write a state of sends, but for a claim, and don't number, announce and count it. */
function uncounted(texts: Iterable<[string, string]>): string[] {
  const writesState =
    /\bupdate sends\b(?:(?!\bfrom\b|\bwhere\b)[^;])*?(?:\bset|,)\s+status = (?!'sending')|\binsert into sends\b[^)]*\bstatus\b/
  const counts =
    /\nwritten as \(\n {2}(?:update sends s set|insert into sends as s)\b[^;]*?\bchange_number\b[^;]*?\nannounced as \(\n {2}insert into callbacks\b/
  return [...texts].filter(([, text]) => writesState.test(text) && !counts.test(text)).map(([name]) => name)
}

test('a statement that changes the state of sends counts the changes, and tells their endpoints', () => {
  const texts = [...statements].map(([name, { text }]): [string, string] => [name, text])
  expect(uncounted(texts)).toEqual([])
  // Would it notice one that doesn't?
  const changing = texts.filter(
    // It numbers a change that leaves the state as it is.
    ([name, text]) => text.includes('change_number =') && name !== 'unsubscribe_contact',
  )
  expect(changing.map(([name]) => name)).toEqual(
    expect.arrayContaining(['record_outcomes', 'record_receipts', 'replay_sends']),
  )
  for (const [name, text] of [...changing, ...texts.filter(([name]) => name === 'cancel_scheduled')]) {
    expect(uncounted([[name, text.replaceAll('change_number', 'attempt')]])).toEqual([name])
    expect(uncounted([[name, text.replace('insert into callbacks', 'select')]])).toEqual([name])
  }
})

/** Splits SQL at its outermost commas. */
function listOf(sql: string): string[] {
  const items = ['']
  let depth = 0
  for (const character of sql.replaceAll(/\s+/g, ' ')) {
    if (character === '(') depth++
    if (character === ')') depth--
    if (character === ',' && depth === 0) items.push('')
    else items.push((items.pop() ?? '') + character)
  }
  return items.map((item) => item.trim())
}

/** The values that a statement gives the columns of the sends that it changes. */
function valuesSet(text: string): Record<string, string> {
  const [, set = ''] = /\nwritten as \(\n {2}update sends s set\n([\s\S]*?)\n {2}from\b/.exec(text) ?? []
  const pairs = listOf(set).map((item) => item.split(/ = (.*)/s))
  return Object.fromEntries(pairs.map(([column = '', value = '']) => [column, value]))
}

const deciding = ['status', 'delivery', 'failure', 'attempt_record']

test('a statement that changes the state of sends decides all that belongs to it, and counts them by the values that it writes', () => {
  const changing = [...statements].filter(([, { text }]) => text.includes('update sends s set'))
  const stated = changing.map(([name, { text }]) => ({ name, text, set: valuesSet(text) }))
  const ofState = stated.filter(({ set }) => set.status !== undefined && set.status !== "'sending'")
  expect(ofState.length).toBeGreaterThan(10)
  for (const { name, text, set } of ofState) {
    const decided = ['status', 'finished_at', 'failure', 'claimed_at', 'change_number', 'counted_as']
    expect([name, Object.keys(set)]).toEqual([name, expect.arrayContaining(decided)])
    const [, counted = ''] = / counted_as\((.*)\) else s\.counted_as end$/.exec(set.counted_as ?? '') ?? []
    const written = deciding.map((column) => set[column] ?? `s.${column}`)
    expect([name, listOf(counted).slice(0, 4)]).toEqual([name, written])
    expect([name, text]).toEqual([name, expect.stringContaining('\ncounted_changes as (\n')])
  }
})

test.each([
  "update sends set finished_at = now(), status = 'failed' where request_id = $1",
  "with ended as (update sends s set failure = 'late', status = $2 from given where true) select",
  "insert into sends (request_id, status) values ($1, 'failed')",
])('it would notice one that is written otherwise: %s', (text) => {
  expect(uncounted([['planted', text]])).toEqual(['planted'])
})
