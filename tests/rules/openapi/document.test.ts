import { Validator } from '@seriousme/openapi-schema-validator'
import { describe, expect, test } from 'vitest'
import { inputSchema, type JsonSchema } from '../../../src/api/openapi/json-schema.ts'
import { exampleBodies, exampleReceipt } from '../../../src/api/routes/examples.ts'
import { messageTypes } from '../../../src/core/messages/message.ts'
import { receiptBody } from '../../../src/core/receipts/receipt-body.ts'
import { parseIdempotencyKey } from '../../../src/core/requests/idempotency-key.ts'
import { describeIssue, describeIssues } from '../../../src/core/requests/issues.ts'
import { parseTraceparent } from '../../../src/core/requests/traceparent.ts'
import { sendRequestSchemas } from '../../../src/core/sends/send-request.ts'
import { document, faultBy } from '../../support/openapi.ts'

const operations = Object.entries(document.paths).flatMap(([path, byMethod]) =>
  Object.entries(byMethod).map(([method, operation]) => ({ path, method, operation })),
)

test('it is valid OpenAPI 3.1', async () => {
  const result = await new Validator().validate(structuredClone(document))
  expect(result.errors ?? []).toEqual([])
  expect(result).toMatchObject({ valid: true })
  expect(document.openapi).toMatch(/^3\.1\.\d+$/)
})

test('every reference resolves, and every schema and header is referenced', () => {
  const references = [...JSON.stringify(document).matchAll(/"#\/components\/(\w+)\/([\w-]+)"/g)]
  const { schemas, headers } = document.components
  const there = { schemas: Object.keys(schemas), headers: Object.keys(headers) }
  for (const kind of ['schemas', 'headers'] as const) {
    const named = references.filter(([, of]) => of === kind).map(([, , name = '']) => name)
    expect([...new Set(named)].sort()).toEqual(there[kind].sort())
  }
})

test('every field has a description', () => {
  const silent = Object.entries<JsonSchema>(document.components.schemas).flatMap(
    ([name, { properties = {} }]) =>
      Object.entries(properties)
        .filter(([, field]) => !field.description && !field.$ref)
        .map(([field]) => `${name}.${field}`),
  )
  expect(silent).toEqual([])
})

test('every example matches its schema', () => {
  const contents = operations.flatMap(({ operation }) => [
    ...Object.values(operation.responses).map(({ content }) => content),
    (operation.requestBody as { content?: object } | undefined)?.content,
  ])
  let examples = 0
  for (const content of contents) {
    const json = (content as Record<string, Content> | undefined)?.['application/json']
    const schema = json?.schema.$ref?.split('/').at(-1)
    if (!json || !schema) continue
    const values = [...Object.values(json.examples ?? {}).map(({ value }) => value), json.example]
    for (const value of values.filter((given) => given !== undefined)) {
      expect(faultBy(schema, value), JSON.stringify(value)).toBeUndefined()
      examples++
    }
  }
  expect(examples).toBeGreaterThan(50)
})

interface Content {
  schema: { $ref?: string }
  example?: unknown
  examples?: Record<string, { value: unknown }>
}

interface Parameter {
  name: string
  schema: { examples?: string[] }
}

test.each<[object, 'taken' | 'refused']>([
  [exampleReceipt, 'taken'],
  [{ requestId: 'x', status: 'read' }, 'taken'],
  [{ ...exampleReceipt, at: null, code: null, reason: null }, 'taken'],
  [{ ...exampleReceipt, at: '2026-11-21T12:43:12+01:00' }, 'taken'],
  [{ ...exampleReceipt, reason: '😀'.repeat(500) }, 'taken'],
  [{ ...exampleReceipt, requestId: undefined }, 'refused'],
  [{ ...exampleReceipt, requestId: null }, 'refused'],
  [{ ...exampleReceipt, status: 'sent' }, 'refused'],
  [{ ...exampleReceipt, at: 'yesterday' }, 'refused'],
  [{ ...exampleReceipt, at: '2026-11-21T12:43:12' }, 'refused'],
  [{ ...exampleReceipt, code: 'two words' }, 'refused'],
  [{ ...exampleReceipt, code: 'x'.repeat(65) }, 'refused'],
  [{ ...exampleReceipt, reason: 'x'.repeat(501) }, 'refused'],
  [{ ...exampleReceipt, reason: 'a\0b' }, 'refused'],
  [{ ...exampleReceipt, extra: 1 }, 'refused'],
])('a receipt %j is %s by the document and by the service', (body, result) => {
  const sent = JSON.parse(JSON.stringify(body))
  expect(faultBy('WebhookReceipt', sent) === undefined).toBe(result === 'taken')
  expect(receiptBody.safeParse(sent).success).toBe(result === 'taken')
})

