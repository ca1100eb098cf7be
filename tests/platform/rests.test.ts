import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { readRestInTurns } from '../../src/platform/http/rests.ts'
import { eventually } from '../support/wait.ts'

const bodyBytes = 8 * 1024 * 1024
const head = (method: string, length: number) =>
  `${method} / HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${length}\r\n\r\n`

let server: Server
let client: Socket
let answers: string

/** It answers each request by its headers alone. */
beforeEach(async () => {
  server = createServer((request, response) => {
    response.once('close', () => readRestInTurns(request))
    response.end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  await once(client, 'connect')
  answers = ''
  client.on('data', (data) => {
    answers += data.toString('latin1')
  })
})

afterEach(async () => {
  client.destroy()
  server.close()
  await once(server, 'close')
})

const answersAre = (count: number) =>
  eventually(`${count} answers`, async () => answers.split('HTTP/1.1 200').length - 1 === count)

test('a body whose request is answered before it is read to its end, and the next request on the connection is answered', async () => {
  client.write(head('POST', bodyBytes))
  await answersAre(1)
  client.write(Buffer.alloc(bodyBytes))
  client.write(head('POST', 2))
  await answersAre(2)
  client.write(`{}${head('GET', 0)}`)
  await answersAre(3)
})

test('a body that does not come costs nothing but a look now and then', async () => {
  client.write(head('POST', bodyBytes))
  await answersAre(1)
  const rounds = () => performance.nodeTiming.uvMetricsInfo.loopCount
  const before = rounds()
  await sleep(300)
  expect(rounds() - before).toBeLessThan(2000)
})
