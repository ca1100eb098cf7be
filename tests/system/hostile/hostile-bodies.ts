import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { maxDepth, maxFields } from '../../../src/core/requests/json-limits.ts'
import { oddEnds, valueMark } from './good-bodies.ts'
import { maxBodyBytes } from './world.ts'

/** Part of every name of an unknown field: it may come back in an answer, and must be in no log line. */
export const nameMark = 'n4me'

/** A string between these two marks is replaced by raw JSON. */
const rawStart = '\ue000'
const rawEnd = '\ue001'
const raw = (json: string) => rawStart + json + rawEnd

/** Around the limits of all fields. */
const lengths = [64, 65, 256, 257, 512, 513, 1024, 1025, 2048, 2049, 4096, 4097, 50_000]

const hostileTexts = fc.oneof(
  fc.constant(''),
  fc.constantFrom(...oddEnds, '/', '\\', '{{x}}', "' or ''='").map((end) => valueMark + end),
  {
    weight: 5,
    arbitrary: fc
      .tuple(fc.constantFrom(...lengths), fc.constantFrom('x', '😀'))
      .map(([length, letter]) => valueMark + letter.repeat(length - valueMark.length)),
  },
  fc.constantFrom('__proto__', 'constructor', 'text', 'TEXT', 'media', 'email', 'true', 'null', '1', '[]'),
  fc.string({ unit: 'binary', maxLength: 20 }).map((rest) => valueMark + rest),
)

/** A list of so many items, or an object of so many fields, as JSON. */
const many = (count: number, item: string) => raw(`[${Array(count).fill(item).join()}]`)
const manyFields = (count: number) => raw(`{${Array.from({ length: count }, (_, n) => `"${n}":0`).join()}}`)

const nested = (depth: number, open = '[', close = ']') => raw(open.repeat(depth) + close.repeat(depth))

/** Text that `JSON.stringify` would never write. */
const rawJson = fc.oneof(
  fc.constantFrom('1e999', '-1e999', '1e-999', '-0', '0.10e+1', '123456789012345678901234567890').map(raw),
  fc
    .constantFrom('NaN', 'Infinity', 'undefined', '00', '.5', '+1', '-', '[1,]', '{,}', "'v4lue'", '"\\x41"')
    .map(raw),
  fc.constantFrom('"v4lue\\u0000"', '"v4lue\\ud800"', '"v4lue\0"', '"v4lue\n"', '"\\ud83d\\ude00"').map(raw),
  fc.constantFrom('{"value":"v4lue","value":"+4915112345678"}', '{"__proto__":{"value":"v4lue"}}').map(raw),
  fc.constantFrom(many(maxFields, '0'), many(maxFields / 2, '{}'), many(500, '[]'), manyFields(maxFields)),
  fc
    .constantFrom(31, 32, 33, 500, 20_000)
    .chain((depth) => fc.constantFrom(nested(depth), nested(depth, '{"n4me":', '}').replace('}', '1}'))),
)

const hostileValues = fc.oneof(
  { weight: 6, arbitrary: hostileTexts },
  {
    weight: 3,
    arbitrary: fc.constantFrom<unknown>(null, true, false, 0, -1, 1.5, 1e308, [], {}, [null], [[]]),
  },
  { weight: 3, arbitrary: rawJson },
  { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 3 }) },
)

const unknownNames = fc.oneof(
  fc.constantFrom('__proto__', 'constructor', 'toString', 'channelId', 'closeConverastion', 'Contact', ''),
  fc
    .constantFrom('\0', '\ud83d', '\n', '; ', ': ', '"', '.', 'x'.repeat(3000), '😀'.repeat(100))
    .map((end) => nameMark + end),
  fc.string({ unit: 'binary', maxLength: 10 }).map((end) => nameMark + end),
)

/** One thing that is done to a field of a body, or beside it. */
const changes = fc.record({
  at: fc.nat(1000),
  kind: fc.constantFrom('replace', 'replace', 'replace', 'remove', 'add', 'add', 'wrap'),
  name: unknownNames,
  value: hostileValues,
})

/** A good body of which a few fields are not what they should be. */
export function changedBodies(good: fc.Arbitrary<object>): fc.Arbitrary<object> {
  return fc.tuple(good, fc.array(changes, { minLength: 1, maxLength: 4 })).map(([body, list]) => {
    const changed = structuredClone(body)
    for (const change of list) apply(structuredClone(change), changed)
    return changed
  })
}

