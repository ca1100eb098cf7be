import { pipeline } from 'node:stream/promises'
import type pg from 'pg'
import { from as copyFrom } from 'pg-copy-streams'

const chunkBytes = 256 * 1024

/**
 * Stores the content of media in pieces. As a parameter, it would be copied twice, which blocks the event loop. Call it within
 * the transaction that records the send.
 *
 * @returns whether it was stored before `recordBy`, by PostgreSQL's clock; otherwise it isn't stored.
 */
export async function copyMedia(
  client: pg.ClientBase,
  { requestId, recordBy }: { requestId: string; recordBy: Date },
  content: Buffer,
): Promise<boolean> {
  const stream = client.query(
    copyFrom(`copy media (request_id, content) from stdin (format binary)
              where clock_timestamp() < '${recordBy.toISOString()}'`),
  )
  await pipeline(rowInBinary(requestId, content), stream)
  return stream.rowCount === 1
}

/** The binary format of https://www.postgresql.org/docs/current/sql-copy.html#SQL-COPY-BINARY-FORMAT: each field after its length. */
function* rowInBinary(requestId: string, content: Buffer) {
  const signature = Buffer.from('PGCOPY\n\xff\r\n\0', 'latin1')
  const flagsAndExtension = Buffer.alloc(8)
  const id = Buffer.from(requestId.replaceAll('-', ''), 'hex')
  yield Buffer.concat([signature, flagsAndExtension, int16(2), int32(id.length), id, int32(content.length)])
  for (let from = 0; from < content.length; from += chunkBytes)
    yield content.subarray(from, from + chunkBytes)
  yield int16(-1)
}

function int16(value: number): Buffer {
  const bytes = Buffer.alloc(2)
  bytes.writeInt16BE(value)
  return bytes
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32BE(value)
  return bytes
}
