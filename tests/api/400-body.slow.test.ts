import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { eq } from 'drizzle-orm'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sends } from '../../db/schema.ts'
import { refuseOtherType } from '../../src/api/body/body-headers.ts'
import { maxHeaders } from '../../src/api/http/listen.ts'
import { sendRequestSchemas } from '../../src/core/sends/send-request.ts'
import type { Answer } from '../support/answer.ts'
import { type Account, buildAccount, post, request, textBody } from '../support/builders.ts'
import { cpuMsOf } from '../support/cpu-time.ts'
import { expectError, expectFault, expectNothingAccepted, holdings } from '../support/expect-error.ts'
import { rawBytes, rawRequest } from '../support/raw-http.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { eventually } from '../support/wait.ts'

let service: TestService
let account: Account

beforeAll(async () => {
  service = await startTestService()
  account = await buildAccount(service)
})
afterAll(() => service.stop())

const good = JSON.stringify(textBody())

function headersOf(of: Account = account) {
  return { Authorization: `Bearer ${of.apiKey}`, 'Content-Type': 'application/json' }
}

function pathOf(of: Account = account) {
  return `/v1/channels/${of.channelId}/messages`
}

async function expectRefused(answer: Answer, message: RegExp) {
  expectError(answer, 400, message)
  await expectNothingAccepted(service, answer)
}

describe('Content-Type', () => {
  test.each([
    'text/plain',
    'application/xml',
    'application/jsonp',
    'application/vnd.api+json',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/json, text/plain',
    'application/json charset=utf-8',
    'application/json; charset',
    'application/json; =utf-8',
    'application/json; charset=',
    'application/json; charset = utf-8',
    'application/json; a="b',
    'application/json; a="b"c',
  ])('%s is refused', async (type) => {
    await expectRefused(await post(service, account, good, { 'Content-Type': type }), /^Content-Type: /)
  })

  test('none is refused', async () => {
    const answer = await rawRequest(service, {
      path: pathOf(),
      headers: { Authorization: `Bearer ${account.apiKey}` },
      chunks: [good],
    })
    await expectRefused(answer, /^Content-Type: /)
  })

  test.each([
    ['iso-8859-1', 'application/json; charset=iso-8859-1'],
    ['utf-16', 'application/json; charset=utf-16'],
    ['UTF-16LE', 'application/json; a=b; CHARSET="UTF-16LE"'],
    ['us-ascii', 'application/json;charset=us-ascii;'],
    ['latin1', 'application/json; charset=utf-8; charset=latin1'],
    ['utf-7', 'application/json; charset="utf\\-7"'],
    ['another one', 'application/json; charset=""'],
    ['another one', 'application/json; charset="<b>utf-8</b>"'],
    ['another one', `application/json; charset=${'x'.repeat(41)}`],
  ])('the charset %s is refused, and named: %s', async (charset, type) => {
    const answer = await post(service, account, good, { 'Content-Type': type })
    await expectRefused(answer, new RegExp(`^Content-Type: the charset has to be UTF-8, and is ${charset}$`))
    expect(JSON.stringify(service.logsOf(answer.body.requestId))).not.toContain(charset)
  })

  test.each([
    'application/json',
    'application/json;',
    'application/json ; ',
    'application/json;;',
    'application/json; charset=utf-8',
    'application/json; charset=utf8',
    'application/json;charset=Utf-8;',
    'application/json;\tcharset="utf\\-8"',
    'Application/JSON;charset="UTF-8"',
    'application/json; version=1; q="a;b,\\"c\\""; charset="utf8"',
    "application/json; odata.metadata=minimal; x-a!#$%&'*+.^_`|~=1",
    'application/json; charset*=x',
  ])('%s is taken', async (type) => {
    const { channelId } = account
    const message = { ...textBody(), channelId }
    const sent = await Promise.all(
      [
        { path: pathOf(), body: textBody() },
        { path: '/v1/messages', body: message },
        { path: '/v1/messages/batch', body: { messages: [message] } },
      ].map(({ path, body }) => {
        const headers = { ...headersOf(), 'Content-Type': type }
        return request(service, path, { method: 'POST', headers, body: JSON.stringify(body) })
      }),
    )
    expect(sent.map(({ status }) => status)).toEqual([202, 202, 202])
    const { requestId } = sent[0]?.body ?? {}
    const path = `/v1/messages/${requestId}/cancel`
    const headers = { ...headersOf(), 'Content-Type': type }
    expect((await request(service, path, { method: 'POST', headers, body: '{}' })).status).toBe(200)
  })

  test('however long, it is checked quickly', async () => {
    for (const part of [' ', ';', '; ', ';a=b', ';a="', 'a', '"\\'])
      for (const end of ['', 'x', '"'])
        expect(
          await cpuMsOf(() => {
            try {
              refuseOtherType(`application/json${part.repeat(16_000 / part.length)}${end}`)
            } catch {}
          }),
        ).toBeLessThan(100)
  })
})

