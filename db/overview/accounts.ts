import { asc, eq, or, sql } from 'drizzle-orm'
import type { Database } from '../client.ts'
import { accounts } from '../schema.ts'

/** An account by its id or its name; of several with this name, the oldest. */
export async function findAccount(
  db: Database,
  idOrName: string,
): Promise<{ accountId: string; name: string } | undefined> {
  const [account] = await db
    .select({ accountId: accounts.id, name: accounts.name })
    .from(accounts)
    .where(or(eq(sql`${accounts.id}::text`, idOrName), eq(accounts.name, idOrName)))
    .orderBy(asc(accounts.createdAt))
    .limit(1)
  return account
}
