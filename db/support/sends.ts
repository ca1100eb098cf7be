import { and, asc, eq, sql } from 'drizzle-orm'
import type { MediaDescription } from '../../src/core/message.ts'
import type { SendRecord, StoredEvent } from '../../src/core/timeline.ts'
import type { Database } from '../client.ts'
import { media, sendEvents, sends } from '../schema.ts'

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

/** The media of a send, for a provider that fetches it by a link; undefined if it has none. Without its bytes unless requested. */
export async function findMedia(
  db: Database,
  requestId: string,
  withContent: boolean,
): Promise<{ content: Buffer; sizeBytes: number; description: MediaDescription } | undefined> {
  const [row] = await db
    .select({
      content: withContent ? media.content : sql<Buffer>`''::bytea`,
      sizeBytes: sql<number>`octet_length(${media.content})`,
      message: sends.message,
    })
    .from(media)
    .innerJoin(sends, eq(sends.requestId, media.requestId))
    .where(eq(media.requestId, requestId))
  if (row?.message.type !== 'media') return undefined
  return { content: row.content, sizeBytes: row.sizeBytes, description: row.message.media }
}

export async function findMediaContent(db: Database, requestId: string): Promise<Buffer | undefined> {
  const [row] = await db.select({ content: media.content }).from(media).where(eq(media.requestId, requestId))
  return row?.content
}
