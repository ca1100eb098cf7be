import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { trackExchanges } from '../../../../src/platform/http/exchanges.ts'
import {
  closeUnread,
  maxUnreadBytes,
  type ReadingPace,
} from '../../../../src/platform/http/unread-answers.ts'
import { eventually } from '../../../support/wait.ts'

const mebibyte = 1024 * 1024
/** More than the operating system takes for a client that doesn't read. */
const large = Buffer.alloc(16 * mebibyte)
const patient: ReadingPace = { graceMs: 600_000, bytesPerSecond: 32 * 1024 }
const strict: ReadingPace = { graceMs: 300, bytesPerSecond: 32 * mebibyte }

async function serve(pace: ReadingPace, body = large): Promise<Server> {
  const server = createServer((_request, response) => response.end(body))
  trackExchanges(server)
  closeUnread(server, pace)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return server
}

/** A client that has asked, and reads nothing yet. */
async function ask(server: Server): Promise<{ socket: Socket; serving: Socket }> {
  const accepted = once(server, 'connection')
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  socket.pause()
  socket.on('error', () => {})
  onTestFinished(() => void socket.destroy())
  const [serving] = (await accepted) as [Socket]
  socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  return { socket, serving }
}

test('a client that reads nothing is disconnected after its time', async () => {
  const { serving } = await ask(await serve(strict))
  await eventually('an unread answer', async () => serving.writableLength > 0)
  const { writableLength } = serving
  const since = performance.now()
  await eventually('the end of the connection', async () => serving.destroyed)
  // Looked at from time to time, the connection may have waited before.
  const dueMs = strict.graceMs + (writableLength / strict.bytesPerSecond) * 1000
  expect(performance.now() - since).toBeGreaterThan(dueMs - 100)
})

test('a client that reads slowly, but faster than the limit, gets all of its answer', async () => {
  const { socket, serving } = await ask(await serve({ graceMs: 0, bytesPerSecond: mebibyte }))
  let received = 0
  while (received < large.length) {
    expect(serving.destroyed).toBe(false)
    received += socket.read()?.length ?? 0
    await sleep(1)
  }
  expect(received).toBeGreaterThanOrEqual(large.length)
})

test('while too much is unread, those that have waited longest are disconnected, and the others stay', async () => {
  const server = await serve(patient, Buffer.alloc(maxUnreadBytes / 2 + 4 * mebibyte))
  const first = await ask(server)
  await eventually('an unread answer', async () => first.serving.writableLength > 0)
  await sleep(600)
  const second = await ask(server)
  const third = await ask(server)
  await eventually('the end of the first', async () => first.serving.destroyed)
  await eventually('no more than the bound', async () => {
    const unread = [second, third].filter(({ serving }) => !serving.destroyed)
    return unread.reduce((sum, { serving }) => sum + serving.writableLength, 0) <= maxUnreadBytes
  })
  expect([second, third].some(({ serving }) => !serving.destroyed)).toBe(true)
})
