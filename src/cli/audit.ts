import type { Command } from 'commander'
import { type AuditFilters, pageOfAudit, type RecordedChange } from '../../db/audit/list.ts'
import { targetNames } from '../../db/audit/target-names.ts'
import type { Database } from '../../db/connection/client.ts'
import type { Place } from '../core/requests/list-place.ts'
import type { Answerer } from './answer.ts'
import { pastMoment, wholeNumber } from './arguments.ts'

interface ListOptions {
  target?: string
  by?: string
  since?: Date
  limit: number
}

const defaultLimit = 100
const pageSize = 500

export function auditCommands(program: Command, answer: Answerer): void {
  program
    .command('audit')
    .command('list')
    .description('who changed what, newest first')
    .option('--target <id>', 'only changes of this account, channel, endpoint, send, key or suppression')
    .option('--by <name>', 'only changes by this person, or by the key with this prefix')
    .option(
      '--since <time>',
      'only changes at or after this time: 2026-11-21T14:00:00Z, or 1h for an hour ago',
      pastMoment,
    )
    .option('--limit <n>', `how many at most; default: ${defaultLimit}`, wholeNumber, defaultLimit)
    .action(({ target, by, since, limit }: ListOptions, command: Command) =>
      answer(command, async ({ db }) => ({
        entries: await withNames(db, await newest(db, { target, by, from: since }, limit)),
      })),
    )
}

async function newest(db: Database, filters: AuditFilters, limit: number): Promise<RecordedChange[]> {
  const entries: RecordedChange[] = []
  let after: Place | undefined
  do {
    const { items, next } = await pageOfAudit(db, {
      ...filters,
      limit: Math.min(pageSize, limit - entries.length),
      after,
    })
    entries.push(...items)
    after = next
  } while (after && entries.length < limit)
  return entries
}

/** An entry and the name of its target, which is null if it has none or is gone. */
async function withNames(db: Database, entries: readonly RecordedChange[]) {
  const names = await targetNames(
    db,
    entries.flatMap(({ target }) => target ?? []),
  )
  return entries.map(({ id: _, details, target, ...entry }) => ({
    ...entry,
    target,
    targetName: names.get(target ?? '') ?? null,
    details,
  }))
}
