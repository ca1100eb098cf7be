import fc from 'fast-check'
import { type Endpoint, goodBodies, valueMark } from './good-bodies.ts'
import { anyJson, changedBodies, damages, write } from './hostile-bodies.ts'
import { maxBodyBytes, type Target, type World } from './world.ts'

/** A request as it goes over the wire. Header values are written as Latin-1. */
export interface HostileRequest {
  /** `other`: whatever is none of the routes that take ids or bodies. */
  route: Endpoint | 'read' | 'receipts' | 'other'
  target: Target
  method: string
  path: string
  headers: [string, string][]
  body: Buffer | undefined
  /** Without a Content-Length. */
  isChunked: boolean
  /** Whether the request is sent once more after its answer. */
  isRepeated: boolean
}

/** Requests to a world: about a third have nothing wrong, the others have at one place or at several. */
export function hostileRequests(world: World): fc.Arbitrary<HostileRequest> {
  const endpoints: Endpoint[] = ['channelInBody', 'channelInPath']
  const sends = endpoints.flatMap((endpoint) =>
    world.targets.map((target) => ({
      weight: target.isLimited ? 2 : 10,
      arbitrary: sendRequests(world, endpoint, target),
    })),
  )
  return fc.oneof(
    ...sends,
    { weight: 8, arbitrary: readRequests(world) },
    { weight: 6, arbitrary: otherRequests(world) },
  )
}

function sendRequests(world: World, route: Endpoint, target: Target): fc.Arbitrary<HostileRequest> {
  return fc
    .record({
      path: sendPaths(world, route, target),
      method: fc.oneof({ weight: 60, arbitrary: fc.constant('POST') }, fc.constantFrom(...otherMethods)),
      authorization: authorizations(world, target.apiKey),
      type: contentTypes,
      encoding: contentEncodings,
      key: idempotencyKeys,
      more: moreHeaders,
      body: bodies(goodBodies(world, route, target)),
      isChunked: fc.boolean(),
      isRepeated: fc.nat(15).map((n) => n === 0),
    })
    .map(({ path, method, authorization, type, encoding, key, more, body, isChunked, isRepeated }) => ({
      route,
      target,
      method,
      path,
      headers: [...authorization, ...type, ...encoding, ...key, ...more],
      body,
      isChunked,
      isRepeated,
    }))
}

function readRequests(world: World): fc.Arbitrary<HostileRequest> {
  const ids = fc.oneof(fc.constant(world.requestId), oddIds(world.requestId))
  return bodyless(world, {
    route: 'read',
    paths: ids.map((id) => `/v1/messages/${id}`),
    methods: fc.constantFrom(
      'GET',
      'GET',
      'GET',
      'HEAD',
      ...otherMethods.filter((method) => method !== 'HEAD'),
    ),
  })
}

function otherRequests(world: World): fc.Arbitrary<HostileRequest> {
  const paths = fc.constantFrom(
    '/',
    '/v1',
    '/v1/messages/',
    '/V1/MESSAGES',
    '//v1/messages',
    '/v1/channels',
    '/healthz',
  )
  const more = fc.constantFrom(
    '/readyz',
    '/media/x',
    '/media/%00',
    '/%zz',
    '/.env',
    '/v1/messages/x/y',
    '/metrics',
    '*',
  )
  return bodyless(world, {
    route: 'other',
    paths: fc.oneof(
      paths,
      more,
      oddIds('x').map((id) => `/${id}`),
    ),
    methods: fc.constantFrom('GET', 'POST', 'HEAD', 'DELETE'),
  })
}

function bodyless(
  world: World,
  of: { route: HostileRequest['route']; paths: fc.Arbitrary<string>; methods: fc.Arbitrary<string> },
): fc.Arbitrary<HostileRequest> {
  const [target] = world.targets
  if (!target) throw new Error('A world without channels')
  return fc
    .record({
      path: of.paths,
      method: of.methods,
      authorization: authorizations(world, target.apiKey),
      more: moreHeaders,
    })
    .map(({ path, method, authorization, more }) => ({
      route: of.route,
      target,
      method,
      path,
      headers: [...authorization, ...more],
      body: undefined,
      isChunked: false,
      isRepeated: false,
    }))
}

