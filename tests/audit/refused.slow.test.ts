import { eq } from 'drizzle-orm'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { recordRefused, refusedKept } from '../../db/audit/refused.ts'
import { refusedRequests } from '../../db/schema.ts'
import { retentionTrims } from '../../db/upkeep/retention.ts'
import { permissions } from '../../src/core/accounts/api-key.ts'
import { fieldNames, oddName, parameterNames } from '../../src/core/requests/field-names.ts'
import { newId } from '../../src/core/requests/new-id.ts'
import { startTestAdmin, type TestAdmin } from '../support/admin.ts'
import type { Answer } from '../support/answer.ts'
import { type Account, buildAccount, buildKey, post, request, textBody } from '../support/builders.ts'
import { samples } from '../support/media-samples.ts'
import { getPage } from '../support/pages.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { eventually } from '../support/wait.ts'

let service: TestService
let admin: TestAdmin
let account: Account

beforeAll(async () => {
  service = await startTestService({ AUTH_FAILURE_LIMIT: '1000' })
  admin = await startTestAdmin(service)
})
afterAll(async () => {
  await admin.stop()
  await service.stop()
})
beforeEach(async () => {
  account = await buildAccount(service, {
    permissions: [...permissions],
    rateLimit: { points: 100_000, seconds: 60 },
  })
})

const rowsOf = (accountId = account.accountId) =>
  service.runtime.db.select().from(refusedRequests).where(eq(refusedRequests.accountId, accountId))

const recorded = (count: number) =>
  eventually(`${count} refused requests of the account`, async () => {
    const rows = await rowsOf()
    return rows.length === count && rows
  })

const call = (method: string, path: string, body?: unknown, apiKey = account.apiKey) =>
  request(service, path, {
    method,
    headers: {
      Authorization: `Bearer ${apiKey}`,
      ...(body !== undefined && { 'Content-Type': 'application/json' }),
    },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })

const prefix = () => account.apiKey.slice(0, 8)

test('a refused request is there with its time, key, status, message, id, route and the names of its fields', async () => {
  const before = Date.now()
  const { status, body } = await post(service, account, {
    contact: { value: '+4915112345678', nickname: 'Bob' },
    message: { type: 'text', text: { value: '' } },
    closeConversaton: true,
  })
  expect(status).toBe(400)
  const [row] = await recorded(1)
  expect(row).toEqual({
    requestId: body.requestId,
    accountId: account.accountId,
    keyPrefix: prefix(),
    at: expect.any(Date),
    status: 400,
    message: expect.stringContaining('message.text.value: '),
    route: 'POST /v1/channels/:channelId/messages',
    fields: [
      'contact',
      'contact.value',
      'contact.nickname',
      'message',
      'message.type',
      'message.text',
      'message.text.value',
      'closeConversaton',
    ],
  })
  expect(row?.at.getTime()).toBeGreaterThan(before - 1000)
})

/** In each value that is sent, and in each name that isn't one of ours. */
const marker = 'zqmarker'
const asText = (value: string) => ({
  contact: { value: '+4915112345678' },
  message: { type: 'text', text: { value } },
})
const asMedia = (media: object) => ({ ...asText(''), message: { type: 'media', media } })
const png = samples.png.toString('base64')
const toChannel = (body: unknown) => () => post(service, account, body)

