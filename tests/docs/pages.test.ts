import { describe, expect, test } from 'vitest'
import { guideNames } from '../../src/api/docs/guide.ts'
import { formSchema } from '../../src/providers/files/form-schema.ts'
import { request } from '../support/builders.ts'
import { expectError } from '../support/expect-error.ts'
import { document, documentSettings } from '../support/openapi.ts'
import { rawRequest } from '../support/raw-http.ts'
import { serviceOfFile, startTestService } from '../support/service.ts'

const publicBaseUrl = documentSettings.PUBLIC_BASE_URL ?? ''
const service = await serviceOfFile({
  PUBLIC_BASE_URL: publicBaseUrl,
  RATE_LIMIT_POINTS: String(documentSettings.RATE_LIMIT_POINTS),
})

async function get(path: string, init: RequestInit = {}) {
  const response = await fetch(new URL(path, service.url), init)
  const { status, headers } = response
  return { status, headers, text: await response.text() }
}

/** A page as a client gets it that reaches the service by this address. */
async function getBy(headers: Record<string, string>, path = '/docs/first-send') {
  const { body } = await rawRequest(service, { method: 'GET', path, headers })
  return typeof body === 'string' ? body : JSON.stringify(body)
}

const guides = guideNames.map((name) => `/docs/${name}`)
const operations = [
  'send-message',
  'get-message',
  'list-channels',
  'on-message-sent',
  'receive-receipts',
  'get-media',
]
const pages = [
  '/docs',
  ...guides,
  ...operations.map((name) => `/docs/${name}`),
  '/docs/schemas',
  '/docs/search?q=callback',
]
const linked = (html: string) =>
  [...html.matchAll(/(?:src|href|action)="([^"]+)"/g)].map(([, link = '']) => link.replaceAll('&amp;', '&'))

test('a guide is at its former address, too', async () => {
  const { status, text } = await get('/docs/typed-clients')
  expect([status, text]).toEqual([200, (await get('/docs/clients')).text])
  expect((await get('/docs/typed-clients.md')).text).toContain('# Clients')
})

describe('the OpenAPI document', () => {
  test('is that of the settings, and its servers are the public address and where it came from', async () => {
    const { status, body } = await request(service, '/openapi.json')
    expect(status).toBe(200)
    const expected = JSON.stringify(document).replaceAll('https://address.invalid', service.url)
    expect(body).toEqual(JSON.parse(expected))
    expect(body.servers.map(({ url }: { url: string }) => url)).toEqual(['https://messages.example.com', '/'])
  })

  test('links a guide from each tag, at the address by which it was read', async () => {
    const { body } = await request(service, '/openapi.json')
    expect(body.tags.length).toBeGreaterThan(4)
    for (const { name, externalDocs } of body.tags) {
      expect(externalDocs?.url, name).toMatch(`${service.url}/docs/`)
      const { status, text } = await get(externalDocs.url)
      expect([status, /<h1/.test(text)]).toEqual([200, true])
    }
  })

  test('has no media links without a public address', async () => {
    const other = await startTestService({}, service.stores)
    const { body } = await request(other, '/openapi.json')
    expect(Object.keys(body.paths)).not.toContain('/media/{token}')
    expect(body.servers.map(({ url }: { url: string }) => url)).toEqual(['/'])
    await other.stop()
  })
})

test.each(pages)('every link of %s opens, and leads to a section that is there', async (page) => {
  const { text } = await get(page)
  const links = [...new Set(linked(text))]
  expect(links.length).toBeGreaterThan(20)
  const foreign = links.filter((link) => /^https?:/.test(link) && !link.startsWith(`${service.url}/`))
  // For people who want to read about a standard or a tool. Nothing is loaded from there.
  for (const link of foreign) expect(link).toMatch(/^https:\/\/(www\.standardwebhooks\.com|[\w-]+\.dev)$/)
  const read = new Map<string, string>()
  for (const link of links.filter((one) => !foreign.includes(one))) {
    const { pathname, search, hash } = new URL(link, service.url + page)
    const path = pathname + search
    if (!read.has(path)) {
      const { status, text: content } = await get(path)
      expect(status, link).toBe(200)
      read.set(path, content)
    }
    if (hash !== '') expect(read.get(path), link).toContain(`id="${hash.slice(1)}"`)
  }
})

test('the pages load only what this service serves, by relative addresses, so that they work behind any proxy', async () => {
  for (const page of pages) {
    const { text } = await get(page)
    const loaded = [...text.matchAll(/<(?:script|link|img)[^>]* (?:src|href)="([^"]+)"/g)].map(
      ([, path]) => path,
    )
    expect(loaded).toHaveLength(4)
    for (const path of loaded) expect(path).toMatch(/^(?:docs\/)?[\w-]+\.(?:css|js|svg)$/)
    expect(linked(text).filter((link) => link.startsWith('/'))).toEqual([])
  }
})

