import { gzipSync } from 'node:zlib'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { parseNetwork } from '../../../src/core/requests/public-address.ts'
import type { ConnectorOptions } from '../../../src/platform/http/guarded-connector.ts'
import type { MemoryBudget } from '../../../src/platform/memory/memory-budget.ts'
import { createMediaFetcher } from '../../../workers/http/media-fetcher.ts'
import { openMediaMemory } from '../../../workers/sends/dispatch/media-memory.ts'
import { withMemory } from '../../support/fetching.ts'
import { expectSooner, timed } from '../../support/standstill.ts'
import { eventually } from '../../support/wait.ts'
import {
  answer,
  answerRaw,
  answerRawAndClose,
  type Behaviour,
  closeAfterReading,
  delay,
  neverAnswer,
  openWebhookReceiver,
  resetAfterReading,
  trickle,
  type WebhookReceiver,
} from '../../support/webhook-receiver.ts'

const loopback = [parseNetwork('127.0.0.0/8'), parseNetwork('::1/128')]
const maxBytes = 16 * 1024 * 1024
const timeToHeedMs = 1000
const owner = 'an account'

let server: WebhookReceiver
beforeAll(async () => {
  server = await openWebhookReceiver()
})
afterAll(() => server.stop())

const fetchers: ReturnType<typeof withMemory>[] = []
afterEach(async () => {
  await Promise.all(fetchers.splice(0).map((fetcher) => fetcher.close()))
})

function open(changes: Partial<ConnectorOptions> = {}, memory?: MemoryBudget) {
  const fetcher = withMemory(createMediaFetcher({ allowedPrivateNetworks: loopback, ...changes }), memory)
  fetchers.push(fetcher)
  return fetcher
}

async function get(from: string | Behaviour, options: Partial<ConnectorOptions> = {}, withinMs = 100_000) {
  const url = typeof from === 'string' ? from : `${server.at(from)}?token=t0ken`
  return await timed(async () => ({
    fetched: await open(options).fetch({ url, owner }, AbortSignal.timeout(withinMs)),
  }))
}

const noConnectionLeft = () => eventually('no connection is left', async () => server.open.size === 0)

const serve =
  (content: Buffer, headers: Record<string, string> = {}): Behaviour =>
  (_request, response) =>
    response.writeHead(200, headers).end(content)

/** Bytes in chunks, without a length, for as long as they are taken. */
function pour(bytes: number) {
  const poured = { bytes: 0 }
  const piece = Buffer.alloc(64 * 1024, 'x')
  const behaviour: Behaviour = (_request, response) => {
    const more = () => {
      while (poured.bytes < bytes && !response.destroyed) {
        poured.bytes += piece.length
        if (!response.write(piece)) return void response.once('drain', more)
      }
      response.end()
    }
    response.writeHead(200)
    more()
  }
  return { poured, behaviour }
}

test("the exact bytes are returned, with the server's type and its parameters", async () => {
  const content = Buffer.from(Array.from({ length: 70_000 }, (_, i) => i % 256))
  const { fetched } = await get(serve(content, { 'content-type': 'Image/PNG ; charset=binary' }))
  expect(fetched).toEqual({ kind: 'media', content, mimetype: 'Image/PNG ; charset=binary' })
})

test.each([
  ['none', {}],
  ['no type', { 'content-type': 'png' }],
  ['an empty one', { 'content-type': '' }],
])('a type that cannot be passed on is left out: %s', async (_, headers) => {
  const content = Buffer.from('x')
  expect((await get(serve(content, headers))).fetched).toEqual({
    kind: 'media',
    content,
    mimetype: undefined,
  })
})

test('the exact bytes are returned also without a Content-Length', async () => {
  const content = Buffer.from(Array.from({ length: 200_000 }, (_, i) => i % 251))
  const { fetched } = await get((_request, response) => {
    for (let at = 0; at < content.length; at += 30_000) response.write(content.subarray(at, at + 30_000))
    response.end()
  })
  expect(fetched).toEqual({ kind: 'media', content, mimetype: undefined })
})

