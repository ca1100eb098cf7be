import { getTableName, isTable } from 'drizzle-orm'
import * as schema from '../../db/schema.ts'
import type { Answer } from './answer.ts'
import { type Account, type Api, request } from './builders.ts'
import type { TestService } from './service.ts'

/** Posts a dry run to the channel in the path, or of a batch. */
export const dryRun = (
  service: Api,
  { apiKey, channelId }: Pick<Account, 'apiKey' | 'channelId'>,
  body: unknown,
  headers: Record<string, string> = {},
  path = `/v1/channels/${channelId}/messages`,
): Promise<Answer> =>
  request(service, `${path}?dryRun=true`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${apiKey}`, 'Content-Type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })

const tables = Object.values(schema)
  .filter((one) => isTable(one))
  .map(getTableName)
  // What was refused is listed, in batches, for a day.
  .filter((name) => name !== getTableName(schema.refusedRequests))

/** What a service keeps: the rows of each table, but when keys were used last, and all keys of Redis but those of rate limits. */
export async function kept({ runtime: { db, redis } }: TestService): Promise<unknown> {
  const rows = await Promise.all(
    tables.map(async (table) => {
      const { rows } = await db.$client.query(
        `select count(*)::int as count, md5(coalesce(string_agg(row, ',' order by row), '')) as content
         from (select (to_jsonb(t) - 'last_used_at')::text as row from ${table} t) t`,
      )
      return [table, rows[0]]
    }),
  )
  const keys = (await redis.keys('*')).filter((key) => !key.includes('rate')).sort()
  return { rows: Object.fromEntries(rows), keys }
}
