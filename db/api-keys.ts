import { and, asc, eq, isNull } from 'drizzle-orm'
import { v7 as uuidv7 } from 'uuid'
import type { Permission } from '../src/core/api-key.ts'
import type { RateLimit } from './accounts.ts'
import type { Database } from './client.ts'
import { apiKeys } from './schema.ts'
import { prepared } from './statement.ts'

/** Who calls, as told by a key. */
export interface Caller {
  keyId: string
  accountId: string
  permissions: readonly Permission[]
  expiresAt: Date | null
  /** The account's own, where it has one. */
  rateLimit: RateLimit | undefined
}

type CallerRow = Omit<Caller, 'rateLimit'> & { hash: string; points: number | null; seconds: number | null }

const findStatement = prepared<CallerRow>(
  'find_callers',
  `select encode(k.hash, 'hex') as hash, k.id as "keyId", k.account_id as "accountId", k.permissions,
          k.expires_at as "expiresAt", a.rate_limit_points as points, a.rate_limit_seconds as seconds
   from api_keys k join accounts a on a.id = k.account_id
   where k.hash = any(array(select decode(hex, 'hex') from json_array_elements_text($1) as hex))
     and k.revoked_at is null`,
)

/**
 * The callers whose keys have these hashes, in hex. Revoked keys have none; whether one has expired is for the caller's
 * clock.
 */
export async function findCallers(db: Database, hashes: readonly string[]): Promise<Map<string, Caller>> {
  const rows = await findStatement(db, [JSON.stringify(hashes)])
  return new Map(
    rows.map(({ hash, points, seconds, ...caller }) => [
      hash,
      { ...caller, rateLimit: points === null || seconds === null ? undefined : { points, seconds } },
    ]),
  )
}

export async function createApiKey(
  db: Database,
  key: {
    accountId: string
    hash: Buffer
    displayPrefix: string
    permissions: Permission[]
    expiresAt: Date | undefined
  },
): Promise<string> {
  const id = uuidv7()
  await db.insert(apiKeys).values({ id, ...key })
  return id
}

export function listApiKeys(db: Database, accountId: string) {
  return db
    .select({
      keyId: apiKeys.id,
      displayPrefix: apiKeys.displayPrefix,
      permissions: apiKeys.permissions,
      createdAt: apiKeys.createdAt,
      expiresAt: apiKeys.expiresAt,
      revokedAt: apiKeys.revokedAt,
    })
    .from(apiKeys)
    .where(eq(apiKeys.accountId, accountId))
    .orderBy(asc(apiKeys.createdAt))
}

/** @returns whether there is such a key; revoking one again keeps the first moment. */
export async function revokeApiKey(db: Database, id: string): Promise<boolean> {
  await db
    .update(apiKeys)
    .set({ revokedAt: new Date() })
    .where(and(eq(apiKeys.id, id), isNull(apiKeys.revokedAt)))
  return (await db.select({ id: apiKeys.id }).from(apiKeys).where(eq(apiKeys.id, id))).length === 1
}