test('a body in pieces of one byte is held in one growing buffer, not in an object for each', async () => {
  const pieces = 300_000
  const raw = `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${'1\r\nx\r\n'.repeat(pieces)}0\r\n\r\n`
  const { fetched } = await get(answerRaw(raw))
  if (fetched.kind !== 'media') throw new Error(fetched.reason)
  expect(fetched.content).toHaveLength(pieces)
  // One that was put together from the pieces would be as long as they are.
  expect(fetched.content.buffer.byteLength).toBeGreaterThan(pieces)
})

test('the content is requested uncompressed, by a plain GET', async () => {
  let seen: unknown
  await get((request, response) => {
    seen = { method: request.method, encoding: request.headers['accept-encoding'] }
    response.end('x')
  })
  expect(seen).toEqual({ method: 'GET', encoding: 'identity' })
})

test.each<[string, Behaviour, string, RegExp]>([
  ['400', answer(400), 'refused', /answered 400$/],
  ['401', answer(401), 'refused', /answered 401$/],
  ['404', answer(404), 'refused', /answered 404$/],
  ['410', answer(410), 'refused', /answered 410$/],
  ['408', answer(408), 'failed', /answered 408$/],
  ['425', answer(425), 'failed', /answered 425$/],
  ['429', answer(429), 'failed', /answered 429$/],
  ['500', answer(500), 'failed', /answered 500$/],
  ['503', answer(503), 'failed', /answered 503$/],
  ['304', answer(304), 'refused', /redirects \(304\)/],
  ['no content', answer(204), 'refused', /is empty$/],
  ['an empty 200', answer(200), 'refused', /is empty$/],
  ['gzip', serve(gzipSync('x'), { 'content-encoding': 'gzip' }), 'refused', /compresses/],
  [
    'gzip after identity',
    serve(gzipSync('x'), { 'content-encoding': 'identity, gzip' }),
    'refused',
    /compresses/,
  ],
  [
    'gzip on the way',
    answerRawAndClose('HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n'),
    'refused',
    /compresses/,
  ],
  ['a part of it', answer(206), 'refused', /only a part/],
  ['what is not HTTP', answerRaw('SSH-2.0-OpenSSH_9.6\r\n'), 'refused', /not HTTP$/],
  ['a reset', resetAfterReading, 'failed', /connection was lost$/],
  ['a close without an answer', closeAfterReading, 'failed', /connection was lost$/],
  [
    'a body that is cut off',
    answerRawAndClose('HTTP/1.1 200 OK\r\ncontent-length: 12\r\n\r\nhalf'),
    'failed',
    /./,
  ],
])(
  'an answer without media has its own outcome, and its connection is closed: %s',
  async (_, from, kind, reason) => {
    const { fetched } = await get(from)
    expect(fetched).toEqual({ kind, reason: expect.stringMatching(reason) })
    expect(JSON.stringify(fetched)).not.toMatch(/t0ken|hooks|127\.0/)
    await Promise.all(fetchers.splice(0).map((fetcher) => fetcher.close()))
    await noConnectionLeft()
  },
)

test('an answer after early hints counts by its own status', async () => {
  const bytes = 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nx'
  expect((await get(answerRaw(bytes))).fetched.kind).toBe('media')
})

test('the largest media is 16 MiB', async () => {
  const { fetched } = await get(serve(Buffer.alloc(maxBytes, 'x')))
  expect(fetched).toMatchObject({ kind: 'media' })
})

test('a larger declared length is refused before the body comes', async () => {
  const head = `HTTP/1.1 200 OK\r\ncontent-length: ${maxBytes + 1}\r\n\r\n`
  const { fetched, ...span } = await get(answerRaw(head))
  expect(fetched).toEqual({ kind: 'refused', reason: `the media is larger than ${maxBytes} bytes` })
  expectSooner(span, timeToHeedMs)
  await noConnectionLeft()
})

