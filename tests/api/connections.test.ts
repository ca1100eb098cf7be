import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { expect, test } from 'vitest'
import { buildAccount, textBody } from '../support/builders.ts'
import { serviceOfFile, startTestService, type TestService } from '../support/service.ts'
import { expectSooner, timed } from '../support/standstill.ts'

const service = await serviceOfFile()
const account = await buildAccount(service)

async function open({ url }: TestService): Promise<Socket> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  await once(socket, 'connect')
  return socket
}

test('a good send that is followed by garbage on its connection gets its own answer, and nothing else', async () => {
  const socket = await open(service)
  const body = JSON.stringify(textBody())
  const head = [
    `POST /v1/channels/${account.channelId}/messages HTTP/1.1`,
    'Host: localhost',
    `Authorization: Bearer ${account.apiKey}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
  ].join('\r\n')
  const chunks: Buffer[] = []
  socket.on('data', (chunk) => chunks.push(chunk))
  socket.write(`${head}\r\n\r\n${body}GARBAGE\r\n\r\n`)
  await once(socket, 'close')
  const answers = Buffer.concat(chunks)
    .toString()
    .match(/HTTP\/1\.1 \d+/g)
  expect(answers).toEqual(['HTTP/1.1 202'])
})

test('a request by HTTP/1.0 needs no Host, as load balancers check health', async () => {
  const socket = await open(service)
  const chunks: Buffer[] = []
  socket.on('data', (chunk) => chunks.push(chunk))
  socket.write('GET /readyz HTTP/1.0\r\n\r\n')
  await once(socket, 'close')
  expect(Buffer.concat(chunks).toString()).toMatch(/^HTTP\/1\.1 200 /)
})

test('a connection without a request does not delay the end of the process', async () => {
  const ending = await startTestService({}, service.stores)
  const silent = await open(ending)
  const closed = once(silent, 'close')
  expectSooner(await timed(async () => ({ stopped: await ending.stop(), closed: await closed })), 2000)
})
