import { createSocket } from 'node:dgram'
import { once } from 'node:events'

/** A DNS server that answers every question with the addresses that its name has at the moment, as Docker's does. */
export interface NameServer {
  address: string
  addresses: string[]
  stop(): void
}

const headerBytes = 12
/** The largest answer for a client that names no size: RFC 1035. */
const plainBytes = 512

export async function startNameServer(): Promise<NameServer> {
  const socket = createSocket('udp4')
  const server: NameServer = { address: '', addresses: [], stop: () => socket.close() }
  socket.on('message', (query, { address, port }) =>
    socket.send(answerTo(query, server.addresses), port, address),
  )
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  server.address = `127.0.0.1:${socket.address().port}`
  return server
}

/** Answers for the question's name, by a pointer to it; for 1 s. If the client can't take as much, the answer is truncated to nothing. */
function answerTo(query: Buffer, addresses: readonly string[]): Buffer {
  const endOfName = query.indexOf(0, headerBytes)
  const question = query.subarray(headerBytes, endOfName + 5)
  const isForAddress = question.readUInt16BE(question.length - 4) === 1
  const all = (isForAddress ? addresses : []).map((address) =>
    Buffer.from([0xc0, headerBytes, 0, 1, 0, 1, 0, 0, 0, 1, 0, 4, ...address.split('.').map(Number)]),
  )
  const bytes = headerBytes + question.length + Buffer.concat(all).length
  const isTruncated = bytes > acceptedBytes(query, headerBytes + question.length)
  const answers = isTruncated ? [] : all
  const counts = [1, answers.length, 0, 0].flatMap((count) => [count >> 8, count & 0xff])
  // A response, recursion available, no error.
  const header = Buffer.from([query[0] ?? 0, query[1] ?? 0, isTruncated ? 0x87 : 0x85, 0x80, ...counts])
  return Buffer.concat([header, question, ...answers])
}

/** By the OPT record of EDNS (RFC 6891) behind the question: an empty name, the type 41, then the size. */
function acceptedBytes(query: Buffer, offset: number): number {
  const hasOption = query.length >= offset + 5 && query.readUInt16BE(offset + 1) === 41
  return hasOption ? query.readUInt16BE(offset + 3) : plainBytes
}
