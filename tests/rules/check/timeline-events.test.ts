import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { sendStatuses, timelineFields } from '../../../src/core/sends/timeline.ts'
import { type TimelineEventName, timelineEvents } from '../../../src/core/sends/timeline-events.ts'
import { namesIn, rowsOf } from './table-rows.ts'

const names = Object.keys(timelineEvents) as TimelineEventName[]
const isEvent = (name: string): name is TimelineEventName => Object.hasOwn(timelineEvents, name)

const page = 'docs/reference/timeline.md'

test('docs/reference/timeline.md has a row for each field of a timeline, and no other', () => {
  const documented = rowsOf(page, '| Field | What |').flatMap(([cell]) => namesIn(cell))
  expect(documented.sort()).toEqual(Object.keys(timelineFields).sort())
})

describe('docs/reference/timeline.md has a row for each event', () => {
  const rows = rowsOf(page, '| `event` | When | Fields |')

  test('and for no other', () => {
    expect(rows.flatMap(([cell]) => namesIn(cell))).toEqual(names)
  })

  test.each(rows)('%s: when it is recorded, and its fields', (cell, documented, fields) => {
    const [name = ''] = namesIn(cell)
    if (!isEvent(name)) throw new Error(`${name} is none`)
    const { when } = timelineEvents[name]
    expect(documented).toContain(`${when.charAt(0).toLowerCase()}${when.slice(1, -1)}`)
    const isField = (word: string) => names.some((event) => Object.hasOwn(timelineEvents[event].fields, word))
    expect(namesIn(fields).filter(isField).sort()).toEqual(Object.keys(timelineEvents[name].fields).sort())
  })
})

test("the SQL of db writes events only by `eventOf`, which the table types; each event is written, or derived from the send's row", () => {
  const files = readdirSync('db', { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.ts'),
  )
  const source = files.map((file) => readFileSync(`db/${file}`, 'utf8')).join('\n')
  const inserts = [...source.matchAll(/insert into send_events [^`]*/g)].map(([sql]) => sql)
  expect(inserts.length).toBeGreaterThan(2)
  expect(inserts.filter((sql) => !sql.includes('eventOf('))).toEqual([])
  const written = [...source.matchAll(/eventOf\([^,]*, '(\w+)'/g)].map(([, name]) => name)
  const fromRow: string[] = ['accepted', 'scheduled', ...sendStatuses]
  expect(names.filter((name) => !written.includes(name) && !fromRow.includes(name))).toEqual([])
})

test('the support page styles no unknown event', () => {
  const styles = readFileSync('src/admin/page/admin.css', 'utf8')
  const styled = [...styles.matchAll(/^\.entry\.(\w+)/gm)].map(([, name]) => name)
  expect(styled.length).toBeGreaterThan(2)
  expect(styled.filter((name) => !isEvent(name ?? ''))).toEqual([])
})

test('docs/reference/log.md lists each event that a process logs', () => {
  const logs = readFileSync('docs/reference/log.md', 'utf8')
  const rows = [...logs.matchAll(/^\| (`\w+`(?:, `\w+`)*) \| (?:info|warn)/gm)].flatMap(([, cell = '']) =>
    cell.split(', ').map((name) => name.slice(1, -1)),
  )
  expect(names.filter((name) => !rows.includes(name))).toEqual(['erased'])
})
