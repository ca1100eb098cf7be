import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseLarge } from '../../../src/api/body/large/parse-large-body.ts'
import { type BodyForm, createParseBody } from '../../../src/api/body/parse-body.ts'
import { maxMediaBytes } from '../../../src/core/messages/message-body.ts'

const parse = createParseBody([])
/** How often it was parsed as it is, beside with a stand-in. */
function parsedLarge(body: string | Buffer, form: BodyForm = 'channelInPath') {
  const bytes = Buffer.from(body)
  let whole = 0
  const counting: typeof parse = (given, of) => {
    if (given.length === bytes.length && given.equals(bytes)) whole++
    return parse(given, of)
  }
  return { parsed: parseLarge(counting, bytes, form), whole }
}

const contact = { value: '+4915112345678' }
const bodyOf = (base64: unknown, more: object = {}) =>
  JSON.stringify({ contact, message: { type: 'media', media: { mediaType: 'document', base64, ...more } } })

const content = randomBytes(10_000)
const base64 = content.toString('base64')

test.each([
  ['plain', bodyOf(base64)],
  ['without padding', bodyOf(base64.replace(/=+$/, ''))],
  ['as a data: URL', bodyOf(`data:image/png;base64,${base64}`)],
  ['as a data: URL with escapes', bodyOf(`data:image/png;base64,${base64}`).replace('image/', 'image\\/')],
  ['with white space around', bodyOf(base64).replace('"base64":', '"base64" \n: ')],
  ['beside a name that isn’t ASCII', bodyOf(base64, { filename: 'größe 😀.pdf' })],
  [
    'with all else after it',
    JSON.stringify({ message: { media: { base64, mediaType: 'audio' }, type: 'media' }, contact }),
  ],
  ['given a second time, which counts', bodyOf(1, { more: 1 }).replace('"more":1', `"base64":"${base64}"`)],
])('content %s is parsed as JSON.parse would', (_how, body) => {
  const { parsed } = parsedLarge(body)
  expect(parsed).toEqual(parse(Buffer.from(body), 'channelInPath'))
  expect(parsed).toMatchObject({ request: { message: { media: { sizeBytes: content.length } } } })
})

test('plain content is only decoded', () => {
  expect(parsedLarge(bodyOf(base64)).whole).toBe(0)
  expect(parsedLarge(bodyOf(`data:image/png;base64,${base64}`)).whole).toBe(0)
})

test('the content of one body never appears in another', () => {
  const first = parsedLarge(bodyOf(base64)).parsed
  const second = parsedLarge(bodyOf(randomBytes(20_000).toString('base64'))).parsed
  expect(first).toMatchObject({ request: { mediaContent: content } })
  expect(second).not.toMatchObject({ request: { mediaContent: content } })
})

test.each([
  ['of another type', bodyOf(base64).replace('"type":"media"', '"type":"text"')],
  ['with an unknown field', bodyOf(base64, { surplus: 1 })],
  ['whose last one is faulty', bodyOf(base64, { more: 1 }).replace('"more":1', '"base64":"?"')],
  ['whose last one is null', bodyOf(base64, { more: 1 }).replace('"more":1', '"base64":null')],
  [
    'outside of the media',
    JSON.stringify({ base64, contact, message: { type: 'text', text: { value: 'x' } } }),
  ],
  ['as a contact’s name', JSON.stringify({ contact: { ...contact, name: `"base64":"${base64}"` } })],
  ['as a text', JSON.stringify({ contact, message: { type: 'text', text: { value: '"base64":"QUJD"' } } })],
  ['as a file name', bodyOf(base64, { filename: 'base64' })],
  ['of the URL alphabet', bodyOf('_-'.repeat(5000))],
  ['in lines', bodyOf(base64.replace(/(.{76})/g, '$1\n'))],
  ['that is cut off', bodyOf(base64).slice(0, 9000)],
  ['with a digit too many', bodyOf(`${base64.replace(/=+$/, '').slice(0, 9001)}`)],
  ['with padding too much', bodyOf(`${base64}=`)],
  ['of padding alone', bodyOf('==')],
  ['that is empty', bodyOf('')],
  ['that is a number', bodyOf(1)],
  ['in a data: URL without base64', bodyOf(`data:image/png,${base64}`)],
  ['behind a comma', bodyOf(`abc,${base64}`)],
  [
    'nested too deep',
    bodyOf(base64, { more: 1 }).replace('"more":1', `"more":${'['.repeat(50)}${']'.repeat(50)}`),
  ],
  ['and no colon', bodyOf(base64).replace('"base64":', '"base64",')],
  ['and what is no UTF-8', Buffer.concat([Buffer.from(bodyOf(base64)), Buffer.of(0xff)])],
  ['of a byte too much', bodyOf(Buffer.alloc(maxMediaBytes + 1).toString('base64'))],
])('a body with content %s gets the same fault as by JSON.parse', (_what, body) => {
  expect(parsedLarge(body).parsed).toEqual(parse(Buffer.from(body), 'channelInPath'))
})

test('the result is the same whatever byte replaces a character', () => {
  const body = bodyOf(randomBytes(60).toString('base64'), { filename: 'a.pdf' })
  const character = fc.oneof(
    fc.constantFrom(...'"\\,:={}[]-_+/A \n\0'),
    fc.string({ unit: 'binary', maxLength: 2 }),
  )
  const place = fc.nat({ max: body.length - 1 })
  fc.assert(
    fc.property(fc.array(fc.tuple(place, character), { minLength: 1, maxLength: 3 }), (changes) => {
      const changed = [...body]
      for (const [at, other] of changes) changed[at] = other
      const bytes = Buffer.from(changed.join(''))
      expect(parsedLarge(bytes).parsed).toEqual(parse(bytes, 'channelInPath'))
    }),
    { numRuns: 3000 },
  )
})
