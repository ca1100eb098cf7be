import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Worker } from 'node:worker_threads'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { receivedBytes, smallBytes } from '../../src/api/body/large/large-bodies.ts'
import { timeouts } from '../../src/api/http/client-timeouts.ts'
import { hourMs } from '../../src/core/durations.ts'
import { type Answer, answersIn } from '../support/answer.ts'
import { type Account, buildAccount, post, textBody } from '../support/builders.ts'
import { expectError, inTime } from '../support/expect-error.ts'
import { rawRequest } from '../support/raw-http.ts'
import { serviceOfFile, startTestService, type TestService } from '../support/service.ts'
import { StoodStill, timed } from '../support/standstill.ts'
import { eventually } from '../support/wait.ts'

const mebibyte = 1024 * 1024
const largest = 25 * mebibyte
const largestOfAll = Math.floor(receivedBytes / largest)
/** Half of the memory that large bodies may take together. */
const largestOfAccount = Math.floor(receivedBytes / 2 / largest)

/** A good send, with white space behind it. */
const largeText = (bytes: number) => JSON.stringify(textBody()).padEnd(bytes)

/** Takes as much memory as the largest one, since it doesn't declare its length; to parse it takes no time. */
const postLarge = (at: TestService, { channelId, apiKey }: Account) =>
  rawRequest(at, {
    path: `/v1/channels/${channelId}/messages`,
    headers: { Authorization: `Bearer ${apiKey}`, 'Content-Type': 'application/json' },
    chunks: [largeText(2 * smallBytes)],
  })

/** No client counts as slow on a machine that is slow, too. */
const unhurried = { ...timeouts, bodyGraceMs: hourMs, queuedMs: hourMs, idleMs: hourMs }
const service = await serviceOfFile({}, undefined, unhurried)
// The thread takes a while to start from its sources.
await post(service, await buildAccount(service), largeText(smallBytes + 1))

/** A client that begins a body of so many bytes, or one in chunks without an end. */
async function begin(account: Account, sent: number, declared?: number, at = service) {
  const socket = connect({ port: Number(new URL(at.url).port), host: '127.0.0.1' })
  const parts: Buffer[] = []
  socket.on('data', (part) => parts.push(part))
  socket.on('error', () => {})
  onTestFinished(() => void socket.destroy())
  await once(socket, 'connect')
  const lines = [
    `POST /v1/channels/${account.channelId}/messages HTTP/1.1`,
    'Host: a',
    `Authorization: Bearer ${account.apiKey}`,
    'Content-Type: application/json',
    declared === undefined ? 'Transfer-Encoding: chunked' : `Content-Length: ${declared}`,
  ]
  socket.write(`${lines.join('\r\n')}\r\n\r\n`)
  const body = Buffer.alloc(sent, ' ')
  socket.write(declared === undefined ? Buffer.concat([Buffer.from(`${sent.toString(16)}\r\n`), body]) : body)
  return { socket, answers: () => answersIn(Buffer.concat(parts)) }
}

/** The sockets of requests from now on, at the server's end. */
function watchSockets(): Socket[] {
  const sockets: Socket[] = []
  const name = 'http.server.request.start'
  const note = (message: unknown) => sockets.push((message as { socket: Socket }).socket)
  subscribe(name, note)
  onTestFinished(() => void unsubscribe(name, note))
  return sockets
}

/** As many large bodies as the budget of an account allows. Memory is reserved for each: otherwise it would not be read so far. */
async function fill(account: Account, at = service) {
  const sent = 2 * smallBytes
  const sockets = watchSockets()
  const bodies = await Promise.all(
    Array.from({ length: largestOfAccount }, () => begin(account, sent, largest, at)),
  )
  const isRead = ({ bytesRead }: Socket) => bytesRead > sent
  await eventually('memory for each', async () => sockets.filter(isRead).length === largestOfAccount)
  return bodies
}

const expectAccepted = (answer: Answer) => expect(inTime([answer])[0]?.status).toBe(202)

/** Whether it has its answer by now, and which. */
function watch<T>(answer: Promise<T>) {
  const watched: { answer?: T } = {}
  void answer.then((got) => {
    watched.answer = got
  })
  return Object.assign(watched, { comes: answer })
}

describe('while an account has its limit of large bodies under way', () => {
  test('its next one waits for memory, those of others and small ones do not; it is accepted when memory is free', async () => {
    const [account, other] = [await buildAccount(service), await buildAccount(service)]
    const [first] = await fill(account)
    const waiting = watch(postLarge(service, account))
    expectAccepted(await postLarge(service, other))
    for (let small = 0; small < 10; small++)
      expect((await post(service, account, textBody())).status).toBe(202)
    expect(waiting.answer).toBeUndefined()
    first?.socket.destroy()
    expectAccepted(await waiting.comes)
  })

  test('one that disconnects while it waits leaves its turn in the queue to the next', async () => {
    const account = await buildAccount(service)
    const [first] = await fill(account)
    const { socket } = await begin(account, 10 * smallBytes, largest)
    await sleep(100)
    const next = watch(postLarge(service, account))
    socket.destroy()
    await sleep(100)
    expect(next.answer).toBeUndefined()
    first?.socket.destroy()
    expectAccepted(await next.comes)
  })
})