test('a body that turns out larger is read no further, and its connection is closed', async () => {
  const { poured, behaviour } = pour(20 * maxBytes)
  const before = process.memoryUsage().rss
  const { fetched } = await get(behaviour, {}, 20_000)
  expect(fetched).toEqual({ kind: 'refused', reason: `the media is larger than ${maxBytes} bytes` })
  await noConnectionLeft()
  expect(poured.bytes).toBeLessThan(2 * maxBytes)
  expect(process.memoryUsage().rss - before).toBeLessThan(8 * maxBytes)
})

test.each<[string, Behaviour]>([
  ['no answer', neverAnswer],
  ['an answer too late', delay(800, answer(200, {}, 'x'))],
  ['a trickled head', trickle('', 'HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nx')],
  ['a trickled body', trickle('HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n', ' '.repeat(99))],
  ['a body without an end', pour(Infinity).behaviour],
])('a fetch ends in time: %s', async (_, behaviour) => {
  const { fetched, ...span } = await get(behaviour, {}, 300)
  expect(fetched.kind).toMatch(/failed|refused/)
  expectSooner(span, 300 + timeToHeedMs)
  await noConnectionLeft()
})

test.each<[string, string, Partial<ConnectorOptions>]>([
  ['a refused connection', 'http://127.0.0.1:1024/', {}],
  ['a name that can’t be looked up now', 'http://e.test/', { resolve: failing('EAI_AGAIN') }],
  [
    'a name that is looked up for ever',
    'http://e.test/',
    { resolve: () => new Promise(() => {}), connectMs: 1000 },
  ],
])('no connection may come about later: %s', async (_, url, options) => {
  const { fetched, ...span } = await get(url, options, 300)
  expect(fetched.kind).toBe('failed')
  expectSooner(span, 300 + timeToHeedMs)
})

/** Looks up as a resolver that answers with this error. */
function failing(code: string) {
  return () => Promise.reject(Object.assign(new Error(code), { code }))
}

test('a fetch given up while it connects is not made when the connection comes', async () => {
  let calls = 0
  const url = server.at((_request, response) => {
    calls++
    response.end('x')
  })
  const address = { address: '127.0.0.1', family: 4 }
  const late = () => new Promise<[typeof address]>((resolve) => setTimeout(resolve, 300, [address]))
  const { fetched } = await get(url.replace('127.0.0.1', 'late.test'), { resolve: late }, 100)
  expect(fetched.kind).toBe('failed')
  await new Promise((resolve) => setTimeout(resolve, 500))
  expect(calls).toBe(0)
})

