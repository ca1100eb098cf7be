import type pg from 'pg'
import { to as copyTo } from 'pg-copy-streams'
import type { Database } from '../connection/client.ts'
import { prepared } from '../statement.ts'

/** Beyond it, the round trips of a COPY cost less than what a parameter's text takes of the memory. */
const largeBytes = 512 * 1024

const contentStatement = prepared<{ content: Buffer }>(
  'media_content',
  'Reads the content of media.',
  'select content from media where request_id = $1',
)

/**
 * The content of a send's media; undefined if it was removed. Large content comes by COPY, into memory of its size: as a
 * value of a row it would be in memory four times, and hold up everybody while it is converted.
 */
export async function readMedia(
  db: Database,
  { requestId, sizeBytes }: { requestId: string; sizeBytes: number },
): Promise<Buffer | undefined> {
  if (sizeBytes < largeBytes) return (await contentStatement(db, [requestId]))[0]?.content
  const client = await db.$client.connect()
  try {
    const content = await copyContent(client, requestId)
    client.release()
    return content
  } catch (error) {
    // The rest of the content may still be coming.
    client.release(error as Error)
    throw error
  }
}

/** Parts of https://www.postgresql.org/docs/current/sql-copy.html#SQL-COPY-BINARY-FORMAT: the header, and a row's number of fields. */
const headBytes = 19 + 2
const lengthBytes = 4

async function copyContent(client: pg.PoolClient, requestId: string): Promise<Buffer | undefined> {
  const literal = client.escapeLiteral(requestId)
  const stream = client.query(
    copyTo(`copy (select content from media where request_id = ${literal}) to stdout with (format binary)`),
  )
  let head = Buffer.alloc(0)
  let content: Buffer | undefined
  let filled = 0
  for await (const piece of stream as AsyncIterable<Buffer>) {
    let rest = piece
    if (!content) {
      head = Buffer.concat([head, piece])
      if (head.length < headBytes + lengthBytes) continue
      content = Buffer.allocUnsafeSlow(head.readInt32BE(headBytes))
      rest = head.subarray(headBytes + lengthBytes)
    }
    filled += rest.copy(content, filled)
  }
  // pg stops its time-out of the query here, which this kind of stream doesn't do.
  ;(stream as unknown as pg.Query & { callback?: () => void }).callback?.()
  return content
}