describe('Content-Encoding', () => {
  test.each([
    ['gzip', gzipSync(good)],
    ['gzip', good],
    ['br', good],
    ['x-identity', good],
    ['identity, gzip', good],
    ['identity, identity', good],
    ['', good],
  ])('%s is refused', async (encoding, body) => {
    await expectRefused(
      await post(service, account, body, { 'Content-Encoding': encoding }),
      /^Content-Encoding: /,
    )
  })

  test.each(['identity', 'Identity', ' IDENTITY '])('%j is none, and taken', async (encoding) => {
    expect((await post(service, account, good, { 'Content-Encoding': encoding })).status).toBe(202)
  })
})

describe('text that is no UTF-8 is refused rather than repaired', () => {
  const around = (bytes: number[]) =>
    Buffer.concat([
      Buffer.from('{"contact":{"value":"+4915112345678"},"message":{"type":"text","text":{"value":"a'),
      Buffer.from(bytes),
      Buffer.from('b"}}}'),
    ])
  test.each([
    ['a byte that never occurs', around([0xff])],
    ['Latin-1', around([0xe9])],
    ['an overlong form', around([0xc0, 0xaf])],
    ['half a surrogate pair', around([0xed, 0xa0, 0x80])],
    ['a code point beyond the last', around([0xf4, 0x90, 0x80, 0x80])],
    ['a character cut off at the end', Buffer.from([...Buffer.from(good), 0xe2, 0x82])],
    ['UTF-16', Buffer.from(`\ufeff${good}`, 'utf16le')],
  ])('%s', async (_what, body) => {
    await expectRefused(await post(service, account, body), /^body: .*UTF-8/)
  })
})

describe('size', () => {
  const limit = 2048
  let small: TestService
  let owner: Account

  beforeAll(async () => {
    small = await startTestService({ MAX_BODY_BYTES: String(limit) })
    owner = await buildAccount(small)
  })
  afterAll(() => small.stop())

  const ofBytes = (size: number) => good + ' '.repeat(size - good.length)
  const chunked = (text: string) => [text.slice(0, 100), text.slice(100, 1500), text.slice(1500)]

  test('a body of exactly the limit is accepted, with a declared length and without', async () => {
    expect((await post(small, owner, ofBytes(limit))).status).toBe(202)
    const answer = await rawRequest(small, {
      path: pathOf(owner),
      headers: headersOf(owner),
      chunks: chunked(ofBytes(limit)),
    })
    expect(answer.status).toBe(202)
  })

  test('a byte more is refused, with a declared length and without', async () => {
    expectError(await post(small, owner, ofBytes(limit + 1)), 400, /^body: .*2048 bytes/)
    const answer = await rawRequest(small, {
      path: pathOf(owner),
      headers: headersOf(owner),
      chunks: chunked(ofBytes(limit + 1)),
    })
    expectError(answer, 400, /^body: .*2048 bytes/)
  })

  test('a body without an end is cut at the limit', async () => {
    async function* endless() {
      for (;;) {
        yield ' '.repeat(256)
        await sleep(5)
      }
    }
    const answer = await rawRequest(small, {
      path: pathOf(owner),
      headers: headersOf(owner),
      chunks: endless(),
    })
    expectError(answer, 400, /^body: .*2048 bytes/)
  })

  test('a client that sends a body far over the limit gets its answer although the rest is not read', async () => {
    expectError(await post(small, owner, ofBytes(5_000_000)), 400, /^body: .*2048 bytes/)
  })

  test('a declared length over the limit is refused before the body comes and before the key is checked', async () => {
    const answer = await rawRequest(service, {
      path: pathOf(),
      headers: { 'Content-Type': 'application/json', 'Content-Length': 26_214_401 },
      keepOpen: true,
    })
    expectError(answer, 400, /^body: .*26214400 bytes/)
  })

  test('a declared length of exactly 25 MiB is not refused for it', async () => {
    const answer = await rawRequest(service, {
      path: pathOf(),
      headers: { 'Content-Type': 'application/json', 'Content-Length': 26_214_400 },
      keepOpen: true,
    })
    expectError(answer, 401)
  })
})

