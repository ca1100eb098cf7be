import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { createMetrics, type ProcessKind } from '../../../src/platform/metrics.ts'

interface Defined {
  name: string
  type: string
  labelNames: string[]
  processes: string
}

const titles: Record<ProcessKind, string> = { api: 'API', worker: 'worker', admin: 'admin' }

/** The metrics of all processes, by their names. */
const defined = new Map<string, Defined>()
for (const [kind, title] of Object.entries(titles)) {
  for (const metric of createMetrics(kind as ProcessKind).registry.getMetricsAsArray()) {
    const { name, type, labelNames } = metric as unknown as Defined
    const known = defined.get(name)
    const processes = known ? `${known.processes}, ${title}` : title
    defined.set(name, { name, type, labelNames, processes })
  }
}
const ours = [...defined.values()].filter(({ name }) => name.startsWith('outbound_'))

const page = readFileSync('docs/reference/metrics.md', 'utf8')
const documented = [...page.matchAll(/^\| `(outbound_\w+)` \| (.*) \|$/gm)].map(([, name, rest = '']) => {
  const [type, unit, labels, process] = rest.split('|').map((cell) => cell.trim())
  return { name, type, unit, labels, process }
})

test('the docs have each metric once, with its type, unit, labels and process, and no other', () => {
  expect(documented.map(({ name }) => name).sort()).toEqual(ours.map(({ name }) => name).sort())
})

test.each(ours)('the docs describe $name', ({ name, type, labelNames, processes }) => {
  const row = documented.find((one) => one.name === name)
  expect(row).toMatchObject({ type, process: processes, unit: expect.stringMatching(/^\w/) })
  for (const label of labelNames) expect(row?.labels).toContain(`\`${label}\``)
  if (labelNames.length === 0) expect(row?.labels).toBe('')
  expect(name).toMatch(type === 'counter' ? /_total$/ : /(?<!_total)$/)
  if (row?.unit === 'seconds') expect(name).toMatch(/_seconds$/)
})

/** An id or a free text as a label could name a person, or make a series for each. */
test('no label is an id, a contact or free text, but for the names of channels in trouble', () => {
  const labels = new Set(ours.flatMap(({ labelNames }) => labelNames))
  expect([...labels].sort()).toEqual([
    'cause',
    'channel',
    'channels',
    'collector',
    'commit',
    'from',
    'level',
    'limit',
    'message_type',
    'node',
    'outcome',
    'percent',
    'priority',
    'provider',
    'queue',
    'result',
    'route',
    'shard',
    'state',
    'status',
    'to',
    'trouble',
    'version',
  ])
  const withNames = ours.filter(({ labelNames }) => labelNames.includes('channel'))
  expect(withNames.map(({ name }) => name)).toEqual(['outbound_channels_in_trouble'])
})

const rules: string[] = parse(readFileSync('ops/prometheus/alerts.yml', 'utf8')).groups.flatMap(
  (group: { rules: { expr: string }[] }) => group.rules.map(({ expr }) => expr),
)
const dashboard = JSON.parse(readFileSync('ops/grafana/dashboard.json', 'utf8'))
const panels: { title: string; targets?: { expr: string }[] }[] = dashboard.panels
const shown = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))

const namesIn = (expressions: string[]) =>
  new Set(
    expressions.flatMap((text) => text.match(/\b(?:outbound|nodejs|process)_\w+/g) ?? []).map(withoutPart),
  )

function withoutPart(name: string): string {
  const whole = name.replace(/_(bucket|count|sum)$/, '')
  return defined.get(whole)?.type === 'histogram' ? whole : name
}

test.each([
  ['alert rules', rules],
  ['dashboard', shown],
])('each metric that the %s use is exported by a process', (_, expressions) => {
  const names = namesIn(expressions)
  expect(names.size).toBeGreaterThan(10)
  expect([...names].filter((name) => !defined.has(name))).toEqual([])
})

test('the dashboard shows each metric of ours', () => {
  const names = namesIn(shown)
  expect(ours.map(({ name }) => name).filter((name) => !names.has(name))).toEqual([])
})

test("the dashboard can be imported: its panels have distinct ids, don't overlap, and query a selectable data source", () => {
  expect(dashboard).toMatchObject({ uid: 'outbound-messaging', schemaVersion: expect.any(Number) })
  const ids = dashboard.panels.map(({ id }: { id: number }) => id)
  expect(new Set(ids).size).toBe(ids.length)
  const chosen = `\${${dashboard.templating.list[0].name}}`
  const taken = new Set<string>()
  for (const { title, type, gridPos, datasource } of dashboard.panels) {
    for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++) {
      for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
        expect(x, title).toBeLessThan(24)
        expect(taken.has(`${x},${y}`), `${title} lies on another panel`).toBe(false)
        taken.add(`${x},${y}`)
      }
    }
    if (type !== 'row') expect(datasource?.uid, title).toBe(chosen)
  }
})
