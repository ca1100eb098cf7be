import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { timeouts } from '../../../src/api/http/client-timeouts.ts'
import { type Answer, answersIn } from '../../support/answer.ts'
import { type Account, accept, buildAccount, post, textBody } from '../../support/builders.ts'
import { expectError } from '../../support/expect-error.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { expectSooner, StoodStill, timed, unlessStoodStill } from '../../support/standstill.ts'
import { eventually } from '../../support/wait.ts'

const usual = { ...timeouts, lingerMs: 100 }
const forHeads = { ...usual, headersMs: 500 }
const forBodies = { ...usual, bodyGraceMs: 500 }
let service: TestService
/** Each has one short timeout. The others stay long, so that a slow machine doesn't exceed them. */
let withShortHeadTimeouts: TestService
let withShortBodyTimeouts: TestService
let account: Account

beforeAll(async () => {
  service = await startTestService({}, undefined, usual)
  withShortHeadTimeouts = await startTestService({}, service.stores, forHeads)
  withShortBodyTimeouts = await startTestService({}, service.stores, forBodies)
  account = await buildAccount(service)
})
afterAll(() => Promise.all([service, withShortHeadTimeouts, withShortBodyTimeouts].map(({ stop }) => stop())))

/** A client that sends what it likes, when it likes, and never ends its side of the connection by itself. */
async function open({ url }: TestService = service) {
  const socket = connect({ port: Number(new URL(url).port), host: '127.0.0.1', allowHalfOpen: true })
  const parts: Buffer[] = []
  const openedAt = performance.now()
  let closedAfterMs: number | undefined
  socket.on('data', (part) => parts.push(part))
  socket.on('error', () => {})
  let ended = false
  socket.on('end', () => {
    ended = true
  })
  socket.on('close', () => {
    closedAfterMs = performance.now() - openedAt
  })
  await once(socket, 'connect')
  return {
    socket,
    answers: () => answersIn(Buffer.concat(parts)),
    /** Once the server has closed both directions, so that a write of the client fails. */
    closed: () =>
      eventually('the end of the connection', async () => {
        if (ended && !socket.destroyed) socket.write('x')
        return closedAfterMs
      }),
  }
}

/** Sends on and on, until the connection ends. */
async function trickle(socket: Socket, piece: string, everyMs: number): Promise<void> {
  while (!socket.destroyed) {
    socket.write(piece)
    await sleep(everyMs)
  }
}

function head(
  lines: string[],
  path = `/v1/channels/${account.channelId}/messages`,
  { apiKey } = account,
  method = 'POST',
): string {
  const common = [
    `${method} ${path} HTTP/1.1`,
    'Host: localhost',
    `Authorization: Bearer ${apiKey}`,
    'Content-Type: application/json',
  ]
  return `${[...common, ...lines].join('\r\n')}\r\n\r\n`
}

function expectOneRefusal(answers: Answer[], message?: RegExp): void {
  expect(answers).toHaveLength(1)
  expectError(answers[0] as Answer, 400, message)
}

/** The service's end of the connection on which the next request comes. */
function servingSocket(): Promise<Socket> {
  return new Promise((resolve) => {
    const name = 'http.server.request.start'
    const note = (message: unknown) => {
      unsubscribe(name, note)
      resolve((message as { socket: Socket }).socket)
    }
    subscribe(name, note)
  })
}

function garbageCollector(): () => void {
  setFlagsFromString('--expose-gc')
  return runInNewContext('gc')
}

test('a thousand slow clients at once slow down no other client, hold no connection to a store, and are disconnected', async () => {
  const retryUntilAvailable = { ...timeouts, headersMs: 5000, bodyGraceMs: 5000 }
  const beset = await startTestService({}, undefined, retryUntilAvailable)
  onTestFinished(() => beset.stop())
  const [victim, attacker] = [await buildAccount(beset), await buildAccount(beset)]
  await accept(beset, victim, textBody())
  const pool = beset.api.db.$client
  const { heapUsed, external } = process.memoryUsage()

  const slowHead = 'POST /v1/messages HTTP/1.1\r\nHost: a\r\nX-Slow: '
  const slowBody = head(['Content-Length: 26214400'], `/v1/channels/${attacker.channelId}/messages`, attacker)
  const clients = await Promise.all(Array.from({ length: 1000 }, () => open(beset)))
  onTestFinished(() => clients.forEach(({ socket }) => void socket.destroy()))
  for (const [index, { socket }] of clients.entries()) {
    socket.write(index % 2 ? slowHead : slowBody)
    void trickle(socket, ' ', 500)
  }
  const { answered, stoodStillMs } = await timed(async () => {
    let answered = 0
    while (clients.every(({ socket }) => !socket.readableEnded)) {
      const answer = await timed(() => post(beset, victim, textBody()))
      expectSooner(answer, 1500)
      unlessStoodStill(answer, () => expect(answer.status).toBe(202))
      expect(pool.totalCount - pool.idleCount).toBeLessThanOrEqual(1)
      answered++
    }
    return { answered }
  })
  if (answered < 5 && stoodStillMs > 0) throw new StoodStill('the slow clients were let go meanwhile')
  expect(answered).toBeGreaterThanOrEqual(5)
  const now = process.memoryUsage()
  expect(now.heapUsed + now.external - heapUsed - external).toBeLessThan(150_000_000)
  await Promise.all(clients.map(({ closed }) => closed()))
  for (const { answers } of clients) expectOneRefusal(answers())
})

