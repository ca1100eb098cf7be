import { getTableName, isTable } from 'drizzle-orm'
import * as schema from '../../db/schema.ts'
import type { Answer } from './answer.ts'
import { type Account, type Api, request } from './builders.ts'
import type { TestService } from './service.ts'
import { timed } from './standstill.ts'
import { eventually } from './wait.ts'

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

/** The answer of a dry run of a good request; again where it waited too long, as it may on a slow machine. */
export const answeredDryRun = (...given: Parameters<typeof dryRun>): Promise<Answer> =>
  eventually('the answer of a dry run', async () => {
    const { tookMs, ...answer } = await timed(() => dryRun(...given))
    const isLate = answer.status === 503 && tookMs > shortestWaitMs
    if (answer.status !== 200 && !isLate) throw new Error(`No dry run: ${JSON.stringify(answer)}`)
    return answer.status === 200 && answer
  })

/** So soon nothing is a 503 for having waited too long. */
const shortestWaitMs = 500

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