test('the description of Idempotency-Key matches its parser', () => {
  const parameters = (document.paths['/v1/messages']?.post?.parameters ?? []) as {
    name: string
    schema: { pattern: string }
  }[]
  const parameter = parameters.find(({ name }) => name === 'Idempotency-Key')
  const pattern = new RegExp(parameter?.schema.pattern ?? '', 'u')
  const keys = ['a', 'a'.repeat(255), 'a"b', '"a"', '"a\\"b"', `"${'\\"'.repeat(255)}"`, '"\\\\"', 'a b', 'é']
  const notKeys = ['', 'a'.repeat(256), '"', '""', '"a', '"a"b', '"a\\b"', `"${'a'.repeat(256)}"`, '"a"b"']
  for (const key of [...keys, ...notKeys]) {
    expect(pattern.test(key), key).toBe(parseIdempotencyKey(key) !== undefined)
    expect(pattern.test(key), key).toBe(keys.includes(key))
  }
})

test('both endpoints of sends accept a traceparent', () => {
  for (const path of ['/v1/messages', '/v1/channels/{channelId}/messages']) {
    const parameters = (document.paths[path]?.post?.parameters ?? []) as Parameter[]
    const traceparent = parameters.find(({ name }) => name === 'traceparent')
    expect(traceparent).toMatchObject({ in: 'header' })
    for (const example of traceparent?.schema.examples ?? ['none']) {
      expect(parseTraceparent(example)).toBeDefined()
    }
  }
})

const schemas = sendRequestSchemas([])

