import { asc, eq, or, sql } from 'drizzle-orm'
import type { Database } from '../connection/client.ts'
import { accounts } from '../schema.ts'

/** The account with an id, or those with a name, at most two. */
export function findAccounts(db: Database, idOrName: string): Promise<{ accountId: string; name: string }[]> {
  return db
    .select({ accountId: accounts.id, name: accounts.name })
    .from(accounts)
    .where(or(eq(sql`${accounts.id}::text`, idOrName), eq(accounts.name, idOrName)))
    .orderBy(asc(accounts.createdAt))
    .limit(2)
}
