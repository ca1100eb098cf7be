import { and, asc, eq } from 'drizzle-orm'
import { v7 as uuidv7 } from 'uuid'
import type { Database, Transaction } from '../connection/client.ts'
import { flows } from '../schema.ts'

/** Takes the same statement for an absent flow and one of another account, so that they can't be distinguished by timing. */
export async function isOwnFlow(db: Database, flowId: string, accountId: string): Promise<boolean> {
  const found = await db
    .select({ id: flows.id })
    .from(flows)
    .where(and(eq(flows.id, flowId), eq(flows.accountId, accountId)))
  return found.length === 1
}

export async function createFlow(
  db: Database | Transaction,
  accountId: string,
  name: string,
): Promise<string> {
  const id = uuidv7()
  await db.insert(flows).values({ id, accountId, name })
  return id
}

export function listFlows(db: Database, accountId: string) {
  return db
    .select({ flowId: flows.id, name: flows.name, createdAt: flows.createdAt })
    .from(flows)
    .where(eq(flows.accountId, accountId))
    .orderBy(asc(flows.createdAt))
}

/** @returns what it was; undefined if there is no such flow. */
export async function deleteFlow(db: Database | Transaction, flowId: string) {
  const [deleted] = await db
    .delete(flows)
    .where(eq(flows.id, flowId))
    .returning({ accountId: flows.accountId, name: flows.name })
  return deleted
}
