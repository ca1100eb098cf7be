import { eq, sql } from 'drizzle-orm'
import type { MediaDescription } from '../../src/core/messages/message.ts'
import type { Database } from '../connection/client.ts'
import { media, sends } from '../schema.ts'

/** Media is read in pieces: the process would hold several copies of 16 MiB at once. */
const pieceBytes = 256 * 1024

const pieceFrom = (start: number) =>
  sql<Buffer>`substring(${media.content} from ${start + 1} for ${pieceBytes})`

/** The media of a send, for a provider that fetches it by a link; undefined if it has none. */
export async function findMedia(
  db: Database,
  requestId: string,
  withContent: boolean,
): Promise<{ firstPiece: Buffer; sizeBytes: number; description: MediaDescription } | undefined> {
  const [row] = await db
    .select({
      firstPiece: withContent ? pieceFrom(0) : sql<Buffer>`''::bytea`,
      sizeBytes: sql<number>`octet_length(${media.content})`,
      message: sends.message,
    })
    .from(media)
    .innerJoin(sends, eq(sends.requestId, media.requestId))
    .where(eq(media.requestId, requestId))
  if (row?.message.type !== 'media') return undefined
  return { firstPiece: row.firstPiece, sizeBytes: row.sizeBytes, description: row.message.media }
}

/** Reads the piece of a send's media that begins at `start`; undefined if the media was removed. PostgreSQL reads that piece alone. */
export async function readPiece(db: Database, requestId: string, start: number): Promise<Buffer | undefined> {
  const [row] = await db
    .select({ piece: pieceFrom(start) })
    .from(media)
    .where(eq(media.requestId, requestId))
  return row?.piece
}
