import { asc, eq } from 'drizzle-orm'
import { v7 as uuidv7 } from 'uuid'
import { nameKey } from '../../src/core/accounts/person.ts'
import { ceilingsOf } from '../ceilings/ceilings.ts'
import type { Database, Transaction } from '../connection/client.ts'
import { accounts } from '../schema.ts'

export interface RateLimit {
  points: number
  seconds: number
}

export async function createAccount(
  db: Database | Transaction,
  name: string,
  limit?: RateLimit,
): Promise<string> {
  const id = uuidv7()
  await db.insert(accounts).values({ id, name, ...limitColumns(limit) })
  return id
}

/** The ids of the accounts that have a name, in whatever case. */
export async function accountsNamed(db: Database | Transaction, name: string): Promise<string[]> {
  const all = await listAccounts(db)
  // Not in PostgreSQL, whose `lower` depends on the database's locale. Nobody sees zero-width characters.
  const keyOf = (text: string) => nameKey(text.replace(/\p{Cf}/gu, '').trim())
  const same = all.filter((account) => keyOf(account.name) === keyOf(name))
  return same.map(({ accountId }) => accountId)
}

export async function updateRateLimit(
  db: Database | Transaction,
  id: string,
  limit: RateLimit | null,
): Promise<void> {
  const columns = limit ? limitColumns(limit) : { rateLimitPoints: null, rateLimitSeconds: null }
  await db.update(accounts).set(columns).where(eq(accounts.id, id))
}

/** All accounts, oldest first. */
export function listAccounts(db: Database | Transaction) {
  return db
    .select({
      accountId: accounts.id,
      name: accounts.name,
      rateLimitPoints: accounts.rateLimitPoints,
      rateLimitSeconds: accounts.rateLimitSeconds,
      ceilings: ceilingsOf(accounts.id),
      createdAt: accounts.createdAt,
    })
    .from(accounts)
    .orderBy(asc(accounts.createdAt), asc(accounts.id))
}

/** Its name, and its own rate limit and ceilings, if it has any. */
export async function findAccount(db: Database | Transaction, id: string) {
  const [found] = await db
    .select({
      accountId: accounts.id,
      name: accounts.name,
      createdAt: accounts.createdAt,
      points: accounts.rateLimitPoints,
      seconds: accounts.rateLimitSeconds,
      ceilings: ceilingsOf(accounts.id),
    })
    .from(accounts)
    .where(eq(accounts.id, id))
  if (!found) return undefined
  const { points, seconds, ...account } = found
  return { ...account, rateLimit: points === null || seconds === null ? undefined : { points, seconds } }
}

export async function accountExists(db: Database, id: string): Promise<boolean> {
  const found = await db.select({ id: accounts.id }).from(accounts).where(eq(accounts.id, id))
  return found.length === 1
}

function limitColumns(limit?: RateLimit) {
  return limit ? { rateLimitPoints: limit.points, rateLimitSeconds: limit.seconds } : {}
}
