import { request as httpRequest } from 'node:http'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestAdmin, type TestAdmin } from '../support/admin.ts'
import { ourScript } from '../support/pages.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { freshStores } from '../support/stores.ts'

let service: TestService
let open: TestAdmin
let guarded: TestAdmin
const password = 'correct horse: "bätteri" <staple>'
const pages = [
  '/support',
  '/sends',
  '/sends.csv',
  '/contact',
  '/suppressions',
  '/inbox',
  '/admin.css',
  '/no-such-page',
  '/',
]

beforeAll(async () => {
  service = await startTestService()
  open = await startTestAdmin(service)
  guarded = await startTestAdmin(service, { ADMIN_PASSWORD: password })
})

afterAll(async () => {
  await open.stop()
  await guarded.stop()
  await service.stop()
})

const basic = (user: string, word: string) => ({
  Authorization: `Basic ${Buffer.from(`${user}:${word}`).toString('base64')}`,
})

/** A request with any Host and from any address of this machine, as fetch doesn't let one. */
function get(url: string, headers: Record<string, string> = {}, localAddress = '127.0.0.1') {
  return new Promise<{ status: number | undefined; headers: Record<string, unknown>; body: string }>(
    (resolve, reject) => {
      const sent = httpRequest(url, { headers, localAddress, agent: false }, (response) => {
        let body = ''
        response.setEncoding('utf8')
        response.on('data', (chunk) => {
          body += chunk
        })
        response.on('end', () => resolve({ status: response.statusCode, headers: response.headers, body }))
      })
      sent.on('error', reject).end()
    },
  )
}

describe('without a password', () => {
  test.each(['localhost', 'localhost:8080', '127.0.0.1:3001', '[::1]:3001', 'admin.localhost'])(
    'it answers to the name %s',
    async (host) => {
      expect((await get(`${open.url}/support`, { Host: host })).status).toBe(200)
    },
  )

  test.each([
    'evil.example',
    'evil.example:3001',
    '127.0.0.1.evil.example',
    'localhost.evil.example',
    '10.0.0.1',
  ])(
    'it refuses the name %s, under which another site could have itself resolved to this machine',
    async (host) => {
      for (const page of pages) {
        const { status, body } = await get(open.url + page, { Host: host })
        expect(status).toBe(403)
        expect(body).toContain('Without ADMIN_PASSWORD these pages answer to localhost and 127.0.0.1 only.')
      }
    },
  )

  test('health and readiness are answered under any name', async () => {
    for (const route of ['/healthz', '/readyz']) {
      const { status, body } = await get(open.url + route, { Host: 'evil.example' })
      expect({ status, body: JSON.parse(body) }).toMatchObject({ status: 200, body: { status: 'ok' } })
    }
  })

  test('a request by HTTP/1.0 needs no Host for that, as load balancers check health, and gets no page', async () => {
    const { hostname, port } = new URL(open.url)
    const statusOf = async (path: string) => {
      const socket = connect(Number(port), hostname)
      socket.write(`GET ${path} HTTP/1.0\r\n\r\n`)
      return (await text(socket)).slice('HTTP/1.1 '.length, 'HTTP/1.1 200'.length)
    }
    expect(await Promise.all(['/healthz', '/readyz', '/support'].map(statusOf))).toEqual([
      '200',
      '200',
      '403',
    ])
  })
})

describe('with a password', () => {
  test.each(pages)('%s asks for it', async (page) => {
    const { status, headers } = await get(guarded.url + page)
    expect(status).toBe(401)
    expect(headers['www-authenticate']).toMatch(/^Basic /)
  })

  test('the user admin is let in with it, under any name of the machine', async () => {
    const headers = { ...basic('admin', password), Host: 'admin.example.com' }
    expect((await get(`${guarded.url}/support`, headers)).status).toBe(200)
  })

  test.each([
    ['another user', basic('root', password)],
    ['no user', basic('', password)],
    ['a beginning of it', basic('admin', password.slice(0, -1))],
    ['more than it', basic('admin', `${password} `)],
    ['nothing', basic('admin', '')],
    ['another scheme', { Authorization: `Bearer ${password}` }],
    ['what is no base64', { Authorization: 'Basic !!!' }],
  ])('%s does not', async (_what, headers) => {
    expect((await get(`${guarded.url}/support`, headers, '127.0.0.5')).status).toBe(401)
  })

  test('health needs none', async () => {
    expect((await get(`${guarded.url}/healthz`)).status).toBe(200)
    expect((await get(`${guarded.url}/readyz`)).status).toBe(200)
  })

  test('after ten wrong ones an address is refused, with the right one too; others are not', async () => {
    const guess = (word: string, from: string) => get(`${guarded.url}/support`, basic('admin', word), from)
    const guesses = await Promise.all(Array.from({ length: 25 }, (_, n) => guess(`guess ${n}`, '127.0.0.2')))
    const statuses = guesses.map(({ status }) => status)
    expect(statuses.filter((status) => status === 401)).toHaveLength(10)
    expect(statuses.filter((status) => status === 429)).toHaveLength(15)

    const refused = await guess(password, '127.0.0.2')
    expect(refused.status).toBe(429)
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
    expect((await guess(password, '127.0.0.3')).status).toBe(200)
  })

  test("a browser's first request without credentials does not count as a wrong password", async () => {
    for (let n = 0; n < 12; n++) await get(`${guarded.url}/support`, {}, '127.0.0.4')
    expect((await get(`${guarded.url}/support`, basic('admin', password), '127.0.0.4')).status).toBe(200)
  })

  test('it is in no log line', () => {
    expect(JSON.stringify(service.logs)).not.toContain('horse')
  })
})

