import { createServer, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { parseNetwork } from '../../../src/core/requests/public-address.ts'
import { createHttpClient } from '../../../workers/http/http.ts'
import { createMediaFetcher } from '../../../workers/http/media-fetcher.ts'
import { cert, key } from '../../support/certificate.ts'

const allowedPrivateNetworks = [parseNetwork('127.0.0.0/8')]
const http = createHttpClient({ allowedPrivateNetworks })
const media = createMediaFetcher({ allowedPrivateNetworks })
const memory = { reserve: async () => () => {} }

/** The server's answer to each request, in the order of the requests; each piece in a packet of its own. */
let answers: string[][] = []
const sockets: Socket[] = []

function serve(socket: Socket): void {
  sockets.push(socket)
  socket.setNoDelay(true)
  socket.on('error', () => {})
  socket.on('data', async (chunk) => {
    if (!/^(POST|GET) /.test(chunk.toString())) return
    for (const piece of answers.shift() ?? []) {
      socket.write(piece, 'latin1')
      await new Promise((resolve) => setTimeout(resolve, 2))
    }
  })
}
const server = createServer(serve)
const tlsServer = createTlsServer({ cert, key }, serve)
const portOf = (of: typeof server) => (of.address() as { port: number }).port

beforeAll(async () => {
  for (const one of [server, tlsServer])
    await new Promise<void>((resolve) => one.listen(0, '127.0.0.1', resolve))
})
afterAll(async () => {
  for (const socket of sockets) socket.destroy()
  server.close()
  tlsServer.close()
  await Promise.all([http.close(), media.close()])
})

const request = { headers: {}, body: Buffer.from('{}') }
function post(...pieces: string[]) {
  answers.push(pieces)
  const url = `http://127.0.0.1:${portOf(server)}/`
  return http.post({ ...request, url }, AbortSignal.timeout(5000))
}

const goOn = 'HTTP/1.1 100 Continue\r\n\r\n'
const hints = 'HTTP/1.1 103 Early Hints\r\nlink: </a>; rel=preload\r\nx-b:\r\n\r\n'
const processing = 'HTTP/1.1 102 Processing\r\n\r\n'
const ok = 'HTTP/1.1 200 OK\r\ncontent-length: 12\r\n\r\n{"id":"m-1"}'
const bytewise = (text: string) => [...text]

const before: [string, string[]][] = [
  ['100', [goOn, ok]],
  ['100 in the same packet', [goOn + ok]],
  ['100 without a reason phrase', ['HTTP/1.1 100\r\n\r\n', ok]],
  ['100 of HTTP/1.0', ['HTTP/1.0 100 Continue\r\n\r\n', ok]],
  ['100 with headers', ['HTTP/1.1 100 Continue\r\ncontent-length: 0\r\nconnection: keep-alive\r\n\r\n', ok]],
  ['102', [processing, ok]],
  ['103', [hints, ok]],
  ['199', ['HTTP/1.1 199 Whatever\r\n\r\n', ok]],
  ['several', [goOn + processing, hints + goOn, processing + ok]],
  ['forty', [`${goOn.repeat(20)}${hints.repeat(20)}${ok}`]],
  ['several, byte by byte', bytewise(goOn + hints + processing + ok)],
  ['100 split within its end', [goOn.slice(0, -1), goOn.slice(-1) + ok.slice(0, 5), ok.slice(5)]],
  ['long hints', [`HTTP/1.1 103 Early Hints\r\nlink: ${'x'.repeat(12_000)}\r\n\r\n`.repeat(3), ok]],
]

test.each(before)('an answer after interim ones counts by its own status: %s', async (_, pieces) => {
  expect(await post(...pieces)).toMatchObject({
    kind: 'answer',
    status: 200,
    body: '{"id":"m-1"}',
    isWhole: true,
  })
})

test.each(before)('media after interim answers are fetched: %s', async (_, pieces) => {
  answers.push(pieces)
  const url = `http://127.0.0.1:${portOf(server)}/`
  const fetched = await media.fetch({ url, memory }, AbortSignal.timeout(5000))
  expect(fetched).toMatchObject({ kind: 'media', content: Buffer.from('{"id":"m-1"}') })
})

test('the connection is kept, and each of its answers may have interim ones', async () => {
  await post(ok)
  const opened = sockets.length
  for (const first of [goOn, '', hints, goOn + hints])
    expect(await post(first + ok)).toMatchObject({ status: 200, body: '{"id":"m-1"}' })
  expect(sockets.length).toBe(opened)
})

test('a body that reads like an interim answer is left as it is', async () => {
  const head = `HTTP/1.1 200 OK\r\ncontent-length: ${2 * goOn.length}\r\n\r\n`
  expect(await post(goOn, head, goOn, goOn)).toMatchObject({ status: 200, body: goOn + goOn })
})

test('interim answers are passed over through TLS, too', async () => {
  vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0')
  answers.push([goOn + hints, ok])
  const url = `https://127.0.0.1:${portOf(tlsServer)}/`
  const result = await http.post({ ...request, url }, AbortSignal.timeout(5000))
  vi.unstubAllEnvs()
  expect(result).toMatchObject({ status: 200, body: '{"id":"m-1"}' })
})

test('only interim answers are no answer: the call ends in time, or when the connection does', async () => {
  answers.push([goOn, hints])
  const url = `http://127.0.0.1:${portOf(server)}/`
  expect(await http.post({ ...request, url }, AbortSignal.timeout(200))).toEqual({
    kind: 'maybe_sent',
    reason: 'no whole answer in time',
  })
  const closing = post(goOn, 'HTTP/1.1 1')
  setTimeout(() => sockets.at(-1)?.destroy(), 100)
  expect(await closing).toMatchObject({ kind: 'maybe_sent' })
})

test.each([
  ['', ['HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n']],
  [' without headers', ['HTTP/1.1 101 Switching Protocols\r\n\r\n', ok]],
  [' after a 100', [goOn, `HTTP/1.1 101 Switching Protocols\r\n\r\n${ok}`]],
])('a 101 is no answer that was asked for, and the rest of it is not read%s', async (_, pieces) => {
  expect(await post(...pieces)).toEqual({
    kind: 'maybe_sent',
    reason: 'the answer switches to another protocol (101)',
  })
  answers = []
})

test.each([
  [
    'an answer between interim ones and bytes that are none',
    [goOn, 'SSH-2.0-OpenSSH_9.6\r\n'],
    'the answer is not HTTP',
  ],
  ['a status of four digits', ['HTTP/1.1 1000 Continue\r\n\r\n', ok], 'the answer is not HTTP'],
  [
    'a head without an end',
    [`HTTP/1.1 103 Early Hints\r\na: ${'x'.repeat(40_000)}`],
    'the headers of the answer are too long',
  ],
])('what is no interim answer is none: %s', async (_, pieces, reason) => {
  expect(await post(...pieces)).toEqual({ kind: 'maybe_sent', reason })
  answers = []
})
