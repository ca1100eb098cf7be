import fc from 'fast-check'
import { z } from 'zod'
import { type ContactType, contactKinds, parseContact } from '../../../src/core/contacts/contact.ts'
import { type MessageType, messageTypes } from '../../../src/core/messages/message.ts'
import { sendRequestSchemas } from '../../../src/core/sends/send-request.ts'
import { providers } from '../../../src/providers/index.ts'
import { samples } from '../../support/media-samples.ts'
import { type JsonSchema, type Pools, valuesOf } from './schema-values.ts'
import { contentSid, type Target, type World } from './world.ts'

export type Endpoint = Exclude<keyof ReturnType<typeof sendRequestSchemas>, 'batch'>

/** Stands in every text that is sent as a value: it must come back in no answer and stand in no log line. */
export const valueMark = 'v4lue'

const schemas = sendRequestSchemas([])
/** The bodies of the two routes, as the service's own schemas describe them. */
export const bodySchemas: Record<Endpoint, JsonSchema> = {
  channelInBody: jsonSchemaOf(schemas.channelInBody),
  channelInPath: jsonSchemaOf(schemas.channelInPath),
}

/** Sometimes put into a text that is valid otherwise, so that no other fault hides a field that accepts it. */
export const oddEnds = [
  '\0',
  '\ud800',
  '\udc00',
  '\n',
  '\r\nBcc: x',
  '\x1b[31m',
  '\x7f',
  '\x85',
  '\u202e',
  '\ufeff',
]

const text = fc
  .oneof(
    { weight: 40, arbitrary: fc.string({ unit: 'grapheme', maxLength: 12 }) },
    { weight: 1, arbitrary: fc.constantFrom(...oddEnds) },
  )
  .map((end) => valueMark + end)

/** Bodies that the target mostly takes. */
export function goodBodies(world: World, endpoint: Endpoint, target: Target): fc.Arbitrary<object> {
  const pools = poolsOf(world, target)
  const schema = bodySchemas[endpoint]
  const ofOneType = messageTypes.map((type) => ({
    weight: providers[target.provider].messageTypes.includes(type) ? 6 : 1,
    arbitrary: valuesOf(selecting(schema, type), pools, text).map((body) => coherent(body as GoodBody)),
  }))
  return fc.oneof(...ofOneType, {
    weight: 1,
    arbitrary: valuesOf(schema, pools, text) as fc.Arbitrary<object>,
  })
}

interface GoodBody {
  contact: { value: string; type?: ContactType | null }
  message: Record<string, unknown>
  [field: string]: unknown
}

function jsonSchemaOf(schema: z.ZodType): JsonSchema {
  return z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as JsonSchema
}

/** Narrows the schema to messages of one type: with its object, without the others'. */
function selecting(schema: JsonSchema, selected: MessageType): JsonSchema {
  const { message = {} } = schema.properties ?? {}
  const fields = Object.entries(message.properties ?? {})
    .filter(([name]) => name === selected || !messageTypes.some((type) => type === name))
    .map(([name, field]): [string, JsonSchema] => {
      if (name === 'type') return [name, { enum: [selected] }]
      return [name, name === selected ? withoutNull(field) : field]
    })
  const required = [...(message.required ?? []), selected]
  const ofOneType = { ...message, properties: Object.fromEntries(fields), required }
  return { ...schema, properties: { ...schema.properties, message: ofOneType } }
}

function withoutNull(schema: JsonSchema): JsonSchema {
  return { ...schema, anyOf: schema.anyOf?.filter(({ type }) => type !== 'null') ?? [schema] }
}

/** Gives the body the right contact type, and one value to fields that stand both beside the message and inside it. */
function coherent(body: GoodBody): object {
  const { type, ...contact } = body.contact
  const own = contact.value.includes('@') ? 'email' : type && (parseContact(contact.value)?.type ?? 'phone')
  const fields = Object.entries(body.message).map(([name, value]) => [
    name,
    name in body ? body[name] : value,
  ])
  return {
    ...body,
    contact: { ...contact, ...(own !== undefined && { type: own }) },
    message: Object.fromEntries(fields),
  }
}