/** JSON of any form, mostly no send at all. */
export const anyJson: fc.Arbitrary<unknown> = fc.oneof(hostileValues, fc.jsonValue({ maxDepth: 5 }))

/** The text of a body, with what stands in it that is no JavaScript value. */
export function write(body: unknown): Buffer {
  const json = JSON.stringify(body)
  const pattern = new RegExp(`"${rawStart}((?:[^"\\\\]|\\\\.)*)${rawEnd}"`, 'g')
  return Buffer.from(json.replace(pattern, (_, escaped: string) => JSON.parse(`"${escaped}"`)))
}

/** The ways to damage the bytes of a body that was good JSON up to here. */
export const damages: fc.Arbitrary<(body: Buffer) => Buffer> = fc.oneof(
  fc.nat().map((at) => named('cut off', (body) => body.subarray(0, at % (body.length + 1)))),
  fc
    .tuple(
      fc.nat(),
      fc.constantFrom(
        [0xff],
        [0xc0, 0xaf],
        [0xed, 0xa0, 0x80],
        [0xf4, 0x90, 0x80, 0x80],
        [0],
        [0x22],
        [0x7b],
      ),
    )
    .map(([at, bytes]) =>
      named('bytes put in', (body) => {
        const place = at % (body.length + 1)
        return Buffer.concat([body.subarray(0, place), Buffer.from(bytes), body.subarray(place)])
      }),
    ),
  fc.constantFrom(
    named('a byte order mark', (body) => Buffer.concat([Buffer.from('\ufeff'), body])),
    named('UTF-16', (body) => Buffer.from(body.toString(), 'utf16le')),
    named('twice', (body) => Buffer.concat([body, body])),
    named('white space around', (body) => Buffer.concat([Buffer.from(' \r\n\t'), body, Buffer.from('\n')])),
    named('in an array', (body) => Buffer.concat([Buffer.from('['), body, Buffer.from(']')])),
    named('in a string', (body) => Buffer.from(JSON.stringify(body.toString()))),
    named('a key twice', (body) => Buffer.from(body.toString().replace('{', '{"contact":"v4lue",'))),
    named('a key twice, the first too deep', (body) => withTooDeepFirst(body, '[', ']')),
    named('a key twice, the first too deep in objects', (body) => withTooDeepFirst(body, '{"n4me":', '}')),
    named('compressed', (body) => gzipSync(body)),
    named('nothing', () => Buffer.alloc(0)),
    named('null', () => Buffer.from('null')),
    named('as long as allowed', (body) => padded(body, maxBodyBytes)),
    named('too long', (body) => padded(body, maxBodyBytes + 1)),
    named('far too long', (body) => padded(body, maxBodyBytes * 4)),
  ),
)

function apply(
  { at, kind, name, value }: { at: number; kind: string; name: string; value: unknown },
  body: object,
) {
  const places = placesIn(body)
  const [holder, key] = places[at % Math.max(places.length, 1)] ?? [body, '']
  if (kind === 'add') define(holder, name, value)
  else if (kind === 'remove') Reflect.deleteProperty(holder, key)
  else if (kind === 'wrap') define(holder, key, [Reflect.get(holder, key)])
  else define(holder, key, value)
}

/** Each field at any depth, with the object that holds it. */
function placesIn(holder: object): [object, string][] {
  return Object.entries(holder).flatMap(([key, inner]): [object, string][] => [
    [holder, key],
    ...(typeof inner === 'object' && inner !== null ? placesIn(inner) : []),
  ])
}

/** Assigned, `__proto__` would be no field. */
function define(holder: object, name: string, value: unknown) {
  Object.defineProperty(holder, name, { value, enumerable: true, configurable: true, writable: true })
}

function named(name: string, work: (body: Buffer) => Buffer) {
  return Object.assign(work, { toString: () => name })
}

function withTooDeepFirst(body: Buffer, open: string, close: string): Buffer {
  const deep = `${open.repeat(maxDepth)}1${close.repeat(maxDepth)}`
  return Buffer.from(body.toString().replace('{', `{"message":${deep},`))
}

function padded(body: Buffer, length: number): Buffer {
  return Buffer.concat([body, Buffer.alloc(Math.max(length - body.length, 0), ' ')])
}