describe('every answer', () => {
  test.each([...pages, '/healthz', '/support/not-an-id', '/inbox/none/media'])(
    "on %s forbids the browser to load from other hosts, to run others' scripts and to cache",
    async (page) => {
      for (const { headers } of [await get(open.url + page), await get(guarded.url + page)]) {
        const policy = String(headers['content-security-policy']).split('; ')
        expect(policy).toContain("default-src 'none'")
        expect(policy).toContain("form-action 'self'")
        expect(policy).toContain("frame-ancestors 'none'")
        expect(policy.join()).not.toMatch(/unsafe|http|\*/)
        expect(headers).toMatchObject({
          'x-content-type-options': 'nosniff',
          'referrer-policy': 'same-origin',
          'cache-control': 'no-store',
        })
      }
    },
  )

  test.each(['/support', '/inbox', '/no-such-page'])(
    '%s names no other host and has no other script',
    async (page) => {
      const { body } = await get(open.url + page)
      expect(body.replace(ourScript, '')).not.toMatch(/https?:|\/\/|<script|\son\w+=|style=/i)
      expect(body).toContain('<html lang="en">')
      expect(body).toMatch(/<title>[^<]+<\/title>/)
    },
  )
})

describe('a form', () => {
  const post = (headers: Record<string, string>, path = '/support') =>
    fetch(open.url + path, {
      method: 'POST',
      redirect: 'manual',
      headers: { 'Content-Type': 'application/x-www-form-urlencoded', ...headers },
      body: 'requestId=nothing',
    })

  test.each([
    '/support',
    '/sends',
    '/sends.csv',
    '/sends/replay',
    '/sends/cancel',
    '/contact',
    '/contact/suppress',
    '/contact/erase',
    '/suppressions/import',
    '/support/x/replay',
  ])('from another page is refused at %s, in words', async (path) => {
    for (const headers of [
      {},
      { Origin: 'https://evil.example' },
      { Origin: 'null' },
      { Origin: 'http://127.0.0.1:1' },
      { 'Sec-Fetch-Site': 'cross-site' },
      { 'Sec-Fetch-Site': 'same-site', Origin: 'http://evil.localhost' },
      { 'Content-Type': 'text/plain' },
      { 'Content-Type': 'multipart/form-data; boundary=x' },
    ] as Record<string, string>[]) {
      const response = await post(headers, path)
      expect(response.status).toBe(403)
      expect(await response.text()).toContain('This form was sent from another page.')
    }
  })

  test('from its own page, by what the browser says, is accepted, also behind a proxy that terminates TLS', async () => {
    const { status } = await post({ Origin: open.url })
    expect(status).toBe(404)
    expect((await post({ Origin: 'https://admin.example', 'Sec-Fetch-Site': 'same-origin' })).status).toBe(
      404,
    )
  })

  test('that is too long or cannot be read gets a plain sentence', async () => {
    const tooLong = await fetch(`${open.url}/support`, {
      method: 'POST',
      headers: { Origin: open.url, 'Content-Type': 'application/x-www-form-urlencoded' },
      body: `requestId=${'x'.repeat(300_000)}`,
    })
    expect(tooLong.status).toBe(413)
    expect(await tooLong.text()).toContain('This text is too long.')
    const unreadable = await post({ Origin: open.url, 'Content-Type': 'multipart/form-data; boundary=other' })
    expect(unreadable.status).toBe(400)
    expect(await unreadable.text()).toContain('This form could not be read.')
  })
})

test('while PostgreSQL is away, pages say so without internals, and it is not ready', async () => {
  const away = await startTestAdmin(service, { DATABASE_URL: 'postgres://someone@127.0.0.1:1/none' })
  try {
    for (const page of ['/sends', '/inbox', '/support/01a1fde1-ea47-76ae-9a8d-559e0203a63f']) {
      const { status, body } = await get(away.url + page)
      expect(status).toBe(503)
      expect(body).toContain(
        'PostgreSQL does not answer; check DATABASE_URL and that it runs. Then try again.',
      )
      expect(body).not.toMatch(/ECONN|someone|node_modules|\sat /)
    }
    expect((await get(`${away.url}/healthz`)).status).toBe(200)
    const notReady = await get(`${away.url}/readyz`)
    expect([notReady.status, notReady.headers['retry-after']]).toEqual([503, '1'])
  } finally {
    await away.stop()
  }
})

test('an internal error is a plain page; its stack is logged', async () => {
  const stores = await freshStores()
  const broken = await startTestAdmin({ ...service, stores })
  try {
    await runSql(stores.databaseUrl, 'alter table sandbox_messages rename column message to words')
    const { status, body } = await get(`${broken.url}/inbox`)
    expect(status).toBe(500)
    expect(body).toContain('Something went wrong in this process.')
    expect(body).not.toMatch(/sandbox_messages|column|\.ts|node_modules/)
    expect(service.logs.at(-1)).toMatchObject({ level: 'error', event: 'crashed' })
  } finally {
    await broken.stop()
  }
})

async function runSql(databaseUrl: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  await client.query(statement)
  await client.end()
}
