import { describe, expect, test } from 'vitest'
import { mintMediaLink } from '../../src/core/messages/media-link.ts'
import { accept, buildAccount, post, request, textBody } from '../support/builders.ts'
import { expectError, expectFault, requestIdForm } from '../support/expect-error.ts'
import { samples } from '../support/media-samples.ts'
import { serviceOfFile, startTestService, testSecrets } from '../support/service.ts'
import { startTcpProxy } from '../support/tcp-proxy.ts'
import { eventually } from '../support/wait.ts'

const key = Buffer.from(testSecrets.CREDENTIALS_KEY, 'base64')
const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

const service = await serviceOfFile({ PUBLIC_BASE_URL: 'https://messages.example.com/' })
const account = await buildAccount(service)

const inMs = (ms: number) => new Date(Date.now() + ms)

/** The path of a link as the service itself would mint it. */
function pathFor(requestId: string, expiresAt = inMs(60_000), by = key): string {
  return new URL(mintMediaLink('https://messages.example.com', requestId, expiresAt, by)).pathname
}

async function acceptMedia(fields: object = {}, content: string | Buffer = Buffer.from(png, 'base64')) {
  const base64 = Buffer.from(content).toString('base64')
  return await accept(service, account, {
    contact: { value: '+4915112345678' },
    message: { type: 'media', media: { mediaType: 'document', base64, ...fields } },
  })
}

async function get(path: string, method = 'GET') {
  const response = await fetch(service.url + path, { method })
  const { status, headers } = response
  return { status, headers, content: Buffer.from(await response.arrayBuffer()) }
}

describe.each(['GET', 'HEAD'])('%s', (method) => {
  test('a link returns the media with its type and length, and forbids caches to store it', async () => {
    const requestId = await acceptMedia({ mediaType: 'image', mimetype: 'image/png', filename: 'dot.png' })
    const { status, headers, content } = await get(pathFor(requestId), method)
    const sent = Buffer.from(png, 'base64')
    expect(status).toBe(200)
    expect(content).toEqual(method === 'GET' ? sent : Buffer.alloc(0))
    expect(headers.get('Content-Type')).toBe('image/png')
    expect(headers.get('X-Content-Type-Options')).toBe('nosniff')
    expect(headers.get('Content-Disposition')).toBe("attachment; filename*=UTF-8''dot.png")
    expect(headers.get('Cache-Control')).toContain('no-store')
    expect(headers.get('X-Request-Id')).toMatch(requestIdForm)
    expect(headers.get('Content-Length')).toBe(String(sent.length))
  })

  test('a large one is complete, with a Content-Length', async () => {
    const large = Buffer.alloc(3_000_000, 'large')
    const path = pathFor(await acceptMedia({}, large))
    const { headers, content } = await eventually('an answer in time', async () => {
      const answer = await get(path, method)
      return answer.status !== 503 && answer
    })
    expect(content.equals(method === 'GET' ? large : Buffer.alloc(0))).toBe(true)
    expect(headers.get('Content-Length')).toBe(String(large.length))
  })
})

test('no more of the media is loaded than is fetched: nothing for HEAD, and not all before it is read', async () => {
  const path = pathFor(await acceptMedia({}, Buffer.alloc(8_000_000, 'large')))
  const database = await startTcpProxy(service.stores.databaseUrl)
  const stores = { ...service.stores, databaseUrl: database.url }
  const behind = await startTestService({ PUBLIC_BASE_URL: 'https://messages.example.com/' }, stores)
  try {
    const begin = async (method: string) => {
      const before = database.bytesFromStore()
      const response = await fetch(behind.url + path, { method })
      expect(response.headers.get('Content-Length')).toBe('8000000')
      return { response, loaded: () => database.bytesFromStore() - before }
    }
    expect((await begin('HEAD')).loaded()).toBeLessThan(50_000)
    const { response, loaded } = await begin('GET')
    expect(loaded()).toBeLessThan(8_000_000)
    expect((await response.arrayBuffer()).byteLength).toBe(8_000_000)
    expect(loaded()).toBeGreaterThan(8_000_000)
  } finally {
    await behind.stop()
    await database.close()
  }
})

test.each([
  ['image/png', 'its content, where that is recognised', png],
  ['application/octet-stream', 'nothing in particular, where it is not', 'c29tZSB0ZXh0'],
])('without a mimetype the type is %s: %s', async (type, _what, base64) => {
  const requestId = await acceptMedia({ base64 })
  expect((await get(pathFor(requestId))).headers.get('Content-Type')).toBe(type)
})

test.each([
  ['m4a', 'audio', 'audio/mp4'],
  ['mp4', 'audio', 'audio/mp4'],
  ['mp4', 'video', 'video/mp4'],
  ['oggOpus', 'audio', 'audio/ogg'],
  ['mp4', 'document', 'video/mp4'],
  ['pdf', 'document', 'application/pdf'],
  ['zip', 'document', 'application/octet-stream'],
] as const)('without a mimetype %s sent as %s has the type %s', async (sample, mediaType, type) => {
  const path = pathFor(await acceptMedia({ mediaType }, samples[sample]))
  for (const method of ['HEAD', 'GET'])
    expect((await get(path, method)).headers.get('Content-Type')).toBe(type)
})

test('a type has its own name, whichever the send gave it', async () => {
  const path = pathFor(await acceptMedia({ mediaType: 'image', mimetype: 'image/jpg' }, samples.jpeg))
  for (const method of ['HEAD', 'GET'])
    expect((await get(path, method)).headers.get('Content-Type')).toBe('image/jpeg')
})

