import { and, asc, eq } from 'drizzle-orm'
import type { SendRecord, StoredEvent } from '../../src/core/timeline.ts'
import type { Database } from '../client.ts'
import { sendEvents, sends } from '../schema.ts'

/**
 * A send with its stored events, read by one statement, so that they are of the same moment. The same statement serves an absent
 * send and one of another account, so that they can't be distinguished by timing.
 */
export async function findSend(
  db: Database,
  requestId: string,
  accountId?: string,
): Promise<{ send: SendRecord; events: StoredEvent[] } | undefined> {
  const mine = accountId === undefined ? undefined : eq(sends.accountId, accountId)
  const rows = await db
    .select({ send: sends, event: sendEvents })
    .from(sends)
    .leftJoin(sendEvents, eq(sendEvents.requestId, sends.requestId))
    .where(and(eq(sends.requestId, requestId), mine))
    .orderBy(asc(sendEvents.id))
  const send = rows[0]?.send
  return send && { send, events: rows.flatMap(({ event }) => event ?? []) }
}