describe('memory', () => {
  /** Declares its length, and sends no bytes before `answerAll` is called. */
  function holdBack(bytes = maxBytes) {
    const waiting: (() => void)[] = []
    const asked = { count: 0 }
    const url = server.at((_request, response) => {
      asked.count++
      response.writeHead(200, { 'content-length': bytes }).flushHeaders()
      waiting.push(() => void response.end(Buffer.alloc(bytes, 'x')))
    })
    const answerAll = () => {
      for (const answerOne of waiting.splice(0)) answerOne()
    }
    return { url, asked, answerAll }
  }

  test("what one account fetches and doesn't come leaves memory for another's", async () => {
    const fetcher = open({}, openMediaMemory(100_000))
    const { url, asked, answerAll } = holdBack()
    const hanging = Array.from({ length: 12 }, () =>
      fetcher.fetch({ url, owner: 'hangs' }, AbortSignal.timeout(100_000)),
    )
    await eventually('all were asked for', async () => asked.count === 12)
    const other = server.at(serve(Buffer.alloc(maxBytes, 'y')))
    const { kind } = await fetcher.fetch({ url: other, owner: 'another' }, AbortSignal.timeout(100_000))
    expect(kind).toBe('media')
    answerAll()
    for (const { kind } of await Promise.all(hanging)) expect(kind).toBe('media')
  })

  test('a fetch that waits for memory is not read, and continues when others have ended', async () => {
    const fetcher = open({}, openMediaMemory(100_000))
    const first = holdBack()
    const held = Array.from({ length: 4 }, () =>
      fetcher.fetch({ url: first.url, owner }, AbortSignal.timeout(100_000)),
    )
    await eventually('4 were asked for', async () => first.asked.count === 4)
    const moved: number[] = []
    const url = server.at(serve(Buffer.alloc(maxBytes, 'y')))
    const fifth = fetcher.fetch({ url, owner }, AbortSignal.timeout(100_000), (bytes) => moved.push(bytes))
    await new Promise((resolve) => setTimeout(resolve, 300))
    expect(moved).toEqual([])
    first.answerAll()
    for (const { kind } of await Promise.all([...held, fifth])) expect(kind).toBe('media')
  })

  test('a fetch whose time ends while it waits for memory is put off at once, and leaves no connection', async () => {
    const fetcher = open()
    const { url, asked, answerAll } = holdBack()
    const held = Array.from({ length: 4 }, () => fetcher.fetch({ url, owner }, AbortSignal.timeout(100_000)))
    await eventually('4 were asked for', async () => asked.count === 4)
    const late = holdBack()
    const over = new AbortController()
    const fetching = fetcher.fetch({ url: late.url, owner }, over.signal)
    await eventually('it was asked for', async () => late.asked.count === 1)
    // For the head of the answer, after which it waits.
    await new Promise((resolve) => setTimeout(resolve, 300))
    const { fetched, ...span } = await timed(async () => {
      over.abort()
      return { fetched: await fetching }
    })
    expect(fetched).toEqual({ kind: 'put_off', reason: "the worker's memory budget for media is used up" })
    expectSooner(span, timeToHeedMs)
    answerAll()
    await Promise.all(held)
  })

  test('a fetch that waits too long for memory is put off, long before its time is over', async () => {
    const fetcher = open({}, openMediaMemory(200))
    const { url, asked, answerAll } = holdBack()
    const held = Array.from({ length: 4 }, () => fetcher.fetch({ url, owner }, AbortSignal.timeout(100_000)))
    await eventually('4 were asked for', async () => asked.count === 4)
    const late = holdBack()
    const { fetched, ...span } = await timed(async () => ({
      fetched: await fetcher.fetch({ url: late.url, owner }, AbortSignal.timeout(100_000)),
    }))
    expect(fetched).toEqual({ kind: 'put_off', reason: "the worker's memory budget for media is used up" })
    expectSooner(span, 200 + timeToHeedMs)
    answerAll()
    await Promise.all(held)
  })

  test('memory is given back by fetches that fail', async () => {
    const fetcher = open()
    const cut = server.at(answerRawAndClose(`HTTP/1.1 200 OK\r\ncontent-length: ${maxBytes}\r\n\r\nhalf`))
    for (let i = 0; i < 10; i++) {
      const { kind } = await fetcher.fetch({ url: cut, owner }, AbortSignal.timeout(100_000))
      expect(kind).toBe('failed')
    }
  })
})

test('a stop puts off the fetches under way and later ones', async () => {
  const fetcher = open()
  const fetch = (behaviour: Behaviour) =>
    fetcher.fetch({ url: server.at(behaviour), owner }, AbortSignal.timeout(100_000))
  const before = server.calls.length
  const underWay = [fetch(neverAnswer), fetch(answerRaw('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf'))]
  await eventually('both were asked for', async () => server.calls.length === before + 2)
  fetcher.stop()
  const putOff = {
    kind: 'put_off',
    reason: 'the worker was stopped while it fetched the media',
    delayMs: 0,
  }
  expect(await Promise.all(underWay)).toEqual([putOff, putOff])
  await noConnectionLeft()
  expect(await fetch(answer(200, {}, 'x'))).toEqual(putOff)
})

test('a fetch that is over before it began opens no connection', async () => {
  const before = server.connections
  const fetched = await open().fetch({ url: server.at(answer(200)), owner }, AbortSignal.abort())
  expect(fetched.kind).toBe('failed')
  expect(server.connections).toBe(before)
})