describe('samples and links name the address by which the page is read', () => {
  test('with its port', async () => {
    const text = await getBy({ Host: 'messages.local:8080' })
    expect(text).toContain('http://messages.local:8080/v1/messages')
    expect(text).not.toMatch(/127\.0\.0\.1:3000|address\.invalid/)
    expect(await getBy({ Host: '[::1]:3000' }, '/docs')).toContain('http://[::1]:3000/v1/messages')
  })

  test('behind a proxy that ends TLS, and at the public address', async () => {
    const proxied = await getBy({ Host: 'api.acme.dev', 'X-Forwarded-Proto': 'https' })
    expect(proxied).toContain('https://api.acme.dev/v1/messages')
    expect(await getBy({ Host: new URL(publicBaseUrl).host }, '/docs')).toContain(
      `${publicBaseUrl}/v1/messages`,
    )
  })

  test.each(['"><script>alert(1)</script>', "x'; rm -rf", 'a b', '$(id)', 'x/y', 'x'.repeat(5000)])(
    'but not one that could be run: %s',
    async (host) => {
      for (const path of ['/docs', '/docs/first-send', '/openapi.json']) {
        const text = await getBy({ Host: host }, path)
        expect(text).not.toContain(host)
      }
    },
  )

  test('and a copy for one address is not taken for that of another', async () => {
    const { headers } = await get('/docs/errors')
    const tag = headers.get('ETag') ?? ''
    const { status } = await rawRequest(service, {
      method: 'GET',
      path: '/docs/errors',
      headers: { Host: 'messages.local', 'If-None-Match': tag },
    })
    expect(status).toBe(200)
  })
})

describe('the search', () => {
  const search = async (query: string) => (await get(`/docs/search?q=${encodeURIComponent(query)}`)).text

  test('finds sections of guides and operations that have all words, in any case', async () => {
    const text = await search('VERIFY callback')
    expect(text).toContain('<a href="callbacks#verify-it">Callbacks: Verify it</a>')
    expect(await search('idempotent-replayed')).toContain('href="idempotent-retry#')
    expect(await search('cancel waits')).toContain('href="cancel-message"')
    expect(await search('verify zebra')).toContain('Nothing found')
  })

  test.each([
    ['sandbox', 'try-it#'],
    ['pagination', 'pagination#'],
    ['unsubscribe', 'suppressions#'],
    ['attachment', 'media#'],
    ['closeConversation', 'send-message'],
    ['webhok', 'callbacks#'],
    ['idempotncy', 'errors#invalid_idempotency_key'],
    ['delivred', 'receipts#'],
    ['sandbx', 'try-it#'],
    ['rate limit', 'errors#rate_limited'],
    ['channel_not_found', 'errors#channel_not_found'],
    ['getKey', 'get-key'],
  ])('finds %s', async (query, href) => {
    const [, found = ''] = (await search(query)).split('<ul class="found">')
    expect(found.split('</ul>')[0]).toContain(`<li><a href="${href}`)
  })

  test('does not find a short word within others', async () => {
    expect(await search('cc')).toContain('Found: 1<')
  })

  test.each(['', '   ', '"><script>alert(1)</script>', '$&', 'a'.repeat(5000), '(', '\u0000'])(
    'answers %j with a page, and shows it as text',
    async (query) => {
      const { status, text } = await get(`/docs/search?q=${encodeURIComponent(query)}`)
      expect(status).toBe(200)
      expect(text).not.toContain('<script>alert')
      expect(text.length).toBeLessThan(30_000)
    },
  )
})

test('headers forbid the browser to load, run or call anything from other hosts, and to show a page in a frame', async () => {
  for (const page of pages) {
    const { headers } = await get(page)
    const policy = (headers.get('Content-Security-Policy') ?? '').split('; ')
    expect(policy).toContain("default-src 'none'")
    expect(policy).toContain("script-src 'self'")
    expect(policy).toContain("style-src 'self'")
    expect(policy).toContain("connect-src 'self'")
    expect(policy).toContain("frame-ancestors 'none'")
    expect(policy.join()).not.toMatch(/unsafe|\*|http/)
    expect(headers.get('Content-Type')).toBe('text/html; charset=utf-8')
    expect(headers.get('X-Content-Type-Options')).toBe('nosniff')
  }
})

