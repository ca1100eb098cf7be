import { once } from 'node:events'
import { Agent, get, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createApp } from '../../src/api/app.ts'
import { listen, portOf, stopListening } from '../../src/api/http/listen.ts'
import { buildAccount } from '../support/builders.ts'
import { startKeepAliveClient } from '../support/keep-alive-client.ts'
import { serviceOfFile } from '../support/service.ts'
import { expectSooner, timed } from '../support/standstill.ts'
import { eventually } from '../support/wait.ts'

const stops = 10
const clients = 8

const service = await serviceOfFile()

async function startApi() {
  const server = await listen(createApp(service.api), service.api, { host: '127.0.0.1', port: 0 })
  return { server, url: `http://127.0.0.1:${portOf(server)}` }
}

test('busy keep-alive clients get Connection: close with an answer: no connection is reset, in ten stops', async () => {
  const ends: string[] = []
  for (let stop = 0; stop < stops; stop++) {
    const { server, url } = await startApi()
    const busy = Array.from({ length: clients }, (_, index) =>
      startKeepAliveClient(url, index % 2 === 0 ? 0 : index * 10),
    )
    await eventually('all are served', async () => busy.every(({ answers }) => answers > 1))
    await stopListening(server)
    ends.push(...(await Promise.all(busy.map(({ end }) => end))))
  }
  expect(ends).toEqual(Array.from({ length: stops * clients }, () => 'Connection: close'))
})

test('an answer under way when the shutdown begins has Connection: close, too', async () => {
  const { server, url } = await startApi()
  const { port } = new URL(url)
  const socket = connect(Number(port), '127.0.0.1')
  const parts: Buffer[] = []
  socket.on('data', (part) => parts.push(part))
  // Its handler waits for the body.
  const { apiKey } = await buildAccount(service)
  const head = `POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${apiKey}\r\n`
  socket.write(`${head}Content-Type: application/json\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n`)
  await once(socket, 'data')
  const stopped = stopListening(server)
  socket.write('{}')
  await once(socket, 'close')
  await stopped
  expect(Buffer.concat(parts).toString()).toMatch(/HTTP\/1\.1 400 [\s\S]*Connection: close/i)
})

test.each([1, 2, 3])(
  'three pipelined requests are all answered if the shutdown begins at number %i',
  async (number) => {
    const { server, url } = await startApi()
    const socket = connect(Number(new URL(url).port), '127.0.0.1')
    const parts: Buffer[] = []
    socket.on('data', (part) => parts.push(part))
    let requests = 0
    const stopped = new Promise<void>((resolve, reject) => {
      server.on('request', () => {
        requests++
        if (requests === number) stopListening(server).then(resolve, reject)
      })
    })
    socket.write('GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(3))
    await once(socket, 'close')
    await stopped
    const answers = Buffer.concat(parts)
      .toString()
      .split(/(?=HTTP\/1\.1 )/)
    expect(answers.map((answer) => /connection: close/i.test(answer))).toEqual([false, false, true])
  },
)

test('an idle connection is closed at once', async () => {
  const { server, url } = await startApi()
  const agent = new Agent({ keepAlive: true })
  const request = get(`${url}/healthz`, { agent })
  const [answer] = (await once(request, 'response')) as [IncomingMessage]
  answer.resume()
  await once(answer, 'end')
  await sleep(1100)
  const span = await timed(async () => ({ stopped: await stopListening(server) }))
  expectSooner(span, 500)
  agent.destroy()
})