const refusals: [string, () => Promise<Answer>][] = [
  ['a contact that is none', toChannel({ ...asText('x'), contact: { value: `${marker}@` } })],
  ['a contact of a wrong type', toChannel({ ...asText('x'), contact: { value: 'x', type: marker } })],
  [
    'a name with a line break',
    toChannel({ ...asText('x'), contact: { value: '+4915112345678', name: `${marker}\n` } }),
  ],
  ['a message type that is none', toChannel({ ...asText('x'), message: { type: marker } })],
  ['a text that is too long', toChannel(asText(marker.repeat(1000)))],
  ['a text with NUL', toChannel(asText(`${marker}\u0000`))],
  ['a number where a text belongs', toChannel(asText(4711_0815 as unknown as string))],
  ['a field that is a phone number', toChannel({ ...asText('x'), '+49 151 99990000': marker })],
  ['a flow that is none', toChannel({ ...asText('x'), flowId: marker })],
  [
    'different flows',
    toChannel({ ...asText('x'), flowId: marker, message: { ...asText('x').message, flowId: `${marker}2` } }),
  ],
  ['a time that is none', toChannel({ ...asText('x'), sendAt: marker })],
  ['a time too far ahead', toChannel({ ...asText('x'), sendAt: '2999-01-02T03:04:05Z' })],
  ['a reference with a control character', toChannel({ ...asText('x'), reference: `${marker}\u0007` })],
  [
    'a private address of media',
    toChannel(asMedia({ mediaType: 'image', mediaUrl: `http://10.98.76.54/${marker}` })),
  ],
  ['a link that is none', toChannel(asMedia({ mediaType: 'image', mediaUrl: marker }))],
  [
    'a mimetype that contradicts',
    toChannel(asMedia({ mediaType: 'image', base64: png, mimetype: 'image/jpeg' })),
  ],
  [
    'content that is no image',
    toChannel(asMedia({ mediaType: 'image', base64: Buffer.from(marker).toString('base64') })),
  ],
  ['base64 that is none', toChannel(asMedia({ mediaType: 'image', base64: `${marker}!` }))],
  [
    'a file name with a path',
    toChannel(asMedia({ mediaType: 'image', base64: png, filename: `${marker}/x` })),
  ],
  ['a body that is no JSON', toChannel(`{"contact": ${marker}`)],
  [
    'a batch with faults',
    () => call('POST', '/v1/messages/batch', { messages: [{ ...asText('x'), channelId: marker }, marker] }),
  ],
  ['a foreign channel', () => call('POST', '/v1/messages', { ...asText('x'), channelId: marker })],
  [
    'a query with faults',
    () =>
      call('GET', `/v1/messages?limit=${marker}&${marker}%20=1&contact=${marker}&status=a&status=${marker}`),
  ],
  ['an unknown id', () => call('GET', `/v1/messages/${marker}`)],
  [
    'a private address of an endpoint',
    () => call('POST', '/v1/endpoints', { url: `https://10.98.76.54/${marker}` }),
  ],
  ['an endpoint with faults', () => call('POST', '/v1/endpoints', { url: marker, events: [marker] })],
  [
    'a suppression with faults',
    () => call('POST', '/v1/suppressions', { contact: { value: marker }, reason: `${marker}\n` }),
  ],
  [
    'a suppression of a foreign channel',
    () => call('POST', '/v1/suppressions', { contact: { value: 'ann@example.com' }, channelId: marker }),
  ],
  [
    'a cancel of both',
    () => call('POST', '/v1/messages/cancel', { reference: marker, flowId: marker, after: marker }),
  ],
  ['a route that does not exist', () => call('POST', `/v1/${marker}`, asText(marker))],
  ['a wrong method', () => call('PUT', `/v1/messages?limit=${marker}`, asText(marker))],
]

test.each(refusals)('no value is kept of %s', async (_what, refuse) => {
  const { status } = await refuse()
  expect(status).toBeGreaterThanOrEqual(400)
  expect(status).toBeLessThan(500)
  const [row] = await recorded(1)
  expect(row?.message).not.toBe('')
  const kept = JSON.stringify({ ...row, requestId: '', accountId: '' })
  for (const value of [
    marker,
    '4915112345678',
    '99990000',
    '47110815',
    '10.98.76.54',
    '2999',
    'image/jpeg',
    'ann@example.com',
  ])
    expect(kept).not.toContain(value)
})