describe.concurrent('a client that is slow', () => {
  test.each([
    ['to say anything', ''],
    ['after its first words', 'POST /v1/messages HTTP/1.1\r\nHost: a\r\n'],
  ])('%s is answered 400, and disconnected', async (_when, bytes) => {
    const { socket, answers, closed } = await open(withShortHeadTimeouts)
    if (bytes) socket.write(bytes)
    const closedAfterMs = await closed()
    expect(closedAfterMs).toBeGreaterThan(forHeads.headersMs * 0.9)
    expectOneRefusal(answers())
  })

  test('with its headers, byte by byte, is answered 400, and disconnected', async () => {
    const { socket, answers, closed } = await open(withShortHeadTimeouts)
    socket.write('POST /v1/messages HTTP/1.1\r\nHost: a\r\nX-Slow: ')
    void trickle(socket, 'x', 20)
    await closed()
    expectOneRefusal(answers())
  })

  test('with the headers of its second request is disconnected, too', async () => {
    const { socket, answers, closed } = await open(withShortHeadTimeouts)
    socket.write('GET /healthz HTTP/1.1\r\nHost: a\r\n\r\nGET /healthz HTTP/1.1\r\nX-Slow: ')
    void trickle(socket, 'x', 20)
    await closed()
    expect(answers().map(({ status }) => status)).toEqual([200, 400])
  })

  test.each([
    ['declared', ['Content-Length: 100000'], ' '],
    ['chunked', ['Transfer-Encoding: chunked'], '1\r\n \r\n'],
  ])('with a %s body, byte by byte, is answered 400, and disconnected', async (_how, lines, piece) => {
    const { socket, answers, closed } = await open(withShortBodyTimeouts)
    socket.write(head(lines))
    void trickle(socket, piece, 20)
    const closedAfterMs = await closed()
    expect(closedAfterMs).toBeGreaterThan(forBodies.bodyGraceMs)
    expectOneRefusal(answers(), /^body: .*32768 bytes a second/)
  })

  test('with a body that began fast is disconnected when its average falls', async () => {
    const { socket, answers, closed } = await open(withShortBodyTimeouts)
    socket.write(head(['Content-Length: 100000']) + ' '.repeat(20_000))
    void trickle(socket, ' ', 20)
    const closedAfterMs = await closed()
    expect(closedAfterMs).toBeGreaterThan((20_000 / timeouts.bodyBytesPerSecond) * 1000)
    expectOneRefusal(answers(), /32768 bytes a second/)
  })

  test('but faster than the limit is served, however long it takes', async () => {
    const { socket, answers } = await open(withShortBodyTimeouts)
    const pieceBytes = 12_000
    const body = JSON.stringify(textBody()) + ' '.repeat(30 * pieceBytes)
    socket.write(head([`Content-Length: ${body.length}`]))
    const startedAt = performance.now()
    // Gives a second to spare: alone too little for the time that the whole body takes.
    const ahead = 3 * pieceBytes
    socket.write(body.slice(0, ahead))
    for (let sent = ahead; sent < body.length; sent += pieceBytes) {
      await sleep(60)
      socket.write(body.slice(sent, sent + pieceBytes))
    }
    const [answer] = await eventually('an answer', async () => answers().length > 0 && answers())
    expect(performance.now() - startedAt).toBeGreaterThan(forBodies.bodyGraceMs * 2)
    expect(answer?.status).toBe(202)
    socket.destroy()
  })

  test.each([
    ['GET', '/healthz', 200],
    ['GET', '/v1/messages/x', 404],
    ['POST', '/nowhere', 404],
    ['POST', 'nowhere', 400],
  ])(
    'with a body that %s %s does not read gets its answer, and is disconnected',
    async (method, path, status) => {
      const { socket, answers, closed } = await open()
      socket.write(head(['Content-Length: 100000'], path, account, method))
      void trickle(socket, ' ', 20)
      await closed()
      expect(answers().map((answer) => answer.status)).toEqual([status])
    },
  )

  test('that sends a large part at once and then nothing is disconnected', async ({ onTestFinished }) => {
    const withShortTimeouts = await startTestService({}, service.stores, { ...usual, idleMs: 1000 })
    onTestFinished(() => withShortTimeouts.stop())
    const { socket, closed } = await open(withShortTimeouts)
    socket.write(head(['Content-Length: 10000000']) + ' '.repeat(1_000_000))
    await closed()
  })
})