test('however many large bodies come at a time, only a limited part of them is read', async () => {
  const sockets = watchSockets()
  const accounts = await Promise.all(Array.from({ length: 4 }, () => buildAccount(service)))
  const sent = 20 * mebibyte
  const clients = await Promise.all(
    Array.from({ length: 24 }, (_, index) =>
      begin(accounts[index % accounts.length] as Account, sent, index % 2 ? largest : undefined),
    ),
  )
  // Reads and drops the bytes after a refusal: here by its key.
  const refused = await begin({ ...(accounts[0] as Account), apiKey: 'unknown' }, sent, largest)
  await eventually('the refusal', async () => refused.answers().length > 0)
  const readOf = () => {
    const waiting = [...clients, refused].filter(({ answers }) => answers().length === 0)
    const ports = new Set(waiting.map(({ socket }) => socket.localPort))
    const read = sockets.filter(({ remotePort }) => ports.has(remotePort ?? 0))
    return read.reduce((sum, { bytesRead }) => sum + bytesRead, 0)
  }
  await eventually('as many as may', async () => readOf() >= largestOfAll * sent)
  await sleep(500)
  expect(readOf()).toBeLessThan(largestOfAll * sent + clients.length * 4 * smallBytes)
})

describe('with short timeouts', () => {
  const start = async (more: Partial<typeof timeouts>) => {
    const withShortTimeouts = await startTestService({}, undefined, { ...timeouts, ...more })
    onTestFinished(() => withShortTimeouts.stop())
    return { withShortTimeouts, account: await buildAccount(withShortTimeouts) }
  }
  const trickle = async (sockets: Socket[]) => {
    while (sockets.some(({ destroyed }) => !destroyed)) {
      for (const socket of sockets) socket.write(' ')
      await sleep(50)
    }
  }

  test('a slow client that holds memory is disconnected; one that waits for memory counts as neither slow nor idle', async () => {
    const [bodyBytesPerSecond, idleMs] = [smallBytes / 2, 3000]
    const { withShortTimeouts, account } = await start({ bodyGraceMs: 400, idleMs, bodyBytesPerSecond })
    // Requests that have memory keep it for four seconds from here, whenever the other one comes.
    const startedAt = performance.now()
    const holders = await fill(account, withShortTimeouts)
    void trickle(holders.map(({ socket }) => socket))
    const ends = Promise.all(holders.map(({ socket }) => new Promise((end) => socket.once('close', end))))
    const { answer, ...span } = await timed(async () => ({
      answer: await postLarge(withShortTimeouts, account),
    }))
    expect(performance.now() - startedAt).toBeGreaterThan(idleMs + 500)
    expect(answer.status).toBe(202)
    await ends
    for (const { answers } of holders) {
      const [refused] = answers()
      // Who was kept from writing for so long was idle.
      if (!refused && span.stoodStillMs > idleMs / 2) throw new StoodStill('the slow clients counted as idle')
      expectError(refused as Answer, 400, /bytes a second/)
    }
  })

  test('a client that waits too long gets a Retry-After, and nothing is accepted', async () => {
    const { withShortTimeouts, account } = await start({ queuedMs: 300 })
    const holders = await fill(account, withShortTimeouts)
    const answer = await postLarge(withShortTimeouts, account)
    expectError(answer, 503)
    expect(answer.headers.get('Retry-After')).toBe('1')
    for (const { socket } of holders) socket.destroy()
    await eventually('memory', async () => (await postLarge(withShortTimeouts, account)).status === 202)
  })
})

test('a body that declares much and sends little reserves no memory', async () => {
  const account = await buildAccount(service)
  await Promise.all(Array.from({ length: 20 }, () => begin(account, smallBytes / 2, largest)))
  await sleep(200)
  expect((await postLarge(service, account)).status).toBe(202)
})

test('a large body is parsed in a thread of its own', async () => {
  const account = await buildAccount(service)
  const parse = vi.spyOn(JSON, 'parse')
  onTestFinished(() => parse.mockRestore())
  expect((await post(service, account, largeText(smallBytes + 1))).status).toBe(202)
  expect(Math.max(...parse.mock.calls.map(([text]) => String(text).length))).toBeLessThanOrEqual(smallBytes)
})

test('if the thread is lost, the body that it was parsing is a 500, and the others are accepted', async () => {
  const other = await startTestService({}, service.stores)
  onTestFinished(() => other.stop())
  const account = await buildAccount(other)
  const name = 'worker_threads'
  const lose = (message: unknown) => {
    unsubscribe(name, lose)
    void (message as { worker: Worker }).worker.terminate()
  }
  subscribe(name, lose)
  const answers = await Promise.all(
    Array.from({ length: 3 }, () => post(other, account, largeText(smallBytes + 1))),
  )
  expect(answers.map(({ status }) => status).sort()).toEqual([202, 202, 500])
  const failed = answers.find(({ status }) => status === 500)
  const [crashed] = other.logsOf(failed?.body.requestId)
  expect(crashed).toMatchObject({ event: 'crashed', msg: expect.stringContaining('the thread ended') })
  expect((await post(other, account, largeText(smallBytes + 1))).status).toBe(202)
})