/** The values for fields that need more than a text: mostly good ones, at times such as are just refused. */
function poolsOf({ flowId, stranger }: World, { provider, channelId }: Target): Pools {
  const { contactTypes } = providers[provider]
  const contacts: Partial<Record<ContactType, fc.Arbitrary<string>>> = { phone: phones, email: emails }
  const flows = mostly(fc.constant(flowId), stranger.flowId, flowId.toUpperCase(), 'none', '')
  return {
    channelId: mostly(fc.constant(channelId), stranger.channelId, channelId.toUpperCase(), 'none', ''),
    'contact.value': fc.oneof(
      ...contactTypes.map((type) => ({
        weight: 20,
        arbitrary: contacts[type] ?? fc.constant(contactKinds[type].example),
      })),
      fc.constantFrom('+49151', '0151123456789', `${valueMark}@localhost`, `${valueMark}@example.com`),
    ),
    flowId: flows,
    sendAt: mostly(
      times,
      'soon',
      '2026-11-24T09:00:00',
      '2000-01-01T00:00:00Z',
      '9999-12-31T23:59:59.9999-23:59',
    ),
    reference: mostly(text, ofLength(257)),
    expiresInSeconds: fc.oneof(
      { weight: 100, arbitrary: fc.constantFrom(1, 60, 604_800) },
      { weight: 1, arbitrary: fc.constantFrom(0, 604_801, 0.5) },
    ),
    metadata: fc.oneof(
      {
        weight: 100,
        arbitrary: fc.dictionary(fc.stringMatching(/^[a-z]{1,8}$/), fc.constant(valueMark), { maxKeys: 1 }),
      },
      {
        weight: 1,
        arbitrary: fc.constantFrom({ ['k'.repeat(65)]: valueMark }, { 'a b': valueMark }, [valueMark]),
      },
    ),
    email: fc.oneof(
      // Others refuse it, whatever it is.
      { weight: providers[provider].mail ? 24 : 300, arbitrary: fc.constant(undefined) },
      {
        weight: 1,
        arbitrary: fc.record(
          {
            subject: mostly(text, ofLength(999)),
            html: mostly(text, ofLength(262_145)),
            fromName: mostly(text, ofLength(257)),
            replyTo: mostly(emails, `${valueMark} <ann@example.com>`),
            attachments: usually(
              [
                { filename: `${valueMark}.bin`, mimetype: null, base64: 'QUJD', contentId: 'a' },
                { filename: 'a.pdf', mimetype: 'application/pdf', url: 'http://93.184.216.34/x' },
              ],
              [{ filename: '../a', base64: 'QUJD' }],
              [{ filename: 'a', base64: 'QUJD', url: 'http://93.184.216.34/x' }],
            ),
            headers: usually({ 'X-A': valueMark }, { 'X-A': 'ü' }, { Bcc: valueMark }, [valueMark]),
            tags: usually({ a: valueMark }, { a: `${valueMark} b` }, { 'a b': valueMark }),
          },
          { requiredKeys: [] },
        ),
      },
    ),
    'message.flowId': flows,
    'contact.name': mostly(text, ofLength(257)),
    'message.text.value': mostly(
      text,
      'x'.repeat(1600),
      ofLength(1601),
      '😀'.repeat(1601),
      'é'.repeat(4096),
      ofLength(4097),
    ),
    'message.template.name': mostly(fc.constantFrom('welcome', 'unregistered', contentSid), ofLength(513)),
    'message.template.variables': variables,
    'message.media.mimetype': mostly(
      fc.constantFrom('image/png', 'text/plain; charset=utf-8', 'audio/mpeg', 'video/mp4'),
      valueMark,
      `${valueMark}/`,
      `text/${ofLength(251)}`,
      'text/plain\r\nBcc: x',
    ),
    'message.media.filename': mostly(
      fc.constantFrom(`${valueMark}.png`, 'Übersicht 报告 (1).pdf', '...'),
      '..',
      `../${valueMark}`,
      `C:\\${valueMark}`,
    ),
    'message.media.caption': mostly(text, ofLength(1025)),
    'message.media.base64': mostly(base64, 'QUJDR', 'QQ==QQ', '-_-_', `data:text/plain,${valueMark}`, '\r\n'),
    'message.media.mediaUrl': mostly(
      mediaUrls,
      `http://127.0.0.1/${valueMark}`,
      `http://[::ffff:169.254.169.254]/`,
      `file:///${valueMark}`,
      `https://${valueMark}@example.com/`,
      `https://example.com:99999/${valueMark}`,
      `https://exa mple.com/${valueMark}`,
      `https://example.com/${ofLength(2029)}`,
    ),
  }
}

function ofLength(characters: number): string {
  return valueMark.padEnd(characters, 'x')
}

const usually = (good: object, ...bad: object[]) =>
  fc.oneof({ weight: 30, arbitrary: fc.constant(good) }, { weight: 1, arbitrary: fc.constantFrom(...bad) })

function mostly(good: fc.Arbitrary<string>, ...bad: string[]): fc.Arbitrary<string> {
  return fc.oneof({ weight: 24, arbitrary: good }, { weight: 1, arbitrary: fc.constantFrom(...bad) })
}

const variables = fc.oneof(
  { weight: 20, arbitrary: fc.tuple(fc.record({ key: fc.constant('name'), value: text })) },
  {
    weight: 8,
    arbitrary: fc.array(
      fc.record({ key: fc.constantFrom('name', '1', 'code', 'k'.repeat(65)), value: text }),
      {
        maxLength: 4,
      },
    ),
  },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom(100, 101)
      .map((count) => Array.from({ length: count }, (_, n) => ({ key: `k${n}`, value: valueMark }))),
  },
)

const inSeconds = (seconds: number) => new Date(Date.now() + seconds * 1000).toISOString()
const times = fc.constantFrom(-30, 3600, 86_400).map(inSeconds)

const digits = fc.stringMatching(/^\d{8}$/)
const phones = fc.oneof(
  digits.map((rest) => `+49151${rest}`),
  digits.map((rest) => `0049 (151) ${rest.slice(0, 3)}-${rest.slice(3)}`),
)
const emails = digits.map((local) => `${valueMark}.${local}@Example.com`)

const base64 = fc
  .record({
    content: fc.oneof(
      fc.constantFrom(...Object.values(samples)),
      fc.uint8Array({ minLength: 1, maxLength: 60 }),
    ),
    head: fc.constantFrom('', 'data:image/png;base64,', 'data:;base64,'),
    tail: fc.constantFrom('', '\r\n'),
  })
  .map(({ content, head, tail }) => head + Buffer.from(content).toString('base64') + tail)

const mediaUrls = fc.constantFrom(
  `https://example.com/${valueMark}.png?a=b#c`,
  'http://93.184.216.34/x',
  'https://bücher.example/ü',
)