describe('what is no JSON object is refused', () => {
  test.each([
    ['nothing', ''],
    ['white space', ' \n'],
    ['null', 'null'],
    ['an array', '[]'],
    ['an array of sends', `[${good}]`],
    ['a string', '"text"'],
    ['a number', '1'],
    ['true', 'true'],
    ['JSON in a string', JSON.stringify(good)],
    ['an object cut off', good.slice(0, -1)],
    ['an object and more', `${good}x`],
    ['two objects', good + good],
    ['a comma too many', '{"contact":{"value":"+4915112345678"},}'],
    ['single quotes', "{'contact':{}}"],
    ['a comment', `/* hello */ ${good}`],
    ['NaN', '{"contact":NaN}'],
    ['a line break in a string', '{"contact":{"value":"\n"}}'],
    ['a raw NUL', '{"contact":{"value":"\0"}}'],
  ])('%s', async (_what, body) => {
    await expectRefused(await post(service, account, body), /body/)
  })

  test.each([
    ['nothing', '', 'body: is empty; send a JSON object'],
    ['white space', ' \r\n\t', 'body: is empty; send a JSON object'],
    ['a byte order mark', '\ufeff', 'body: is empty; send a JSON object'],
    ['much white space', ' '.repeat(300_000), 'body: is empty; send a JSON object'],
    ['null', 'null', 'body: has to be an object, not null'],
    ['null among white space', ' null\n', 'body: has to be an object, not null'],
  ])('the message about %s says so, on each route', async (_what, body, message) => {
    for (const path of [pathOf(), '/v1/messages', '/v1/messages/batch']) {
      const answer = await request(service, path, { method: 'POST', headers: headersOf(), body })
      expectError(answer, 400)
      expect(answer.body.message).toBe(message)
    }
  })

  test('an empty body without a length', async () => {
    await expectRefused(
      await rawRequest(service, { path: pathOf(), headers: headersOf() }),
      /^body: is empty; send a JSON object$/,
    )
  })
})

