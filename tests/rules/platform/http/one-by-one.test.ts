import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { maxPipelined, oneByOne } from '../../../../src/platform/http/one-by-one.ts'
import { eventually } from '../../../support/wait.ts'

/** More than the operating system takes for a client that doesn't read. */
const large = Buffer.alloc(32 * 1024 * 1024)
const get = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'

async function serve(answer: RequestListener): Promise<Server> {
  const server = createServer(oneByOne(answer))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return server
}

async function open(server: Server): Promise<Socket> {
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  socket.pause()
  socket.on('error', () => {})
  await once(socket, 'connect')
  onTestFinished(() => void socket.destroy())
  return socket
}

test('a pipelined request begins when the client has read the answer before it', async () => {
  let begun = 0
  const server = await serve((_request, response) => {
    begun++
    response.end(large)
  })
  const socket = await open(server)
  socket.write(get.repeat(3))
  await eventually('the first request', async () => begun > 0)
  // Others are served meanwhile.
  for (let other = 0; other < 3; other++) {
    const reader = await open(server)
    reader.write(get)
    await once(reader.resume(), 'data')
    reader.destroy()
  }
  expect(begun).toBe(4)
  let received = 0
  socket.on('data', ({ length }) => {
    received += length
  })
  socket.resume()
  await eventually('all answers', async () => received >= 3 * large.length)
  expect(begun).toBe(6)
})

test('as many pipelined requests as are allowed are answered, and more end the connection after them', async () => {
  let begun = 0
  const server = await serve((_request, response) => {
    begun++
    response.end('x')
  })
  const patient = await open(server)
  patient.write(get.repeat(maxPipelined))
  await eventually('the answers', async () => begun === maxPipelined)
  // A connection of its own: an answer that is still on its way counts as one of those allowed.
  const flood = await open(server)
  flood.write(get.repeat(5 * maxPipelined))
  await once(flood.resume(), 'close')
  expect(begun).toBe(2 * maxPipelined)
})

test('a request with a body waits for the one before it, and is read whole', async () => {
  const bodies: number[] = []
  const server = await serve((request, response) => {
    let bytes = 0
    request.on('data', ({ length }) => {
      bytes += length
    })
    request.on('end', () => {
      bodies.push(bytes)
      setImmediate(() => response.end('x'))
    })
  })
  const socket = await open(server)
  socket.resume()
  const body = 'x'.repeat(300_000)
  socket.write(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n${body}`.repeat(3) + get)
  await eventually('all bodies', async () => bodies.length === 4)
  expect(bodies).toEqual([body.length, body.length, body.length, 0])
})

test('requests with bodies that come in one packet are answered in several turns, and others meanwhile', async () => {
  let turn = 0
  const answeredIn = new Map<number, number>()
  const server = await serve((request, response) => {
    setImmediate(() => turn++)
    request.resume()
    response.end('x')
    answeredIn.set(turn, (answeredIn.get(turn) ?? 0) + 1)
  })
  const socket = await open(server)
  socket.resume()
  socket.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}'.repeat(50))
  const answered = () => [...answeredIn.values()].reduce((sum, count) => sum + count, 0)
  await eventually('all answers', async () => answered() === 50)
  expect(Math.max(...answeredIn.values())).toBeLessThan(20)
})
