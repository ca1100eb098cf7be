import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type pg from 'pg'
import { from as copyFrom } from 'pg-copy-streams'

const chunkBytes = 256 * 1024

/**
 * Stores media's content in pieces: as a parameter it would be copied twice, and hold up everybody for as long. It belongs
 * in the transaction that records its send.
 */
export async function copyMedia(client: pg.ClientBase, requestId: string, content: Buffer): Promise<void> {
  const stream = client.query(copyFrom('copy media (request_id, content) from stdin (format binary)'))
  await pipeline(Readable.from(rowInBinary(requestId, content)), stream)
}

/** As https://www.postgresql.org/docs/current/sql-copy.html#SQL-COPY-BINARY-FORMAT has it: each field behind its length. */
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