describe('nesting deeper than 32 is refused', () => {
  const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)
  const objects = (depth: number) => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`
  test.each([
    ['33 arrays', 'message.text.value', `{"type":"text","text":{"value":${nested(33)}}}`],
    ['100,000 arrays', 'message.text.value', `{"type":"text","text":{"value":${nested(100_000)}}}`],
    [
      '100,000 objects in an unknown field',
      'message.deep',
      `{"type":"text","text":{"value":"x"},"deep":${objects(100_000)}}`,
    ],
  ])('%s', async (_what, path, message) => {
    const answer = await post(service, account, `{"contact":{"value":"+4915112345678"},"message":${message}}`)
    await expectFault(service, answer, path)
  })
})

test('nesting deeper than 32 is refused even if a valid value follows under the same key', async () => {
  const deep = `{"contact":{"value":"+4915112345678"},"message":${'['.repeat(40)}${']'.repeat(40)},`
  await expectRefused(await post(service, account, deep + good.slice(1)), /^body: nested deeper than 32$/)
})

describe('more fields and items than any valid body has are refused before parsing', () => {
  const many = (unit: string) => `[${Array(10_001).fill(unit).join()}]`
  const members = `{${Array.from({ length: 10_001 }, (_, n) => `"a${n}":0`).join()}}`
  const field = (json: string) => `{"contact":{"value":"+4915112345678"},"message":${json}}`
  test.each([
    ['numbers', many('1')],
    ['members', members],
    ['arrays', many('[]')],
    ['objects', many('{}')],
    ['strings', many('""')],
    ['variables', field(many('{"key":"a","value":"b"}'))],
  ])('%s', async (_what, body) => {
    await expectRefused(await post(service, account, body), /^body: more than 10000 fields and items$/)
  })

  test('a thousand are still parsed by name', async () => {
    const variables = Array.from({ length: 1000 }, (_, n) => ({ key: `k${n}`, value: 'x' }))
    const message = { type: 'template', template: { name: 't', variables } }
    const answer = await post(service, account, { contact: { value: '+4915112345678' }, message })
    await expectFault(service, answer, 'message.template.variables')
  })
})

describe('a body of 25 MiB, whatever is in it, blocks other requests for less than a second', () => {
  const size = 25 * 1024 * 1024
  const members = () => {
    const parts = Array.from({ length: 1_700_000 }, (_, n) => `"a${n}":0`)
    return `{${parts.join()}}`
  }
  const value = (text: string) => JSON.stringify({ ...textBody(), contact: { value: text } })
  test.each([
    ['brackets', () => '['.repeat(size / 2) + ']'.repeat(size / 2)],
    ['nested objects', () => '{"a":'.repeat(size / 5)],
    ['empty objects', () => `[${'{},'.repeat(size / 4)}{}]`],
    ['brackets that are too deep, each by itself', () => '['.repeat(32) + '[]'.repeat(size / 2 - 16)],
    ['members', members],
    ['quotes', () => '"'.repeat(size)],
    ['a phone number', () => value('1 '.repeat(12_000_000))],
  ])('%s', async (_what, body) => {
    const bytes = Buffer.from(body())
    // A second of work, not of time: other processes are busy too.
    const before = process.cpuUsage()
    expectError(await post(service, account, bytes), 400)
    expect(process.cpuUsage(before).user / 1e6).toBeLessThan(1)
  })
})

describe('__proto__ is an unknown field like any other', () => {
  const polluted = '"__proto__":{"closeConversation":true,"value":"x"}'
  const contact = '"contact":{"value":"+4915112345678"}'
  test.each([
    ['__proto__', `{${polluted},${contact},"message":{"type":"text","text":{"value":"x"}}}`],
    [
      'contact.__proto__',
      `{"contact":{"value":"+4915112345678",${polluted}},"message":{"type":"text","text":{"value":"x"}}}`,
    ],
    ['message.__proto__', `{${contact},"message":{"type":"text","text":{"value":"x"},${polluted}}}`],
    ['message.text.__proto__', `{${contact},"message":{"type":"text","text":{"value":"x",${polluted}}}}`],
    [
      'message.template.__proto__',
      `{${contact},"message":{"type":"template","template":{"name":"x",${polluted}}}}`,
    ],
    [
      'message.template.variables[0].__proto__',
      `{${contact},"message":{"type":"template","template":{"name":"x","variables":[{"key":"k","value":"v",${polluted}}]}}}`,
    ],
    [
      'message.media.__proto__',
      `{${contact},"message":{"type":"media","media":{"mediaType":"document","base64":"QUJD",${polluted}}}}`,
    ],
  ])('%s', async (path, body) => {
    await expectFault(service, await post(service, account, body), path)
  })

  test.each(['constructor', 'prototype', 'toString', 'hasOwnProperty', '__defineGetter__'])(
    'so is %s',
    async (name) => {
      await expectFault(service, await post(service, account, { ...textBody(), [name]: {} }), name)
    },
  )
})

describe.each([
  ['NUL', 'a\0b'],
  ['half a surrogate pair', 'a\ud800b'],
  ['the other half of a surrogate pair', 'a\udc00b'],
])('%s is refused', (_what, bad) => {
  const contact = { value: '+4915112345678' }
  const template = (fields: object) => ({
    contact,
    message: { type: 'template', template: { name: 't', ...fields } },
  })
  const media = (fields: object) => ({
    contact,
    message: { type: 'media', media: { mediaType: 'document', base64: 'QUJD', ...fields } },
  })
  test.each([
    ['contact.value', textBody('x', bad)],
    ['contact.name', { ...textBody(), contact: { ...contact, name: bad } }],
    ['message.text.value', textBody(bad)],
    ['message.template.name', template({ name: bad })],
    ['message.template.variables[0].key', template({ variables: [{ key: bad, value: 'v' }] })],
    ['message.template.variables[0].value', template({ variables: [{ key: 'k', value: bad }] })],
    ['message.media.mimetype', media({ mimetype: `text/${bad}` })],
    ['message.media.filename', media({ filename: bad })],
    ['message.media.caption', media({ caption: bad })],
    ['message.media.base64', media({ base64: `QUJD${bad}` })],
    ['message.media.mediaUrl', media({ mediaUrl: `https://example.com/${bad}` })],
    ['flowId', { ...textBody(), flowId: bad }],
    ['message.flowId', { contact, message: { ...textBody().message, flowId: bad } }],
  ])('in %s', async (path, body) => {
    await expectFault(service, await post(service, account, body), path)
  })

  test('in the name of a field', async () => {
    expectError(await post(service, account, { ...textBody(), [bad]: 1 }), 400, /unknown field/)
  })
})