describe.each([
  '/openapi.json',
  '/llms.txt',
  '/docs',
  '/docs/',
  '/docs/errors',
  '/docs/errors.md',
  '/docs/send-message',
  '/docs/send-message.md',
  '/docs/docs.js',
  '/docs/docs.css',
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

test.each([
  '/docs/absent.js',
  '/docs/..%2Fpackage.json',
  '/docs/index.html',
  '/docs/site.json',
  '/docs/search.md',
])('%s is a 404', async (path) => {
  expectError(await request(service, path), 404, 'No such route.')
})

describe('a page that is absent', () => {
  const browser = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'

  test('is HTML for a browser, with the headers of an error, and leads on', async () => {
    const { status, headers, text } = await get('/docs/absent', { headers: { Accept: browser } })
    expect(status).toBe(404)
    expect(headers.get('Content-Type')).toBe('text/html; charset=utf-8')
    expect(headers.get('Error-Code')).toBe('route_not_found')
    expect(headers.get('X-Request-Id')).toMatch(/^[0-9a-f-]{36}$/)
    expect(headers.get('Content-Security-Policy')).toContain("default-src 'none'")
    expect(text).toContain('<h1>There is no such page</h1>')
    expect(text).toContain('<a href="../docs">overview</a>')
  })

  test.each(['application/json', '*/*', 'application/json, text/html;q=0.5'])(
    'is the error in JSON for who accepts %s',
    async (accept) => {
      const answer = await request(service, '/docs/absent', { headers: { Accept: accept } })
      expectError(answer, 404, 'No such route.')
    },
  )

  test('a page that is there does not depend on what is accepted', async () => {
    for (const accept of [browser, 'application/json', '*/*'])
      expect((await get('/docs/errors', { headers: { Accept: accept } })).status).toBe(200)
  })
})

describe('for programs', () => {
  test('each guide and each route is Markdown, too', async () => {
    for (const page of [...guides, ...operations.map((name) => `/docs/${name}`)]) {
      const { status, headers, text } = await get(`${page}.md`)
      expect([status, headers.get('Content-Type')]).toEqual([200, 'text/markdown; charset=utf-8'])
      expect(text).toMatch(/^# /)
      expect(text).not.toMatch(/127\.0\.0\.1:3000|address\.invalid|<!--/)
    }
  })

  test('llms.txt names each guide and each route, and its links open', async () => {
    const { headers, text } = await get('/llms.txt')
    expect(headers.get('Content-Type')).toBe('text/plain; charset=utf-8')
    expect(text).toMatch(/^# Outbound Messaging API\n\n> /)
    const links = [...text.matchAll(/\]\(([^)]+)\)/g)].map(([, link = '']) => link)
    for (const guide of guides) expect(links).toContain(`${service.url}${guide}.md`)
    expect(links.length).toBeGreaterThan(50)
    for (const link of links) expect((await get(link)).status, link).toBe(200)
  })
})

test('samples are marked by classes, and no page has a style or a script within it', async () => {
  const sample = (await get('/docs/send-message')).text
  expect(sample).toMatch(/<span class="string[\w-]*">/)
  expect((await get('/docs/idempotent-retry')).text).toContain('<span class="keyword">async</span>')
  for (const page of pages) expect((await get(page)).text).not.toMatch(/ style="|<style|<script(?! src)/)
})

test('the page of a route has each field of its body, with the values of all its forms', async () => {
  const text = (await get('/docs/send-message')).text
  const fieldOf = (path: string) =>
    new RegExp(`<li><p><code>${path}</code>.*?</li>`, 's').exec(text)?.[0] ?? ''
  for (const type of ['text', 'template', 'media'])
    expect(fieldOf('message.type')).toContain(`<code>${type}</code>`)
  expect(fieldOf('message.media.mediaType')).toContain('required')
  expect(fieldOf('message.text')).not.toContain('required')
  expect(fieldOf('expiresInSeconds')).toContain('604800')
})

test('pages lead to the one before and the one after, in the order of the contents', async () => {
  const order = linked((await get('/docs')).text).filter((link) => /^docs\/[\w-]+$/.test(link))
  const names = [...new Set(order.map((link) => link.replace('docs/', '')))]
  const next = (text: string) => /rel="next" href="([^"]+)"/.exec(text)?.[1]
  const seen = ['first-send']
  for (let at: string | undefined = 'first-send'; at; ) {
    at = next((await get(`/docs/${at}`)).text)
    if (at) seen.push(at)
  }
  expect(names.filter((name) => !seen.includes(name) && !['search', 'schemas'].includes(name))).toEqual([])
  expect(new Set(seen).size).toBe(seen.length)
})

test('no page is so long that nobody reads it', async () => {
  for (const page of pages.filter((one) => one !== '/docs/schemas'))
    expect((await get(page)).text.length, page).toBeLessThan(90_000)
})

test('the JSON Schema of provider files is served, as the command prints it', async () => {
  const response = await fetch(`${service.url}/docs/provider-file.schema.json`)
  expect(response.headers.get('Content-Type')).toBe('application/json')
  expect(await response.json()).toEqual(JSON.parse(JSON.stringify(formSchema())))
})
