import { and, asc, eq, isNull, sql } from 'drizzle-orm'
import { v7 as uuidv7 } from 'uuid'
import type { Permission } from '../../src/core/accounts/api-key.ts'
import type { Database, Transaction } from '../connection/client.ts'
import { apiKeys } from '../schema.ts'
import { prepared, sqlText } from '../statement.ts'
import type { RateLimit } from './accounts.ts'

/** The caller that a key identifies. */
export interface Caller {
  keyId: string
  /** How the key is shown. */
  keyPrefix: string
  accountId: string
  permissions: readonly Permission[]
  /** Time from the look-up to the key's expiry, by PostgreSQL's clock; null if it doesn't expire. */
  expiresInMs: number | null
  /** The account's own rate limit, if it has one. */
  rateLimit: RateLimit | undefined
  /** Whether the key's last use, as it is recorded, is too old. */
  isUseDue: boolean
}

/** How far behind a key's recorded last use may be: each write costs a row version. */
const isUseDue = `(k.last_used_at > clock_timestamp() - interval '1 hour') is not true`

type CallerRow = Omit<Caller, 'rateLimit'> & { hash: string; points: number | null; seconds: number | null }

const findStatement = prepared<CallerRow>(
  'find_callers',
  'Finds the accounts and permissions of API keys by their hashes.',
  sqlText`
    select encode(k.hash, 'hex') as hash, k.id as "keyId", k.display_prefix as "keyPrefix",
           k.account_id as "accountId", k.permissions,
           extract(epoch from k.expires_at - clock_timestamp())::float8 * 1000 as "expiresInMs",
           a.rate_limit_points as points, a.rate_limit_seconds as seconds,
           ${isUseDue} as "isUseDue"
    from api_keys k join accounts a on a.id = k.account_id
    where k.hash = any(array(select decode(hex, 'hex') from json_array_elements_text($1) as hex))
      and k.revoked_at is null and coalesce(k.expires_at > clock_timestamp(), true)`,
)

/** The callers by the hashes of their keys, in hex. Revoked and expired keys are missing. */
export async function findCallers(db: Database, hashes: readonly string[]): Promise<Map<string, Caller>> {
  const rows = await findStatement(db, [JSON.stringify(hashes)])
  return new Map(
    rows.map(({ hash, points, seconds, ...caller }) => [
      hash,
      { ...caller, rateLimit: points === null || seconds === null ? undefined : { points, seconds } },
    ]),
  )
}

const ownKeyStatement = prepared<{ accountName: string; expiresAt: Date | null }>(
  'find_own_key',
  'Reads what a client sees of its API key.',
  sqlText`
    select a.name as "accountName", k.expires_at as "expiresAt"
    from api_keys k join accounts a on a.id = k.account_id
    where k.id = $1`,
)

export async function findOwnKey(
  db: Database,
  keyId: string,
): Promise<{ accountName: string; expiresAt: Date | null } | undefined> {
  const [key] = await ownKeyStatement(db, [keyId])
  return key
}

const useStatement = prepared(
  'record_key_uses',
  'Records that keys were used, unless that was recorded in the last hour.',
  sqlText`
    with
    -- Without those that another process writes at the moment: it has the same to write.
    due as materialized (
      select k.id from api_keys k
      where k.id = any($1::uuid[]) and ${isUseDue}
      order by k.id for no key update skip locked)
    update api_keys k set last_used_at = clock_timestamp() from due where k.id = due.id`,
)

export async function recordKeyUses(db: Database, keyIds: readonly string[]): Promise<void> {
  await useStatement(db, [keyIds])
}

export async function createApiKey(
  db: Database | Transaction,
  key: {
    accountId: string
    hash: Buffer
    displayPrefix: string
    permissions: Permission[]
    expiresInSeconds: number | undefined
  },
): Promise<string> {
  const id = uuidv7()
  const { expiresInSeconds, ...rest } = key
  const expiresAt = expiresInSeconds === undefined ? null : sql`now() + ${expiresInSeconds} * interval '1 s'`
  await db.insert(apiKeys).values({ id, ...rest, expiresAt })
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
      lastUsedAt: apiKeys.lastUsedAt,
    })
    .from(apiKeys)
    .where(eq(apiKeys.accountId, accountId))
    .orderBy(asc(apiKeys.createdAt))
}

/** @returns whether there is such a key. Revoking a key again keeps the time of the first revocation. */
export async function revokeApiKey(db: Database | Transaction, id: string): Promise<boolean> {
  await db
    .update(apiKeys)
    .set({ revokedAt: sql`now()` })
    .where(and(eq(apiKeys.id, id), isNull(apiKeys.revokedAt)))
  return (await db.select({ id: apiKeys.id }).from(apiKeys).where(eq(apiKeys.id, id))).length === 1
}