test('of a key given twice the last one is parsed', async () => {
  const json =
    '{"contact":{"value":"+4915112345678","value":"1"},"message":{"type":"text","text":{"value":"x"}}}'
  await expectFault(service, await post(service, account, json), 'contact.value')
})

describe('malformed HTTP gets the error body too', () => {
  const lines = (...all: string[]) => `${all.join('\r\n')}\r\n\r\n`
  const start = `POST /v1/messages HTTP/1.1`
  test.each([
    ['no HTTP at all', 'hello\r\n\r\n'],
    ['no Host', lines(start, 'Content-Length: 0', 'Connection: close')],
    ['a malformed Host', lines(start, 'Host: a b', 'Content-Length: 0', 'Connection: close')],
    ['two lengths', lines(start, 'Host: a', 'Content-Length: 1', 'Content-Length: 2')],
    ['a length and chunks', lines(start, 'Host: a', 'Content-Length: 1', 'Transfer-Encoding: chunked')],
    ['a length that is no number', lines(start, 'Host: a', 'Content-Length: -1')],
    ['headers that are too long', lines(start, 'Host: a', `X-Long: ${'x'.repeat(20_000)}`)],
    ['a path that is too long', lines(`POST /${'x'.repeat(20_000)} HTTP/1.1`, 'Host: a')],
    ['a NUL in a header', lines(start, 'Host: a', 'X-Nul: a\0b')],
  ])('%s', async (_what, bytes) => {
    expectError(await rawBytes(service, bytes), 400)
  })

  test('an invalid chunk', async () => {
    const head = lines(
      `POST ${pathOf()} HTTP/1.1`,
      'Host: a',
      `Authorization: Bearer ${account.apiKey}`,
      'Content-Type: application/json',
      'Transfer-Encoding: chunked',
    )
    expectError(await rawBytes(service, `${head}zz\r\n{}\r\n0\r\n\r\n`), 400)
  })

  test('a compressed body', async () => {
    const headers = { ...headersOf(), 'Transfer-Encoding': 'gzip, chunked' }
    const answer = await rawRequest(service, { path: pathOf(), headers, chunks: [good] })
    expectError(answer, 400, /^Transfer-Encoding: /)
  })

  test('an Expect that cannot be met gets a status of the table', async () => {
    const headers = { ...headersOf(), Expect: 'a-miracle' }
    const answer = await rawRequest(service, { path: pathOf(), headers, chunks: [good] })
    expect([202, 400]).toContain(answer.status)
  })
})

test.each([
  ['a second Authorization', () => `Authorization: Bearer ${account.apiKey}`, 401],
  ['a Content-Encoding', () => 'Content-Encoding: gzip', 400],
  ['a second Idempotency-Key', () => 'Idempotency-Key: a\r\nIdempotency-Key: b', 400],
])('%s counts after as many other headers as are allowed', async (_what, last, status) => {
  const given = { ...headersOf(), Host: 'a', 'Content-Length': good.length, Connection: 'close' }
  const lines = Object.entries(given).map(([name, value]) => `${name}: ${value}\r\n`)
  const head = `POST ${pathOf()} HTTP/1.1\r\n${lines.join('')}${'a:\r\n'.repeat(maxHeaders - 20)}${last()}\r\n\r\n`
  expectError(await rawBytes(service, head + good), status)
})

test('a request with more headers than are allowed is a 400, and its connection is closed', async () => {
  const head = `POST ${pathOf()} HTTP/1.1\r\nHost: a\r\n${'a:\r\n'.repeat(maxHeaders)}\r\n`
  expectError(await rawBytes(service, head), 400, 'The request has more than 100 headers: send fewer.')
})

test('a request with Expect: 100-continue is answered as one without', async () => {
  const outgoing = httpRequest(service.url + pathOf(), {
    method: 'POST',
    headers: { ...headersOf(), Expect: '100-continue', 'Content-Length': good.length },
  })
  outgoing.flushHeaders()
  await once(outgoing, 'continue')
  outgoing.end(good)
  const [incoming] = await once(outgoing, 'response')
  incoming.resume()
  expect(incoming.statusCode).toBe(202)
})

