import { createReadQuery, parsedText } from '../requests/query.ts'

/** By what usage is divided. A group of each kind that has sends is a row. */
export const usageGroups = ['channel', 'day', 'month', 'priority'] as const
export type UsageGroup = (typeof usageGroups)[number]

/** Whole days in UTC, as `2026-10-01`; without `to` itself. */
export interface UsageSpan {
  from: string
  to: string
}

/** By day, an answer would grow with the span. */
const mostDays = 366

const dayWanted = 'has to be a day, such as 2026-10-01'
const day = (example: string) =>
  parsedText((text) => (isDay(text) ? text : undefined), dayWanted, { format: 'date', examples: [example] })
const groupsWanted = `has to be one or more of ${usageGroups.join(', ')}, with commas; day or month`

const isRequired = true as const
const parameters = {
  from: { schema: day('2026-10-01'), what: 'The first day, in UTC.', isRequired },
  to: {
    schema: day('2026-11-01'),
    what: `The day after the last one, in UTC. By day, at most ${mostDays} days after \`from\`.`,
    isRequired,
  },
  groupBy: {
    schema: parsedText(parseGroups, groupsWanted, { examples: ['channel,day'] }),
    what: `By what the sums are divided: ${usageGroups.join(', ')}, several with commas. Default: one sum.`,
  },
}
const read = createReadQuery(parameters)

/** The query of `GET /v1/usage` (docs/reference/api.md#usage). */
export const usageQuery = {
  parameters,
  readQuery(query: URLSearchParams) {
    const result = read(query)
    if ('issue' in result) return result
    const { from, to, groupBy = [] } = result.query
    if (from === undefined || to === undefined)
      return refused(`${from === undefined ? 'from' : 'to'}: is missing`)
    if (to <= from) return refused('to: has to be after from')
    if (groupBy.includes('day') && daysBetween(from, to) > mostDays)
      return refused(`to: at most ${mostDays} days after from, by day`)
    return { query: { from, to, groupBy } }
  },
}

const daysBetween = (from: string, to: string) => (Date.parse(to) - Date.parse(from)) / 86_400_000

const refused = (issue: string) => ({ issue, reason: issue })

/** The span of a month such as `2026-10`; undefined if there is none. */
export function spanOfMonth(month: string): UsageSpan | undefined {
  const from = `${month}-01`
  if (!isDay(from)) return undefined
  const next = new Date(from)
  next.setUTCMonth(next.getUTCMonth() + 1)
  return { from, to: next.toISOString().slice(0, 10) }
}

function isDay(text: string): boolean {
  if (!/^2\d{3}-\d\d-\d\d$/.test(text)) return false
  const moment = new Date(text)
  return !Number.isNaN(moment.getTime()) && moment.toISOString().startsWith(text)
}

/** Undefined if the text isn't a list of groups. */
export function parseGroups(text: string): UsageGroup[] | undefined {
  const named = [...new Set(text.split(',').map((name) => name.trim()))]
  const isList = named.every((name): name is UsageGroup => usageGroups.some((known) => known === name))
  return isList && !(named.includes('day') && named.includes('month')) ? named : undefined
}