const otherMethods = [
  'GET',
  'HEAD',
  'PUT',
  'PATCH',
  'DELETE',
  'OPTIONS',
  'PROPFIND',
  'TRACE',
  'POSTS',
  'post',
  'M-SEARCH',
]

function sendPaths(world: World, endpoint: Endpoint, { channelId }: Target): fc.Arbitrary<string> {
  if (endpoint === 'channelInBody') {
    return fc.constantFrom('/v1/messages', '/v1/messages', '/v1/messages?channelId=x&__proto__=y')
  }
  const ids = fc.oneof(
    { weight: 12, arbitrary: fc.constant(channelId) },
    { weight: 1, arbitrary: fc.constantFrom(world.stranger.channelId, world.flowId, world.requestId) },
    { weight: 1, arbitrary: oddIds(channelId) },
  )
  return ids.map((id) => `/v1/channels/${id}/messages`)
}

/** Ids that no record has. */
export function oddIds(id: string): fc.Arbitrary<string> {
  return fc.oneof(
    fc.constantFrom(
      id.toUpperCase(),
      `%7B${id}%7D`,
      id.replaceAll('-', ''),
      `${id}%00`,
      `${id}%20`,
      `${id}.`,
    ),
    fc.constantFrom(
      '%00',
      '%',
      '%zz',
      '%E2%98',
      '%2E%2E%2F',
      'a%2Fb',
      '__proto__',
      "'%20or%20''='",
      '01890000-0000-7000-8000-000000000000',
    ),
    fc
      .string({ unit: 'binary', minLength: 1, maxLength: 20 })
      .map((text) => encodeURIComponent(text.toWellFormed())),
    fc.stringMatching(/^[!$&'()*+,;=:@\w.~\xa0-\xff-]{1,20}$/),
    fc.constantFrom(2000, 15_000).map((length) => 'f'.repeat(length)),
  )
}

type Headers = [string, string][]

function authorizations(world: World, apiKey: string): fc.Arbitrary<Headers> {
  const { readOnly, sendOnly, expired, revoked } = world.keys
  const of = (...values: string[]): Headers => values.map((value) => ['Authorization', value])
  const good = fc.constantFrom(of(`Bearer ${apiKey}`), of(`Bearer ${apiKey}`), of(`bearer  ${apiKey}`))
  const others = fc.constantFrom(
    ...[readOnly, readOnly, sendOnly, expired, revoked, world.stranger.apiKey].map((key) =>
      of(`Bearer ${key}`),
    ),
  )
  const malformed = fc.constantFrom(
    of(),
    of(''),
    of('Bearer'),
    of('Bearer '),
    of(`Basic ${valueMark}`),
    of(apiKey),
    of(`Bearer\t${apiKey}`),
    of(`Bearer ${apiKey} x`),
    of(`Bearer ${apiKey.slice(0, -1)}`),
    of(`Bearer ${apiKey.slice(0, -1)}${apiKey.endsWith('0') ? '1' : '0'}`),
    of(`Bearer ${apiKey}, Bearer ${apiKey}`),
    of(`Bearer ${apiKey}`, `Bearer ${apiKey}`),
    of(`Bearer ${valueMark}\xff\x80`),
    of(`Bearer omk_${'x'.repeat(8000)}`),
    of(`Bearer ${apiKey}\0`),
  )
  return fc.oneof(
    { weight: 20, arbitrary: good },
    { weight: 1, arbitrary: others },
    { weight: 1, arbitrary: malformed },
  )
}

const contentTypes: fc.Arbitrary<Headers> = fc
  .oneof(
    {
      weight: 25,
      arbitrary: fc.constantFrom(
        'application/json',
        'application/json;',
        'Application/JSON; charset="utf-8"',
        'application/json; charset=utf8; v=1',
      ),
    },
    fc.constantFrom(
      'text/plain',
      'application/json; charset=utf-16',
      'multipart/form-data; boundary=x',
      'application/jsonp',
    ),
    fc.constantFrom(
      '',
      'application/json, text/plain',
      `application/${valueMark}`,
      'application/json; charset',
      '\xff',
    ),
  )
  .map((type): Headers => [['Content-Type', type]])

export const contentEncodings: fc.Arbitrary<Headers> = fc.oneof(
  { weight: 30, arbitrary: fc.constant<Headers>([]) },
  fc
    .constantFrom('gzip', 'identity', 'br', '', valueMark)
    .map((encoding): Headers => [['Content-Encoding', encoding]]),
)

const idempotencyKeys: fc.Arbitrary<Headers> = fc
  .oneof(
    { weight: 10, arbitrary: fc.constant<string[]>([]) },
    {
      weight: 3,
      arbitrary: fc
        .oneof(fc.uuid(), fc.uuid(), fc.constantFrom('1', '2'))
        .map((key) => [`${valueMark}-${key}`]),
    },
    fc.constantFrom(
      [`"${valueMark} quoted \\" key"`],
      [`"${valueMark}`],
      ['""'],
      [''],
      [`${valueMark}${'k'.repeat(250)}`],
      [`${valueMark}${'k'.repeat(251)}`],
      [`${valueMark}\xfc\xff`],
      [valueMark, valueMark],
    ),
  )
  .map((keys) => keys.map((key): [string, string] => ['Idempotency-Key', key]))

export const moreHeaders: fc.Arbitrary<Headers> = fc.oneof(
  { weight: 24, arbitrary: fc.constant<Headers>([]) },
  fc.constantFrom<Headers>(
    [['X-Request-Id', `01890000-0000-7000-8000-${valueMark}`]],
    [['X-Forwarded-For', `10.0.0.1, ${valueMark}, ::1`]],
    [['X-HTTP-Method-Override', 'DELETE']],
    [['Expect', '100-continue']],
    [['Expect', valueMark]],
    [['Accept', 'text/html']],
    [['Cookie', `__proto__=${valueMark}`]],
    [['__proto__', valueMark]],
    [['X-Nul', 'a\0b']],
    [['Upgrade', valueMark]],
    [['Accept-Encoding', 'gzip, br']],
    [['Origin', `https://${valueMark}.example`]],
  ),
)

function bodies(good: fc.Arbitrary<object>): fc.Arbitrary<Buffer> {
  const written = fc.oneof(
    { weight: 17, arbitrary: good.map(write) },
    { weight: 7, arbitrary: changedBodies(good).map(write) },
    { weight: 1, arbitrary: anyJson.map(write) },
  )
  const damaged = fc.tuple(written, damages).map(([body, damage]) => damage(body))
  return fc.oneof({ weight: 9, arbitrary: written }, { weight: 1, arbitrary: damaged })
}

/** The request's bytes, with a length or in chunks of all sizes. */
export function bytesOf({ method, path, headers, body, isChunked }: HostileRequest): Buffer {
  const framing: Headers = !body
    ? []
    : isChunked
      ? [['Transfer-Encoding', 'chunked']]
      : [['Content-Length', String(body.length)]]
  const lines = [['Host', 'localhost'], ...headers, ...framing].map(
    ([name, value]) => `${name}: ${value}\r\n`,
  )
  const head = Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`, 'latin1')
  if (!body) return head
  return Buffer.concat([head, ...(isChunked ? chunksOf(body) : [body])])
}

function chunksOf(body: Buffer): Buffer[] {
  const chunks: Buffer[] = []
  let size = 1
  for (let at = 0; at < body.length; at += size, size = Math.min(size * 3, maxBodyBytes)) {
    const chunk = body.subarray(at, at + size)
    chunks.push(Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from('\r\n'))
  }
  return [...chunks, Buffer.from('0\r\n\r\n')]
}
