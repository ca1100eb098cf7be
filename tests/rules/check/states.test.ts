import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { sendStatuses } from '../../../src/core/sends/timeline.ts'
import { namesIn, rowsOf } from './table-rows.ts'

const ends = sendStatuses.filter((status) => status !== 'queued' && status !== 'sending')

describe('docs/reference/timeline.md has each state of a send, and no other,', () => {
  const page = 'docs/reference/timeline.md'
  const [, diagram = ''] = readFileSync(page, 'utf8').split('stateDiagram-v2', 2)
  const arrows = [...(diagram.split('```', 1)[0]?.matchAll(/(\w+|\[\*\]) --> (\w+|\[\*\])/g) ?? [])]
  const rows = rowsOf(page, '| `status` | Meaning | Over? |')

  test('in its table', () => {
    expect(rows.flatMap(([cell]) => namesIn(cell))).toEqual(sendStatuses)
  })

  test('in its diagram', () => {
    const states = new Set(arrows.flatMap(([, from = '', to = '']) => [from, to]))
    expect([...states].filter((state) => state !== '[*]').sort()).toEqual([...sendStatuses].sort())
  })

  test('and its diagram ends at a state if the table says that it is over without an exception', () => {
    const over = rows.filter(([, , isOver]) => isOver === 'yes').flatMap(([cell]) => namesIn(cell))
    const ending = arrows.flatMap(([, from = '', to]) => (to === '[*]' ? [from] : []))
    const left = arrows.flatMap(([, from = '', to]) => (to === '[*]' ? [] : [from]))
    expect(over.length).toBeGreaterThan(0)
    expect(ending).toEqual(over)
    expect(sendStatuses.filter((status) => !left.includes(status))).toEqual(over)
  })
})

test('wherever the docs list how a send ends, the list is whole', () => {
  const pages = readdirSync('docs', { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.md'))
    .map((path) => join('docs', path))
  const lists = ['README.md', ...pages].flatMap((page) =>
    [...readFileSync(page, 'utf8').matchAll(/\bend(?:s|ed)?\s+as\s+((?:`\w+`(?:,|\s|or|and)*)+)/g)].map(
      ([, list]) => ({ page, states: namesIn(list) }),
    ),
  )
  const ofSeveral = lists.filter(({ states }) => ['sent', 'failed'].every((state) => states.includes(state)))
  expect(ofSeveral.length).toBeGreaterThan(1)
  expect(ofSeveral.filter(({ states }) => states.join() !== ends.join())).toEqual([])
})