describe('an address that is not public', () => {
  const refused = {
    kind: 'refused',
    reason: expect.stringMatching(/: the address is not public, or cannot be found$/),
  }
  const media = serve(Buffer.from('x'))
  /** A server of these tests alone: a connection of an earlier test may still be on its way to the other one. */
  let inside: WebhookReceiver
  beforeAll(async () => {
    inside = await openWebhookReceiver()
  })
  afterAll(() => inside.stop())
  const at = (host: string) => inside.at(media).replace('127.0.0.1', host)
  const resolveTo = (...addresses: string[]) => ({
    resolve: async () => addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
  })

  test.each([
    '127.0.0.1',
    '127.1',
    '0x7f000001',
    '2130706433',
    '0177.0.0.1',
    '[::1]',
    '[::ffff:127.0.0.1]',
    '[::ffff:169.254.169.254]',
    '169.254.169.254',
    '[fd00::1]',
    'localhost',
  ])('is not connected to: %s', async (host) => {
    const before = inside.connections
    expect((await get(at(host), { allowedPrivateNetworks: [] })).fetched).toEqual(refused)
    expect(inside.connections).toBe(before)
  })

  test.each([
    ['private', ['127.0.0.1']],
    ['public and private', ['192.0.9.1', '127.0.0.1']],
    ['private and public', ['127.0.0.1', '192.0.9.1']],
    ['public IPv6 and private IPv4', ['2606:4700::1', '127.0.0.1']],
    ['IPv4 in IPv6', ['::ffff:127.0.0.1']],
  ])('is not connected to by a name: %s', async (_, addresses) => {
    const before = inside.connections
    const options = { allowedPrivateNetworks: [], ...resolveTo(...addresses) }
    expect((await get(at('e.test'), options)).fetched).toEqual(refused)
    expect(inside.connections).toBe(before)
  })

  test.each<[string, string, Partial<ConnectorOptions>]>([
    ['an address', 'http://10.0.0.1:8080/', {}],
    ['a private name', 'http://e.test/', resolveTo('10.0.0.1')],
    ['a name of loopback', 'http://e.test/', resolveTo('127.0.0.1')],
    ['a name without addresses', 'http://e.test/', resolveTo()],
    ['a name that does not exist', 'http://e.test/', { resolve: failing('ENOTFOUND') }],
  ])('a client can’t tell from others that are refused: %s', async (_, url, options) => {
    expect((await get(url, { allowedPrivateNetworks: [], ...options })).fetched).toEqual({
      kind: 'refused',
      reason: 'no media: the address is not public, or cannot be found',
    })
  })

  test('nor from a name that can’t be looked up now, by the reason', async () => {
    const fetched = await get('http://e.test/', { resolve: failing('EAI_AGAIN') })
    expect(fetched.fetched).toEqual({
      kind: 'failed',
      reason: 'no media: the address is not public, or cannot be found',
    })
  })

  test('a port below 1024 other than 80 and 443 is not connected to, although it was accepted', async () => {
    const fetched = await get('http://127.0.0.1:25/')
    expect(fetched.fetched).toEqual({
      kind: 'refused',
      reason: 'no media: the port is not 80, 443 or one from 1024 on',
    })
  })

  test.each(['127.0.0.1', '127.1', '0x7f000001', '2130706433', '[::ffff:127.0.0.1]'])(
    'is reached where the operator allows it: %s',
    async (host) => {
      expect((await get(at(host))).fetched.kind).toBe('media')
    },
  )

  test('is reached by a name where the operator allows it', async () => {
    expect((await get(at('e.test'), resolveTo('127.0.0.1'))).fetched.kind).toBe('media')
  })

  test('is not reached by a redirect', async () => {
    let calls = 0
    const location = server.at((_request, response) => {
      calls++
      response.end('x')
    })
    for (const status of [301, 302, 303, 307, 308]) {
      const { fetched } = await get(answer(status, { location }))
      expect(fetched).toMatchObject({ kind: 'refused', reason: expect.stringMatching(/redirects/) })
    }
    expect(calls).toBe(0)
  })
})