describe('memory', () => {
  const collectGarbage = garbageCollector()
  const held = async () => {
    collectGarbage()
    // Buffers are freed in parallel with the collection, and what they referred to by the next one.
    await sleep(20)
    collectGarbage()
    const { heapUsed, external } = process.memoryUsage()
    return heapUsed + external
  }

  test('a body in pieces of one byte takes no more than its bytes', async () => {
    const pieces = 200_000
    const before = await held()
    const { socket } = await open()
    const serving = servingSocket()
    socket.write(head(['Transfer-Encoding: chunked']))
    const { bytesRead } = await serving
    socket.write('1\r\n \r\n'.repeat(pieces))
    const all = bytesRead + pieces * 6
    await eventually('all that was sent', async () => (await serving).bytesRead >= all)
    expect((await held()) - before).toBeLessThan(15_000_000)
    socket.destroy()
  })

  test('a body that continues after its refusal is not kept in memory', async () => {
    const piece = Buffer.from(`100000\r\n${' '.repeat(0x100000)}\r\n`)
    const before = await held()
    const { socket, answers } = await open()
    socket.write(head(['Transfer-Encoding: chunked']))
    while (answers().length === 0) {
      if (!socket.write(piece)) await Promise.race([once(socket, 'drain'), sleep(20)]).catch(() => {})
    }
    for (let more = 0; more < 5; more++) socket.write(piece)
    expect((await held()) - before).toBeLessThan(15_000_000)
    expectOneRefusal(answers(), /26214400 bytes/)
    socket.destroy()
  })
})