test('the variables of a template: its own that are missing are named, what the client wrote is not', async () => {
  const { setTemplate } = await import('../../db/accounts/templates.ts')
  const { channelId } = account
  await setTemplate(service.runtime.db, {
    channelId,
    name: 'welcome',
    definition: { text: 'Hello {{name}}' },
  })
  const send = (variables: object[]) =>
    post(service, account, {
      ...asText(''),
      message: { type: 'template', template: { name: 'welcome', variables } },
    })
  expect((await send([])).status).toBe(400)
  expect((await send([{ key: marker, value: marker }])).status).toBe(400)
  const messages = (await recorded(2)).map(({ message }) => message)
  expect(messages.toSorted()).toEqual([
    'message.template.variables: name is missing',
    'message.template.variables: not those of the template',
  ])
})

describe('whose it is', () => {
  test('a revoked and an expired key are known, and a request without a permission is there', async () => {
    const { accountId } = account
    const keys = [
      await buildKey(service, accountId, { revoked: true }),
      await buildKey(service, accountId, { expiresAt: new Date(Date.now() - 60_000) }),
      await buildKey(service, accountId, { permissions: ['messages:read'] }),
    ]
    const answers = await Promise.all(
      keys.map(({ apiKey }) => post(service, { ...account, apiKey }, textBody())),
    )
    expect(answers.map(({ status }) => status)).toEqual([401, 401, 403])
    const rows = await recorded(3)
    expect(rows.map(({ keyPrefix, status }) => [keyPrefix, status]).toSorted()).toEqual(
      keys.map(({ apiKey }, index) => [apiKey.slice(0, 8), answers[index]?.status]).toSorted(),
    )
  })

  test('a 429 and a 422 are there; an accepted request, and one with an unknown key, are not', async () => {
    const limited = await buildAccount(service, { rateLimit: { points: 2, seconds: 3600 } })
    account = limited
    const repeated = { 'Idempotency-Key': marker }
    expect((await post(service, limited, textBody('1'), repeated)).status).toBe(202)
    expect((await post(service, limited, textBody('2'), repeated)).status).toBe(422)
    expect((await post(service, limited, textBody('3'))).status).toBe(202)
    expect((await post(service, limited, textBody('4'))).status).toBe(429)
    expect(
      (await post(service, { ...limited, apiKey: `${limited.apiKey.slice(0, -1)}_` }, textBody())).status,
    ).toBe(401)
    const rows = await recorded(2)
    expect(rows.map(({ status }) => status).toSorted()).toEqual([422, 429])
    expect(JSON.stringify(rows)).not.toContain(marker)
  })
})

