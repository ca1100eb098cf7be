import { eq, sql } from 'drizzle-orm'
import type { MediaDescription } from '../../src/core/message.ts'
import type { Database } from '../client.ts'
import { media, sends } from '../schema.ts'

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
