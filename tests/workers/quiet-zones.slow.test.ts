import { expect, test } from 'vitest'
import { serviceOfFile } from '../support/service.ts'

const service = await serviceOfFile()

interface Case {
  zone: string
  from: string
  until: string
  at: string
}

/** When sends of such hours may go: by PostgreSQL, as the workers ask it. */
async function endsOf(cases: readonly Case[]): Promise<(Date | null)[]> {
  const { rows } = await service.runtime.db.$client.query<{ ends: Date | null }>(
    `select quiet_until(
       json_build_object('from', "from", 'until', until, 'byContact', false, 'zone', zone, 'priorities', array['normal'])::jsonb,
       'normal', 'phone', '+4915112345678', at) as ends
     from json_to_recordset($1) as ("from" text, until text, zone text, at timestamptz)`,
    [JSON.stringify(cases)],
  )
  return rows.map(({ ends }) => ends)
}

const clocks = new Map<string, Intl.DateTimeFormat>()
/** The time of day there, HH:MM:SS, by another implementation than PostgreSQL's. */
function clockIn(zone: string, at: number): string {
  const format =
    clocks.get(zone) ??
    new Intl.DateTimeFormat('en-GB', { timeZone: zone, hourCycle: 'h23', timeStyle: 'medium' })
  clocks.set(zone, format)
  return format.format(at)
}

function isQuiet({ zone, from, until }: Case, at: number): boolean {
  const clock = clockIn(zone, at)
  return from < until ? clock >= from && clock < until : clock >= from || clock < until
}

const hourMs = 3_600_000
/** The hours in which the clock of a zone changes, between the beginning of 2026 and the end of 2027. */
function changesOf(zone: string): number[] {
  const found: number[] = []
  const offset = (at: number) => Date.parse(`1970-01-01T${clockIn(zone, at)}Z`) - (at % (24 * hourMs))
  const dayMs = 24 * hourMs
  const same = (a: number, b: number) => (offset(a) - offset(b)) % dayMs === 0
  for (let day = Date.UTC(2026, 0, 1); day < Date.UTC(2028, 0, 1); day += dayMs) {
    if (same(day, day + dayMs)) continue
    for (let at = day; at < day + dayMs; at += hourMs) if (!same(at, at + hourMs)) found.push(at)
  }
  return found
}

const windows = [
  ['21:00', '08:00'],
  ['02:15', '02:45'],
  ['01:30', '03:00'],
  ['23:30', '00:30'],
  ['08:00', '07:59'],
  ['00:00', '12:00'],
] as const

/** Zones of which both implementations have the same clocks: governments change them, and releases of the two come at different times. */
async function agreedZones(): Promise<string[]> {
  const days = Array.from({ length: 730 }, (_, day) => Date.UTC(2026, 0, 1, 12) + day * 24 * hourMs)
  const asked = Intl.supportedValuesOf('timeZone').map((zone) => ({
    zone,
    moments: [
      ...days,
      ...changesOf(zone).flatMap((at) => [-2, -1, 0, 1, 2].map((hours) => at + hours * hourMs)),
    ],
  }))
  const { rows } = await service.runtime.db.$client.query<{ zone: string; clocks: string[] }>(
    `select zone, array(select (to_timestamp(at::float8 / 1000) at time zone zone)::time::text
                        from json_array_elements_text(moments) at) as clocks
     from json_to_recordset($1) as (zone text, moments json)
     where zone in (select name from pg_timezone_names)`,
    [JSON.stringify(asked)],
  )
  const momentsOf = new Map(asked.map(({ zone, moments }) => [zone, moments]))
  return rows
    .filter(({ zone, clocks }) => momentsOf.get(zone)?.every((at, i) => clocks[i] === clockIn(zone, at)))
    .map(({ zone }) => zone)
}

test('in no IANA zone a send goes in quiet hours, across both changes of the clock of two years, and each goes in the end', async () => {
  const zones = await agreedZones()
  expect(zones.length).toBeGreaterThan(400)
  const cases: Case[] = []
  for (const zone of zones) {
    const changes = changesOf(zone)
    for (const [from, until] of windows)
      for (const change of changes.length > 0 ? changes : [Date.UTC(2026, 5, 1)])
        for (let at = change - 3 * hourMs; at <= change + 4 * hourMs; at += 35 * 60_000)
          cases.push({ zone, from, until, at: new Date(at).toISOString() })
  }
  const wrong: unknown[] = []
  for (let i = 0; i < cases.length; i += 20_000) {
    const some = cases.slice(i, i + 20_000)
    const ends = await endsOf(some)
    for (const [place, one] of some.entries()) {
      const at = Date.parse(one.at)
      const end = ends[place]?.getTime()
      const waits = isQuiet(one, at) || isQuiet(one, at + 1000)
      if (waits !== (end !== undefined)) wrong.push({ ...one, end, waits })
      else if (end !== undefined && (isQuiet(one, end) || end <= at || end > at + 26 * hourMs))
        wrong.push({ ...one, end })
    }
  }
  expect(wrong.slice(0, 5)).toEqual([])
}, 120_000)

test('a number whose code has several zones waits while it is quiet in any of them', async () => {
  const hours = { from: '21:00', until: '08:00', byContact: true, zone: 'UTC', priorities: ['bulk'] }
  const zones = ['America/St_Johns', 'America/New_York', 'America/Los_Angeles', 'Pacific/Honolulu']
  for (let hour = 0; hour < 24; hour++) {
    const at = Date.UTC(2026, 6, 1, hour)
    const { rows } = await service.runtime.db.$client.query<{ ends: Date | null }>(
      `select quiet_until($1, 'bulk', 'phone', '+18005550199', $2) as ends`,
      [JSON.stringify(hours), new Date(at).toISOString()],
    )
    const ends = rows[0]?.ends ?? null
    const quietAt = (moment: number) => zones.some((zone) => isQuiet({ ...hours, zone, at: '' }, moment))
    if (quietAt(at)) expect(ends).not.toBeNull()
    if (ends) expect([hour, ends, quietAt(ends.getTime())]).toEqual([hour, ends, false])
  }
})