describe('a flood', () => {
  test('costs PostgreSQL a few rows a second, and the rest is counted', async () => {
    const left = async () => (await service.api.metrics.refusedUnrecorded.get()).values[0]?.value ?? 0
    const before = await left()
    let refused = 0
    for (let sent = 0; sent < 400; sent += 100) {
      const answers = await Promise.all(Array.from({ length: 100 }, () => post(service, account, {})))
      // A slow machine answers some with a 503.
      refused += answers.filter(({ status }) => status === 400).length
    }
    const total = await eventually('all to be recorded or counted', async () => {
      const rows = (await rowsOf()).length
      return rows + (await left()) - before === refused && rows
    })
    expect(total).toBeGreaterThan(0)
    expect(await left()).toBeGreaterThan(before)
  })

  test('leaves the last 1,000 of an account, and all of another', async () => {
    const { db } = service.runtime
    const other = await buildAccount(service)
    const row = ({ keyId }: Account, requestId = newId()) => ({
      ...{
        requestId,
        keyId,
        at: new Date(),
        status: 400,
        message: 'body: is empty',
        route: 'POST /v1/messages',
      },
      fields: [],
    })
    await recordRefused(db, [row(other)])
    const made: string[] = []
    for (let page = 0; page < 3; page++) {
      const rows = Array.from({ length: 500 }, () => row(account))
      made.push(...rows.map(({ requestId }) => requestId))
      await recordRefused(db, rows)
    }
    const kept = (await rowsOf()).map(({ requestId }) => requestId)
    expect(kept.toSorted()).toEqual(made.toSorted().slice(-refusedKept))
    expect(await rowsOf(other.accountId)).toHaveLength(1)
  })

  test('after a day they are removed', async () => {
    const { db } = service.runtime
    const { keyId } = account
    const idOf = (hoursAgo: number) => {
      const hex = (Date.now() - hoursAgo * 3_600_000).toString(16).padStart(12, '0')
      return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-${newId().slice(-12)}`
    }
    const fixed = { keyId, at: new Date(), status: 400, message: 'm', route: 'r', fields: [] }
    await recordRefused(
      db,
      [25, 23].map((hours) => ({ ...fixed, requestId: idOf(hours) })),
    )
    const trims = retentionTrims({
      days: 90,
      mediaHours: 24,
      callbackDays: 7,
      auditDays: 365,
      usageMonths: 25,
    })
    expect(await trims.refusedRequests?.(db, 100)).toBe(1)
    expect(await rowsOf()).toHaveLength(1)
  })
})

describe('the page /refused', () => {
  const page = (query: Record<string, string> = {}) =>
    getPage(`${admin.url}/refused?${new URLSearchParams(query)}`)

  test('shows a request, and is filtered by account and answer', async () => {
    const { body } = await post(service, account, { contact: { value: '+4915112345678' } })
    await recorded(1)
    const { text } = await page({ account: account.accountId })
    for (const shown of [
      body.requestId,
      'message: required',
      'contact, contact.value',
      `${prefix()}…`,
      '400',
    ])
      expect(text).toContain(shown)
    expect((await page({ account: account.accountId, status: '400' })).text).toContain(body.requestId)
    expect((await page({ account: account.accountId, status: '429' })).text).toContain('No request found.')
    expect((await page()).text).toContain(body.requestId)
  })

  test.each([
    [{ account: 'nobody' }, 404],
    [{ account: 'a\u0000b' }, 404],
    [{ status: '200' }, 400],
    [{ before: 'x' }, 400],
  ] as const)('says what is wrong with %j', async (query, status) => {
    const answered = await page(query)
    expect(answered.status).toBe(status)
    expect(answered.html).toContain('role="alert"')
  })

  test('leads from page to page, each request once', async () => {
    const fixed = { keyId: account.keyId, at: new Date(), status: 409, message: 'm', route: 'r', fields: [] }
    const ids = Array.from({ length: 120 }, () => newId())
    await recordRefused(
      service.runtime.db,
      ids.map((requestId) => ({ ...fixed, requestId })),
    )
    const seen: string[] = []
    for (let path: string | undefined = `/refused?account=${account.accountId}&status=409`; path; ) {
      const { html } = await getPage(admin.url + path)
      seen.push(...[...html.matchAll(/class="below id">([0-9a-f-]{36})</g)].map(([, id = '']) => id))
      path = /href="([^"]*)">Older/.exec(html)?.[1]?.replaceAll('&amp;', '&')
    }
    expect(seen).toEqual(ids.toSorted().toReversed())
  })
})

test('names of fields: lists once, four levels, at most 50, and no name that may be a value', () => {
  expect(fieldNames({ a: [{ b: 1 }, { c: { d: { e: { f: 1 } } } }] })).toEqual(
    ['a', 'a[].b', 'a[].c', 'a[].c.d', 'a[].c.d.e'].slice(0, 5),
  )
  expect(fieldNames({ '+4915112345678': 1, 'ann@example.com': 2 })).toEqual([oddName])
  expect(fieldNames({ 'field-Hello': 1, text: 'hello', type: 'text' })).toEqual([oddName, 'text', 'type'])
  expect(fieldNames(Object.fromEntries(Array.from({ length: 90 }, (_, n) => [`n${n}`, 1])))).toHaveLength(50)
  for (const none of [null, 'text', 7, [], {}]) expect(fieldNames(none)).toEqual([])
  expect(parameterNames('?limit=1&limit=2&%2B49=3')).toEqual(['?limit', `?${oddName}`])
  expect(parameterNames('?hello=a&contact=Hello')).toEqual([`?${oddName}`, '?contact'])
})