describe('what could be read as one request or as two', () => {
  const inner = 'GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n'
  const chunk = `0\r\n\r\n${inner}`
  test.each([
    ['two lengths', ['Content-Length: 0', `Content-Length: ${inner.length}`], inner],
    ['the same length twice', [`Content-Length: ${inner.length}`, `Content-Length: ${inner.length}`], inner],
    ['a list of lengths', ['Content-Length: 0, 0'], inner],
    ['a length and chunks', [`Content-Length: ${chunk.length}`, 'Transfer-Encoding: chunked'], chunk],
    ['chunks and a length', ['Transfer-Encoding: chunked', `Content-Length: ${chunk.length}`], chunk],
    ['a negative length', ['Content-Length: -1'], inner],
    ['a length with a plus', ['Content-Length: +0'], inner],
    ['a length in hex', ['Content-Length: 0x0'], inner],
    ['a length with a fraction', ['Content-Length: 0.0'], inner],
    ['a length in words', ['Content-Length: none'], inner],
    ['an empty length', ['Content-Length: '], inner],
    ['a length of 21 digits', [`Content-Length: ${'9'.repeat(21)}`], inner],
    ['a length of two words', ['Content-Length: 0 0'], inner],
    ['white space before the colon', ['Content-Length : 0'], inner],
    ['a folded line', ['X-Folded: a', ' Content-Length: 0'], inner],
    ['a folded coding', ['Transfer-Encoding:', ' chunked'], chunk],
    ['an unknown coding', ['Transfer-Encoding: xchunked'], chunk],
    ['chunks that are not the last coding', ['Transfer-Encoding: chunked, identity'], chunk],
    ['a coding within quotes', ['Transfer-Encoding: "chunked"'], chunk],
    ['a bare line feed', ['X-Bare: a\nTransfer-Encoding: chunked'], chunk],
    ['a bare carriage return', ['X-Bare: a\rTransfer-Encoding: chunked'], chunk],
    ['a name of no token', ['Content Length: 0'], inner],
    ['a line without a colon', ['Content-Length'], inner],
    ['a chunk length with a sign', ['Transfer-Encoding: chunked'], `-0\r\n\r\n${inner}`],
    ['a chunk length too large', ['Transfer-Encoding: chunked'], `${'f'.repeat(17)}\r\n`],
    ['a chunk longer than it says', ['Transfer-Encoding: chunked'], `1\r\nab\r\n0\r\n\r\n${inner}`],
    ['chunk lines that end in a line feed', ['Transfer-Encoding: chunked'], `0\n\n${inner}`],
  ])('%s: refused once, and the rest is not read as a request', async (_what, lines, rest) => {
    const { socket, answers, closed } = await open()
    socket.write(head(lines) + rest)
    await closed()
    expectOneRefusal(answers())
  })

  test('a HTTP/1.0 request with chunks', async () => {
    const { socket, answers, closed } = await open()
    socket.write(head(['Transfer-Encoding: chunked']).replace('HTTP/1.1', 'HTTP/1.0') + chunk)
    await closed()
    expect(answers()).toHaveLength(1)
  })

  test('pipelined requests are answered in order, each with its own answer', async () => {
    const { socket, answers } = await open()
    const body = JSON.stringify(textBody())
    const send = head([`Content-Length: ${body.length}`]) + body
    socket.write(send + head([], '/healthz', account, 'GET') + send + head([], '/nowhere', account, 'GET'))
    const all = await eventually('four answers', async () => answers().length === 4 && answers())
    expect(all.map(({ status }) => status)).toEqual([202, 200, 202, 404])
    expect(new Set(all.map(({ headers }) => headers.get('X-Request-Id'))).size).toBe(4)
    socket.destroy()
  })

  test('a hundred of them are answered, and thousands at once end the connection, not the service of others', async () => {
    const many = await open()
    many.socket.write(head([], '/healthz', account, 'GET').repeat(100))
    await eventually('a hundred answers', async () => many.answers().length === 100)
    many.socket.destroy()
    const flood = await open()
    flood.socket.write(head([], '/healthz', account, 'GET').repeat(5000))
    await flood.closed()
    expect(flood.answers().length).toBeLessThan(5000)
    expect(new Set(flood.answers().map(({ status }) => status))).toEqual(new Set([200]))
  })

  test('a malformed request behind a good send never replaces the answer to the send', async () => {
    const { socket, answers, closed } = await open()
    const body = JSON.stringify(textBody())
    const good = head([`Content-Length: ${body.length}`]) + body
    socket.write(`${good + head(['Transfer-Encoding: chunked'])}zz\r\n`)
    await closed()
    expect(answers().map(({ status }) => status)).toEqual([202])
  })

  test('a request whose declared length is too short is answered once', async () => {
    const good = await open()
    const body = JSON.stringify(textBody())
    good.socket.write(head([`Content-Length: ${body.length}`]) + body)
    // From now on its key is known, so that the next answer waits for nothing.
    await eventually('an answer', async () => good.answers().length > 0)
    good.socket.destroy()
    for (let i = 0; i < 5; i++) {
      const { socket, answers, closed } = await open()
      socket.write(head(['Content-Length: 10']) + body)
      await closed()
      expect(answers().map(({ status }) => status)).toEqual([400])
    }
  })

  test('an absolute URL as the target counts by its path', async () => {
    const { socket, answers } = await open()
    const body = JSON.stringify(textBody())
    const target = `http://another.example/v1/channels/${account.channelId}/messages`
    socket.write(head([`Content-Length: ${body.length}`], target) + body)
    const [answer] = await eventually('an answer', async () => answers().length > 0 && answers())
    expect(answer?.status).toBe(202)
    socket.destroy()
  })

  test.each([
    ['a URL of another scheme', 'ftp://a/v1/messages', 400],
    ['a URL that is none', 'http://[/v1/messages', 400],
    ['no path', '*', 400],
    ['an authority', 'a:80', 400],
    ['a path out of the root', '/../../v1/nowhere', 404],
    ['an encoded slash', '/v1%2fmessages', 404],
    ['an encoded NUL', '/v1/messages%00', 404],
    ['a malformed escape', '/v1/channels/%zz/messages', 400],
    ['a URL of 15,000 characters', `/${'x'.repeat(15_000)}`, 404],
    ['a URL of 20,000 characters', `/${'x'.repeat(20_000)}`, 400],
  ])('a target that is %s', async (_what, target, status) => {
    const { socket, answers } = await open()
    socket.write(`${head(['Content-Length: 2'], target)}{}`)
    const [answer] = await eventually('an answer', async () => answers().length > 0 && answers())
    expectError(answer as Answer, status)
    socket.destroy()
  })

  test.each([
    ['many headers', Array.from({ length: 5000 }, (_, n) => `X-${n}: ${n}`)],
    ['many short headers', Array.from({ length: 3000 }, () => 'a:')],
    ['a long name', [`${'X'.repeat(20_000)}: 1`]],
    ['a long value', [`X: ${'x'.repeat(20_000)}`]],
  ])('a flood of headers, %s, is a 400 and no other status', async (_what, lines) => {
    const { socket, answers } = await open()
    const body = '{'
    socket.write(head([`Content-Length: ${body.length}`, ...lines]) + body)
    const [answer] = await eventually('an answer', async () => answers().length > 0 && answers())
    expectError(answer as Answer, 400)
    socket.destroy()
  })
})
