import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { sendStatuses } from '../../src/core/timeline.ts'
import { timelineEvents } from '../../src/core/timeline-events.ts'

const events: readonly string[] = timelineEvents

test('docs/reference/timeline.md has a row for each event of a timeline, and for no other', () => {
  const [, table = ''] = readFileSync('docs/reference/timeline.md', 'utf8').split(
    '| `event` | When | Fields |\n|---|---|---|\n',
  )
  const rows = table.split('\n\n', 1)[0]?.split('\n') ?? []
  expect(rows.map((row) => /^\| `(\w+)` \|/.exec(row)?.[1])).toEqual(events)
})

/** The names of events in SQL, by where they stand: in what follows `insert into send_events`. */
function eventsWritten(source: string): string[] {
  return [...source.matchAll(/insert into send_events [^`]*/g)].flatMap(([sql]) => {
    const text = sql
      .replaceAll(/\$\{[^}]*\}/g, '')
      .replaceAll(/json_build_object\([^()]*\)/g, '')
      .replaceAll(/->>?\s*'\w+'|(?:=|<>)\s*'\w+'/g, '')
    return [...text.matchAll(/'([a-z_]+)'/g)].map(([, name = '']) => name)
  })
}

test('every event that the SQL of db writes is one of them, and each is written or told by the row of its send', () => {
  const sources = readdirSync('db', { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.ts'),
  )
  const written = sources.flatMap((file) => eventsWritten(readFileSync(`db/${file}`, 'utf8')))
  expect(written.filter((name) => !events.includes(name))).toEqual([])
  const toldByRow = ['accepted', ...sendStatuses]
  expect(events.filter((name) => !written.includes(name) && !toldByRow.includes(name))).toEqual([])
})

test('the support page styles no event that there is not', () => {
  const styles = readFileSync('src/admin/admin.css', 'utf8')
  const styled = [...styles.matchAll(/^\.entry\.(\w+)/gm)].map(([, name]) => name)
  expect(styled.length).toBeGreaterThan(2)
  expect(styled.filter((name) => !events.includes(name ?? ''))).toEqual([])
})

test('docs/reference/log.md names each in its table of log lines, but those that no process logs', () => {
  const logs = readFileSync('docs/reference/log.md', 'utf8')
  const rows = [...logs.matchAll(/^\| (`\w+`(?:, `\w+`)*) \| (?:info|warn)/gm)].flatMap(([, cell = '']) =>
    cell.split(', ').map((name) => name.slice(1, -1)),
  )
  expect(events.filter((name) => !rows.includes(name))).toEqual(['erased'])
})
