import { and, asc, eq, isNull } from 'drizzle-orm'
import { v7 as uuidv7 } from 'uuid'
import type { Permission } from '../src/core/api-key.ts'
import type { RateLimit } from './accounts.ts'
import type { Database } from './client.ts'
import { accounts, apiKeys } from './schema.ts'

/** Who calls, as told by a key. */
export interface Caller {
  keyId: string
  accountId: string
  permissions: readonly Permission[]
  expiresAt: Date | null
  /** The account's own, where it has one. */
  rateLimit: RateLimit | undefined
}

/** The caller whose key has this hash, unless the key is revoked; whether it has expired is for the caller's clock. */
export async function findCaller(db: Database, hash: Buffer): Promise<Caller | undefined> {
  const [row] = await db
    .select({
      keyId: apiKeys.id,
      accountId: apiKeys.accountId,
      permissions: apiKeys.permissions,
      expiresAt: apiKeys.expiresAt,
      points: accounts.rateLimitPoints,
      seconds: accounts.rateLimitSeconds,
    })
    .from(apiKeys)
    .innerJoin(accounts, eq(accounts.id, apiKeys.accountId))
    .where(and(eq(apiKeys.hash, hash), isNull(apiKeys.revokedAt)))
  if (!row) return undefined
  const { points, seconds, ...caller } = row
  return { ...caller, rateLimit: points === null || seconds === null ? undefined : { points, seconds } }
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