test.each([
  ['quotes', 'the "best" of\'em.png'],
  ['umlauts', 'Größe & Maß.png'],
  ['an emoji', 'dot 😀👩‍👧.png'],
  ['what separates parameters', 'a; filename=b, (c)*%41.png'],
  ['another script', '写真.png'],
])('a filename with %s is complete in a header of the standard form', async (_what, filename) => {
  const { status, headers } = await get(pathFor(await acceptMedia({ filename })))
  expect(status).toBe(200)
  const disposition = headers.get('Content-Disposition') ?? ''
  // RFC 8187: what an ext-value may hold unescaped.
  const [, value = ''] =
    /^attachment; filename\*=UTF-8''((?:[\w!#$&+.^`|~-]|%[0-9A-F]{2})+)$/.exec(disposition) ?? []
  expect(decodeURIComponent(value), disposition).toBe(filename)
})

test.each(['text/plain; charset=utf-8', 'text/plain; name="a b.txt"', 'text/plain; name="größe €.txt"'])(
  'a mimetype is refused with the send, or the media can be handed out: %s',
  async (mimetype) => {
    const message = { type: 'media', media: { mediaType: 'document', base64: 'dGV4dA==', mimetype } }
    const answer = await post(service, account, { contact: { value: '+4915112345678' }, message })
    if (answer.status === 400) return await expectFault(service, answer, 'message.media.mimetype')
    const { status, headers } = await get(pathFor(answer.body.requestId))
    expect(status).toBe(200)
    expect(headers.get('Content-Type')).toMatch(/^text\/plain/)
  },
)

test.each(['text/html', 'image/svg+xml', 'application/xhtml+xml'])(
  'media that says it is %s is a download, and may run nothing in our origin',
  async (mimetype) => {
    const page = '<html><script>alert(document.domain)</script></html>'
    const { headers } = await get(pathFor(await acceptMedia({ mimetype, filename: 'page.html' }, page)))
    expect(headers.get('Content-Type')).toBe(mimetype)
    expect(headers.get('Content-Disposition')).toMatch(/^attachment;/)
    expect(headers.get('X-Content-Type-Options')).toBe('nosniff')
    const policy = headers
      .get('Content-Security-Policy')
      ?.split(';')
      .map((part) => part.trim())
    expect(policy).toEqual(expect.arrayContaining(["default-src 'none'", 'sandbox']))
  },
)

describe('404 with the four fields', () => {
  test('a token that was altered, anywhere in it', async () => {
    const path = pathFor(await acceptMedia())
    const start = '/media/'.length
    for (const at of [start, start + 20, start + 38, start + 47, path.length - 20, path.length - 1]) {
      const other = path[at] === 'a' ? 'b' : 'a'
      expectError(await request(service, path.slice(0, at) + other + path.slice(at + 1)), 404)
    }
    for (const one of [path.slice(0, -1), `${path}a`, `${path}.`, '/media/x', '/media/%00', '/media/..%2f']) {
      expectError(await request(service, one), 404)
    }
  })

  test('a link that has expired', async () => {
    const requestId = await acceptMedia()
    expectError(await request(service, pathFor(requestId, inMs(-1000))), 404)
  })

  test('a link of another key', async () => {
    const requestId = await acceptMedia()
    expectError(await request(service, pathFor(requestId, inMs(60_000), Buffer.alloc(32, 8))), 404)
  })

  test('a send without media, one whose media is a link, one that is unknown, and what no id can be', async () => {
    const text = await accept(service, account, textBody())
    const mediaUrl = 'https://example.com/a.png'
    const link = await accept(service, account, {
      contact: { value: '+4915112345678' },
      message: { type: 'media', media: { mediaType: 'image', mediaUrl } },
    })
    for (const requestId of [text, link, '01890000-0000-7000-8000-000000000000', 'x', '']) {
      expectError(await request(service, pathFor(requestId)), 404)
    }
  })

  test('every link, where there is no PUBLIC_BASE_URL', async () => {
    const path = pathFor(await acceptMedia())
    const closed = await startTestService({}, service.stores)
    try {
      expectError(await request(closed, path), 404)
      expect((await request(service, '/media/')).status).toBe(404)
    } finally {
      await closed.stop()
    }
    expect((await get(path)).status).toBe(200)
  })

  test('HEAD has the status, without a body', async () => {
    const { status, content } = await get('/media/x', 'HEAD')
    expect({ status, length: content.length }).toEqual({ status: 404, length: 0 })
  })
})

test('other methods are a 405 that says which ones there are', async () => {
  const answer = await request(service, pathFor(await acceptMedia()), { method: 'POST' })
  expectError(answer, 405)
  expect(answer.headers.get('Allow')?.split(', ')).toContain('GET')
})

test('the log never holds a token, whether valid, altered or expired', async () => {
  const requestId = await acceptMedia()
  const paths = [pathFor(requestId), `${pathFor(requestId)}x`, pathFor(requestId, inMs(-1000))]
  for (const path of paths) {
    await get(path)
    await get(path, 'HEAD')
    await get(path, 'POST')
  }
  const log = JSON.stringify(service.logs)
  for (const path of paths) {
    const token = path.slice('/media/'.length)
    expect(log).not.toContain(token)
    expect(log).not.toContain(token.split('.')[2])
  }
  expect(log).not.toContain('/media/')
})
