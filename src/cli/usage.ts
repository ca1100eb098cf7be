import { type Command, InvalidArgumentError } from 'commander'
import { noUsage, readUsage, type Usage } from '../../db/counters/usage.ts'
import {
  parseGroups,
  spanOfMonth,
  type UsageGroup,
  type UsageSpan,
  usageGroups,
} from '../core/accounts/usage-query.ts'
import { csvRecord } from '../core/requests/csv.ts'
import { type Answerer, CliError, renderFields } from './answer.ts'
import { existingAccount } from './arguments.ts'

interface UsageOptions {
  account: string
  month: UsageSpan
  by: UsageGroup[]
  csv?: boolean
}

export function usageCommands(program: Command, answer: Answerer): void {
  program
    .command('usage')
    .requiredOption('--account <id>', 'the account')
    .requiredOption('--month <month>', 'the month, in UTC, such as 2026-10', month)
    .option('--by <groups>', `by what it is divided: ${usageGroups.join(', ')}, with commas`, groups, [])
    .option('--csv', 'print CSV; not with --json')
    .action(({ account, month, by, csv }: UsageOptions, command: Command) => {
      if (csv && command.optsWithGlobals<{ json?: boolean }>().json)
        throw new CliError('usage', 'Use --csv or --json, not both')
      return answer(
        command,
        async ({ db }) => {
          const rows = await readUsage(db, await existingAccount(db, account), { ...month, groupBy: by })
          return { ...month, usage: rows.map((row) => withGroups(row, by)) }
        },
        ({ usage }) =>
          csv ? csvOf(usage, by) : usage.map((row) => renderFields(row)).join('\n\n') || 'no sends',
      )
    })
}

/** Without the groups that weren't asked for. */
function withGroups(
  { day, month, channelId, channelName, priority, ...sums }: Usage,
  by: readonly UsageGroup[],
) {
  return {
    ...(by.includes('day') && { day }),
    ...(by.includes('month') && { month }),
    ...(by.includes('channel') && { channelId, channelName }),
    ...(by.includes('priority') && { priority }),
    ...sums,
  }
}

/** A month without sends has the header, too. The cost has a column for each currency in which any of them cost something. */
function csvOf(usage: readonly (object & Pick<Usage, 'cost'>)[], by: readonly UsageGroup[]): string {
  const currencies = [...new Set(usage.flatMap(({ cost }) => Object.keys(cost)))].sort()
  const { cost: _, ...sums } = withGroups({ ...noUsage, cost: {} }, by)
  const header = [...Object.keys(sums), ...currencies.map((currency) => `cost ${currency}`)]
  const rows = usage.map(({ cost, ...row }) => [
    ...Object.values(row).map(String),
    ...currencies.map((currency) => cost[currency] ?? '0'),
  ])
  return [header, ...rows].map(csvRecord).join('').trimEnd()
}

function month(text: string): UsageSpan {
  const span = spanOfMonth(text)
  if (span) return span
  throw new InvalidArgumentError('Use a month such as 2026-10.')
}

function groups(text: string): UsageGroup[] {
  const named = parseGroups(text)
  if (named) return named
  throw new InvalidArgumentError(`Use one or more of ${usageGroups.join(',')}; day or month.`)
}