test.each([
  ['declared', { 'Content-Length': 1000 }],
  ['chunked', { 'Transfer-Encoding': 'chunked' }],
])(
  'a client that disconnects in the middle of a %s body is not logged as an internal error',
  async (_how, length) => {
    const before = service.logs.length
    const outgoing = httpRequest(service.url + pathOf(), {
      method: 'POST',
      headers: { ...headersOf(), ...length },
    })
    outgoing.on('error', () => {})
    outgoing.write(good.slice(0, 20))
    await sleep(100)
    outgoing.destroy()
    const lines = await eventually('a line about it', async () => {
      const rejections = service.logs.slice(before).filter(({ event }) => event === 'rejected')
      return rejections.length > 0 && service.logs.slice(before)
    })
    for (const { event, statusCode } of lines) expect([event, statusCode]).toEqual(['rejected', 400])
  },
)

test('a refused request records nothing and enqueues nothing', async () => {
  const before = await holdings(service)
  for (const body of ['', '{', 'null', { ...textBody(), surplus: 1 }, textBody('')]) {
    expectError(await post(service, account, body), 400)
  }
  expect(await holdings(service)).toEqual(before)
})

test('a refused request leaves one log line, which holds nothing of what was sent', async () => {
  const { body } = await post(service, account, { ...textBody('my secret', '+4915112345678x'), secret: 1 })
  expect(service.logsOf(body.requestId)).toMatchObject([
    { event: 'rejected', statusCode: 400, accountId: account.accountId },
  ])
  expect(JSON.stringify(service.logsOf(body.requestId))).not.toMatch(/secret|4915112345678/)
})

describe('a text of nothing but white space and invisible characters is refused', () => {
  const every = Array.from({ length: 0x10000 }, (_, code) => String.fromCharCode(code))
  const spaces = every.filter((sign) => sign.trim() === '' || /[\p{White_Space}\p{Bidi_Control}]/u.test(sign))
  test.each([
    ['spaces', ' '],
    ['line breaks', '\r\n\n'],
    ['no-break spaces', '\u00a0\u202f'],
    ['every white space and direction mark of Unicode', spaces.join('')],
    ['a zero-width space', '\u200b'],
    ['joiners', '\u200c\u200d\u2060'],
    ['a byte order mark', '\ufeff'],
    ['4096 spaces', ' '.repeat(4096)],
  ])('%s', async (_what, text) => {
    const answer = await post(service, account, textBody(text))
    await expectFault(service, answer, 'message.text.value')
    expect(answer.body.message).toBe('message.text.value: contains only white space')
  })

  test('each of them by itself', async () => {
    expect(spaces.length).toBeGreaterThan(30)
    const schema = sendRequestSchemas([]).channelInPath
    for (const space of spaces)
      expect(schema.safeParse(textBody(space)).success, space.codePointAt(0)?.toString(16)).toBe(false)
  })
})

test.each([
  ['white space around', '  \t two words \n\n '],
  ['line ends of all kinds', 'a\r\nb\rc\nd\u2028e\u0085f'],
  ['combining marks and their composed forms', 'e\u0301 \u00e9 \u212b \u00c5'],
  ['joined emoji', '👩‍👩‍👧‍👦🇩🇪👍🏽'],
  ['invisible characters', '\u200b\u200e\ufeff\u00ad\u0001\u007f'],
  ['the replacement character', '\ufffd'],
  ['what looks like markup and escapes', '<b>&amp;\\u0041 \\n "quoted" {{name}} %s \' --'],
  ['digits only', '00123'],
])('a text with %s is stored as it came', async (_what, text) => {
  const { status, body } = await post(service, account, textBody(text))
  expect(status).toBe(202)
  const { db } = service.runtime
  const [row] = await db.select().from(sends).where(eq(sends.requestId, body.requestId))
  expect(row?.message).toStrictEqual({ type: 'text', text: { value: text } })
})

test('both endpoints refuse a body that is no JSON in the same way', async () => {
  const answer = await request(service, '/v1/messages', { method: 'POST', headers: headersOf(), body: '{' })
  await expectRefused(answer, /body/)
})
