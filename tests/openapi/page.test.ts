import { describe, expect, test } from 'vitest'
import { request } from '../support/builders.ts'
import { expectError } from '../support/expect-error.ts'
import { document, documentSettings } from '../support/openapi.ts'
import { serviceOfFile, startTestService } from '../support/service.ts'

const service = await serviceOfFile({
  PUBLIC_BASE_URL: documentSettings.PUBLIC_BASE_URL ?? '',
  RATE_LIMIT_POINTS: String(documentSettings.RATE_LIMIT_POINTS),
})

async function get(path: string, init: RequestInit = {}) {
  const response = await fetch(new URL(path, service.url), init)
  const { status, headers } = response
  return { status, headers, text: await response.text() }
}

/** What the page loads, as a browser finds it. */
async function linked(): Promise<string[]> {
  const { text } = await get('/docs')
  return [...text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path = '']) => path)
}

test('the document is that of the settings, and its servers are the public address and where it came from', async () => {
  const { status, body } = await request(service, '/openapi.json')
  expect(status).toBe(200)
  expect(body).toEqual(JSON.parse(JSON.stringify(document)))
  expect(body.servers.map(({ url }: { url: string }) => url)).toEqual(['https://messages.example.com', '/'])
})

test('without a public address there are no media links in it', async () => {
  const other = await startTestService({}, service.stores)
  const { body } = await request(other, '/openapi.json')
  expect(Object.keys(body.paths)).not.toContain('/media/{token}')
  expect(body.servers.map(({ url }: { url: string }) => url)).toEqual(['/'])
  await other.stop()
})

test('the page loads only what this service serves', async () => {
  const paths = await linked()
  expect(paths).toHaveLength(5)
  for (const path of paths) {
    expect(path).not.toMatch(/^(\w+:|\/)/)
    const { status, headers, text } = await get(path)
    expect(status, path).toBe(200)
    expect(text.length).toBeGreaterThan(50)
    expect(headers.get('X-Content-Type-Options')).toBe(path === 'openapi.json' ? null : 'nosniff')
  }
  expect((await get('/docs')).text + (await get('/docs/page.js')).text).not.toMatch(/https?:\/\//)
})

test('its headers forbid the browser to load, run or call anything from other hosts, and to show it in a frame', async () => {
  const { headers } = await get('/docs')
  const policy = (headers.get('Content-Security-Policy') ?? '').split('; ')
  expect(policy).toContain("default-src 'none'")
  expect(policy).toContain("script-src 'self'")
  expect(policy).toContain("style-src 'self'")
  expect(policy).toContain("connect-src 'self'")
  expect(policy).toContain("frame-ancestors 'none'")
  expect(policy.join()).not.toMatch(/unsafe|\*|http/)
  expect(headers.get('Content-Type')).toBe('text/html; charset=utf-8')
})

describe.each([
  '/openapi.json',
  '/docs',
  '/docs/page.js',
  '/docs/swagger-ui-bundle.js',
  '/docs/swagger-ui.css',
])('%s', (path) => {
  test('a file that the client has cached is not sent again', async () => {
    const { headers } = await get(path)
    const tag = headers.get('ETag') ?? ''
    expect(tag).toMatch(/^"[\w-]{22}"$/)
    expect(headers.get('Cache-Control')).toBe('no-cache')
    const again = await get(path, { headers: { 'If-None-Match': tag } })
    expect(again).toMatchObject({ status: 304, text: '' })
    expect(again.headers.get('ETag')).toBe(tag)
    expect(again.headers.get('X-Request-Id')).toMatch(/^[0-9a-f-]{36}$/)
    expect((await get(path, { headers: { 'If-None-Match': '"other"' } })).status).toBe(200)
  })

  test('a HEAD is a GET without a body', async () => {
    const whole = await get(path)
    const head = await get(path, { method: 'HEAD' })
    expect(head).toMatchObject({ status: 200, text: '' })
    for (const name of ['ETag', 'Content-Type', 'Content-Length', 'Content-Security-Policy']) {
      expect(head.headers.get(name)).toBe(whole.headers.get(name))
    }
    expect(Number(head.headers.get('Content-Length'))).toBe(Buffer.byteLength(whole.text))
  })
})

test.each(['/docs/absent.js', '/docs/..%2Fpackage.json', '/docs/index.html', '/docs/'])(
  '%s is a 404',
  async (path) => {
    expectError(await request(service, path), 404, 'No such route.')
  },
)