/** Refusals that JSON Schema can't express: the document has them in words. */
const beyondJsonSchema = [
  /differs from message\./,
  /given twice/,
  /not base64 \(cut off/,
  /contains an address that is not public/,
  /mediaUrl: has to be a URL$/,
  /email\.attachments\[0\]: send base64 or url/,
  /email\.html: only beside a message of the type text/,
  /email\.headers(\.[\w-]+)?: (has to be (<|List-|no,)|contains a (word|header))/,
  /contact\.value: (begins with|is (too|of no)|has no) .*country code/,
]

const absent = Symbol('absent')
const long = (length: number, sign = 'a') => sign.repeat(length)

/** Held in the place of every field. */
const odd = [
  absent,
  null,
  '',
  ' ',
  7,
  true,
  [],
  {},
  'a\0b',
  '\ud800',
  'a\nb',
  'a\u0085b',
  'é',
  '😀',
  long(5000),
]

/** Held in the place of the field of that path; where it is in none of the examples, it is put there. */
const values: Record<string, unknown[]> = {
  '': [null, [], 'x', 7],
  unknown: [1, null],
  channelId: ['x'],
  contact: [
    ...['ann@example.com', '+4915112345678'].flatMap((value) =>
      ['phone', 'email', null, 'fax', absent].map((type) => ({ value, ...(type !== absent && { type }) })),
    ),
    ...[
      'Ann@EXAMPLE.com',
      'ann@localhost',
      'a b@example.com',
      '.a@example.com',
      'a..b@example.com',
      'a@b@example.com',
    ],
    ...['ann@xn--exmple-cua.com', 'ann@exämple.com', 'ann@-a.com', 'ann@a-.com', "o'hara+x@a-b.example.com"],
    ...[
      `${long(64)}@example.com`,
      `${long(65)}@example.com`,
      `a@${long(63, 'b')}.com`,
      `a@${long(64, 'b')}.com`,
    ],
    ...[60, 61].map((last) => `a@${long(63)}.${long(63)}.${long(62)}.${long(last)}`),
  ].map((contact) => (typeof contact === 'string' ? { value: contact, type: 'email' } : contact)),
  'contact.value': [
    ...['0049 (151) 123-45.678', '4915112345678', '1234567', '123456', '123456789012345', '1234567890123456'],
    ...[
      '0151 12345678',
      '000151 12345678',
      '00',
      '+',
      '++4915112345678',
      '+004915112345678',
      '0 0 49 151123456',
    ],
    ...[
      '+ 49 151 123456',
      '(+49)151123456',
      '+49 151 12345x',
      '+49/151/123456',
      '+49151\t123456',
      '-.() 1234567 .-()',
    ],
  ],
  'contact.name': [long(256), long(257), long(256, '😀'), long(257, '😀')],
  'contact.unknown': [1],
  message: ['text', { type: 'fax' }, { type: 'text', text: { value: 'a' }, template: null, media: null }],
  'message.type': ['text', 'template', 'media', 'fax'],
  'message.text': [{ value: 'a' }, { value: 'a', more: 1 }],
  'message.template': [{ name: 'a' }],
  'message.media': [{ mediaType: 'audio', mediaUrl: 'https://example.com/a' }],
  'message.unknown': [1],
  'message.text.value': [
    long(4096),
    long(4097),
    long(4096, '😀'),
    long(4097, '😀'),
    '\n',
    ' \u200b\ufeff',
    ' a ',
  ],
  'message.template.name': [long(512), long(513)],
  'message.template.variables': [
    Array.from({ length: 100 }, (_, i) => ({ key: `k${i}`, value: '' })),
    Array.from({ length: 101 }, (_, i) => ({ key: `k${i}`, value: '' })),
    [
      { key: 'a', value: 'b' },
      { key: 'a', value: 'c' },
    ],
    [{ key: 'a', value: 'b', more: 1 }],
    [{ key: 'a' }],
    [null],
  ],
  'message.template.variables.0.key': [long(64), long(65)],
  'message.template.variables.0.value': [long(4096), long(4097)],
  'message.media.mediaType': ['image', 'video', 'document', 'audio', 'sticker'],
  'message.media.mimetype': [
    'image/png',
    'text/plain; charset=utf-8',
    'text/plain;a="b c"',
    'png',
    'a/b\n',
    'a/b c',
    `a/${long(127)}`,
    `a/${long(128)}`,
  ],
  'message.media.filename': [
    'a.png',
    '.',
    '..',
    '...',
    '.a',
    'a/b',
    'a\\b',
    long(255),
    long(256),
    '😀.png',
    'annexe\u202egpj.exe',
    '\u061c',
  ],
  'message.media.caption': [long(1024), long(1025)],
  'message.media.base64': [
    'QUJD',
    'QUI=',
    'QUI',
    'QU\r\nJD',
    'QUJD\n',
    '\nQUJD',
    'QU-_',
    'QU JD',
    '=',
    '\n',
    'Q',
    'QUI==',
    'Q=UI',
    'data:image/png;base64,QUJD',
    'data:;base64,QUJD',
    'data:text/plain;charset=utf-8;base64,QUJD',
    'data:image/png,QUJD',
    'data:image/png;base64,',
    'data:a b;base64,QUJD',
    'QUI===',
    'Q\n=U',
    long(20_000),
  ],
  'message.media.mediaUrl': [
    'https://example.com/a.png?b#c',
    'HTTP://example.com',
    'ftp://example.com',
    '//example.com',
    'http://',
    'http:/example.com',
    'https://a@example.com',
    'https://a:b@example.com/',
    'https://example.com/a@b',
    'http://127.0.0.1/',
    'http://[::1]/',
    'http://a b',
    ' http://example.com',
    'http:///x',
    'http://[',
    'http://exämple.com/ü',
    `https://example.com/${long(2028)}`,
    `https://example.com/${long(2029)}`,
  ],
  email: [{}, [], 'x'],
  'email.subject': [long(998), long(999), long(998, '😀')],
  'email.html': [long(262_144), long(262_145)],
  'email.fromName': [long(256), long(257)],
  'email.replyTo': ['Ann@EXAMPLE.com', 'Ann <ann@example.com>', 'ann@localhost', `${long(65)}@example.com`],
  'email.headers': [
    ...[{ 'X-A': 'a' }, { 'x-a': 'a' }, { references: '<a@b>' }, { 'IN-REPLY-TO': '<a@b>' }, { 'X-': 'a' }],
    ...[
      { Bcc: 'ann@example.com' },
      { 'X-A': 'a\r\nBcc: b' },
      { 'X-A': 'ü' },
      { 'X-A': 7 },
      { 'X-A': long(998) },
    ],
    ...[20, 21].map((count) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`X-${n}`, 'a']))),
  ],
  'email.tags': [
    ...[{ a: 'b' }, { a: '' }, { a: 'b c' }, { 'a b': 'c' }, { [long(256)]: long(256) }],
    ...[{ [long(257)]: 'a' }, { a: long(257) }],
    ...[10, 11].map((count) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`t${n}`, 'a']))),
  ],
  'email.unknown': [1],
  metadata: [{ a: 'b' }, { a: '' }, { 'a b': 'c' }, { [long(64)]: long(500) }, { [long(65)]: 'a' }],
  expiresInSeconds: [0, 1, 1.5, 604_800, 604_801],
  flowId: ['x'],
  closeConversation: [true, false, 'true'],
  'message.flowId': ['x'],
  'message.closeConversation': [true, false],
}

/** Paths of all fields of a body, also of those that are in no example. */
function pathsOf({ properties = {}, items }: JsonSchema, parent = ''): string[] {
  const inside = Object.entries(properties).flatMap(([name, field]) => {
    const path = parent === '' ? name : `${parent}.${name}`
    return [path, ...pathsOf(field, path)]
  })
  return items ? pathsOf(items, `${parent}.0`) : inside
}

function withValue(whole: unknown, path: string[], value: unknown): unknown {
  const [name, ...rest] = path
  if (name === undefined) return value
  if (typeof whole !== 'object' || whole === null) return whole
  const copy = (Array.isArray(whole) ? [...whole] : { ...whole }) as Record<string, unknown>
  if (rest.length === 0 && value === absent) delete copy[name]
  else copy[name] = withValue(copy[name], rest, value)
  return copy
}

/** Null for the content of another type, which the service takes as absent, and the document leaves out: see the test below. */
function withoutForeignNull(body: unknown): unknown {
  const { message } = (body ?? {}) as { message?: Record<string, unknown> }
  if (typeof message !== 'object' || message === null) return body
  const others = messageTypes.filter((type) => type !== message.type && (message[type] ?? null) === null)
  const kept = Object.entries(message).filter(([name]) => !others.some((other) => other === name))
  return others.length > 0 ? { ...(body as object), message: Object.fromEntries(kept) } : body
}

test('no property can only be null, since typed clients make such a property never', () => {
  expect(JSON.stringify(document)).not.toMatch(/"type":("null"|\["null"\])/)
})

const bases = Object.values(exampleBodies).map((example) => example.value)

describe.each([
  ['SendRequest', 'channelInBody'],
  ['ChannelSendRequest', 'channelInPath'],
] as const)('%s', (schema, endpoint) => {
  const inBody = endpoint === 'channelInBody' ? { channelId: 'x' } : {}

  test.each([...new Set([...Object.keys(values), ...pathsOf(inputSchema(schemas[endpoint]))])])(
    '%j: the document accepts what the service accepts, and refuses what it refuses',
    (path) => {
      const seen = new Set<string>()
      for (const base of bases) {
        for (const value of [...(values[path] ?? []), ...(path === '' ? [] : odd)]) {
          const body = withValue({ ...inBody, ...base }, path.split('.').filter(Boolean), value)
          const { error } = schemas[endpoint].safeParse(body, { error: describeIssue })
          const faults = (error?.issues ?? []).map((issue) => describeIssues([issue]))
          const isSaid = faults.some((fault) => !beyondJsonSchema.some((words) => words.test(fault)))
          const documented = faultBy(schema, withoutForeignNull(body))
          seen.add(documented === undefined ? 'taken' : 'refused')
          expect(
            documented !== undefined,
            `${JSON.stringify(value)}: ${faults.join('; ')} ↔ ${documented}`,
          ).toBe(isSaid)
        }
      }
      expect([...seen]).toContain('refused')
    },
  )
})
