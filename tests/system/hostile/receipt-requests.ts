import { createHash, createHmac } from 'node:crypto'
import fc from 'fast-check'
import { deliveryReport } from '../../../src/providers/smtp/dev/reports.ts'
import { statusCallback } from '../../../src/providers/twilio/dev/reports.ts'
import { valueMark } from './good-bodies.ts'
import { damages } from './hostile-bodies.ts'
import { type ReceivingProvider, receivingConfigs } from './receiving-configs.ts'
import { contentEncodings, type HostileRequest, moreHeaders, oddIds } from './requests.ts'
import { publicBaseUrl, type Target, type World } from './world.ts'

type Headers = [string, string][]

/** A request as a provider makes it, whatever it reports. */
interface Report {
  path: string
  headers: Headers
  body: Buffer
}

/** Requests to the addresses for receipts. About half have nothing wrong, the others have, before or after they were signed. */
export function receiptRequests(world: World): fc.Arbitrary<HostileRequest> {
  const receiving = Object.keys(receivingConfigs) as ReceivingProvider[]
  const targets = world.targets.filter(({ provider }) => receiving.includes(provider as ReceivingProvider))
  const posts = targets.map((target) => ({ weight: 5, arbitrary: posted(world, target) }))
  const checks = targets.map((target) => ({ weight: 1, arbitrary: checked(target) }))
  return fc.oneof(...posts, ...checks)
}

function posted(world: World, target: Target): fc.Arbitrary<HostileRequest> {
  const provider = target.provider as ReceivingProvider
  return fc
    .record({
      report: pathsOf(world, target).chain((path) => reports[provider](path, idsOf(world, target))),
      method: mostly(fc.constant('POST'), fc.constantFrom('PUT', 'PUT', 'DELETE', 'post'), 8),
      forge: mostly(fc.constant(undefined), fc.constantFrom(...forgeries), 6),
      encoding: contentEncodings,
      more: moreHeaders,
      isChunked: fc.boolean(),
      isRepeated: fc.nat(7).map((n) => n === 0),
    })
    .map(({ report, method, forge, encoding, more, isChunked, isRepeated }) => {
      const { path, headers, body } = forge ? forge(report) : report
      const all = [...headers, ...encoding, ...more]
      return { route: 'receipts', target, method, path, headers: all, body, isChunked, isRepeated }
    })
}

/** A provider's check of the address. */
function checked(target: Target): fc.Arbitrary<HostileRequest> {
  const { verifyToken } = receivingConfigs['whatsapp-cloud']
  return fc
    .record({
      method: fc.constantFrom('GET', 'GET', 'HEAD'),
      mode: mostly(fc.constant('subscribe'), fc.constantFrom('', 'unsubscribe'), 4),
      token: mostly(fc.constant(verifyToken), fc.constantFrom('', valueMark, `${verifyToken}x`, '\0'), 3),
      challenge: fc.string({ unit: 'binary', maxLength: 50 }).map((text) => text.toWellFormed()),
      more: moreHeaders,
    })
    .map(({ method, mode, token, challenge, more }) => ({
      route: 'receipts',
      target,
      method,
      path: `/receipts/${target.channelId}?${new URLSearchParams({
        'hub.mode': mode,
        'hub.verify_token': token,
        'hub.challenge': challenge,
      })}`,
      headers: more,
      body: undefined,
      isChunked: false,
      isRepeated: false,
    }))
}

/** The changes to a request after it was signed. */
const forgeries: ((report: Report) => Report)[] = [
  (report) => ({ ...report, headers: report.headers.filter(([name]) => name === 'content-type') }),
  (report) => ({
    ...report,
    headers: report.headers.map(([name, value]) =>
      name === 'content-type' ? [name, value] : [name, `${valueMark}${value}`],
    ),
  }),
  (report) => ({
    ...report,
    headers: report.headers.map(([name, value]) =>
      /signature|authorization/.test(name) ? [name, value.slice(0, -3)] : [name, value],
    ),
  }),
  (report) => ({ ...report, headers: [...report.headers, ...report.headers] }),
  (report) => ({ ...report, body: Buffer.concat([report.body, Buffer.from(' ')]) }),
  (report) => ({ ...report, path: `${report.path}${report.path.includes('?') ? '&' : '?'}x=1` }),
  (report) => ({ ...report, headers: report.headers.filter(([name]) => name !== 'content-type') }),
]

function mostly<T, U>(good: fc.Arbitrary<T>, other: fc.Arbitrary<U>, weight = 15): fc.Arbitrary<T | U> {
  return fc.oneof({ weight, arbitrary: good }, { weight: 1, arbitrary: other })
}

const odd: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(null, true, 0, -1, 1e308, '', [], {}, [[]], '\0', '\ud800', '__proto__', 'a\r\nb'),
  fc.constantFrom('x'.repeat(600), '😀'.repeat(3000)),
  fc.jsonValue({ maxDepth: 3 }),
)
const sound = <T>(good: fc.Arbitrary<T>) => mostly(good, odd, 25)

function pathsOf(world: World, { channelId }: Target): fc.Arbitrary<string> {
  const others = fc.constantFrom(...world.targets.map((target) => target.channelId), world.stranger.channelId)
  const ids = fc.oneof(
    { weight: 20, arbitrary: fc.constant(channelId) },
    { weight: 1, arbitrary: others },
    { weight: 1, arbitrary: oddIds(channelId) },
  )
  return ids.map((id) => `/receipts/${id}`)
}

/** Ids of the channel's send, of another channel's, of one that was never attempted, and of none. */
function idsOf(world: World, { sentId = '' }: Target): fc.Arbitrary<string> {
  const others = world.targets.flatMap((target) => target.sentId ?? [])
  return fc.oneof(
    { weight: 10, arbitrary: fc.constant(sentId) },
    { weight: 2, arbitrary: fc.constantFrom(...others, world.requestId, sentId.toUpperCase()) },
    { weight: 1, arbitrary: fc.constantFrom('', 'x', '__proto__', "' or ''='", `${sentId}0`) },
    { weight: 1, arbitrary: fc.uuid() },
  )
}

const written = (value: fc.Arbitrary<unknown>): fc.Arbitrary<Buffer> => {
  const good = value.map((body) => Buffer.from(JSON.stringify(body)))
  return mostly(
    good,
    fc.tuple(good, damages).map(([body, damage]) => damage(body)),
    12,
  )
}

const messageIds = fc.nat(3).map((n) => `wamid.${n}`)
const seconds = fc.nat(1000).map((n) => String(1_795_437_158 + n))

const reports: Record<ReceivingProvider, (path: string, ids: fc.Arbitrary<string>) => fc.Arbitrary<Report>> =
  {
    'whatsapp-cloud': (path, ids) => {
      const { appSecret, phoneNumberId } = receivingConfigs['whatsapp-cloud']
      const status = fc.record({
        id: sound(messageIds),
        status: sound(fc.constantFrom('sent', 'delivered', 'read', 'played', 'failed', 'deleted')),
        timestamp: sound(seconds),
        recipient_id: sound(fc.constant('4915112345678')),
        biz_opaque_callback_data: sound(ids),
        errors: sound(fc.constantFrom([], [{ code: 131026, title: valueMark }], [{ code: valueMark }])),
      })
      const value = fc.record({
        metadata: sound(fc.constant({ phone_number_id: phoneNumberId })),
        statuses: sound(fc.array(sound(status), { maxLength: 4 })),
        messages: fc.constantFrom(undefined, [{ text: { body: valueMark } }]),
      })
      const change = fc.record({ field: sound(fc.constant('messages')), value: sound(value) })
      const entry = fc.record({ id: fc.constant('1'), changes: sound(fc.array(change, { maxLength: 2 })) })
      const body = fc.record({
        object: sound(fc.constant('whatsapp_business_account')),
        entry: sound(fc.array(entry, { maxLength: 2 })),
      })
      return written(sound(body)).map((bytes) => {
        const signature = createHmac('sha256', appSecret).update(bytes).digest('hex')
        const headers: Headers = [
          ['content-type', 'application/json'],
          ['x-hub-signature-256', `sha256=${signature}`],
        ]
        return { path, headers, body: bytes }
      })
    },

    webhook: (path, ids) => {
      const known = fc.record(
        {
          requestId: sound(ids),
          status: sound(fc.constantFrom('delivered', 'read', 'undelivered')),
          at: sound(mostly(fc.constantFrom(null, '2026-11-21T14:00:00Z'), fc.constant('yesterday'))),
          code: sound(mostly(fc.constantFrom(null, 'gone'), fc.constant('two words'))),
          reason: sound(mostly(fc.constant('the phone is off'), fc.constant('x'.repeat(501)))),
        },
        { requiredKeys: ['requestId', 'status'] },
      )
      const receipt = mostly(
        known,
        known.map((fields) => ({ ...fields, unknown: 1 })),
      )
      const list = fc.array(sound(receipt), { maxLength: 4 })
      const many = receipt.map((one) => Array(101).fill(one))
      const body = fc.oneof({ weight: 10, arbitrary: receipt }, { weight: 5, arbitrary: list }, many)
      return fc.tuple(written(sound(body)), fc.uuid()).map(([bytes, id]) => {
        const timestamp = String(Math.floor(Date.now() / 1000))
        const key = Buffer.from(receivingConfigs.webhook.secret.replace('whsec_', ''), 'base64')
        const signed = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(bytes)
        const headers: Headers = [
          ['content-type', 'application/json'],
          ['webhook-id', id],
          ['webhook-timestamp', timestamp],
          ['webhook-signature', `v1,${signed.digest('base64')}`],
        ]
        return { path, headers, body: bytes }
      })
    },

    resend: (path, ids) => {
      const { webhookSecret } = receivingConfigs.resend
      const data = fc.record({
        email_id: sound(messageIds),
        to: sound(fc.constant([`${valueMark}@example.com`])),
        tags: sound(fc.record({ requestId: sound(ids) })),
        bounce: sound(
          fc.constantFrom(undefined, { type: 'Permanent', message: valueMark }, { type: valueMark }),
        ),
      })
      const types = ['email.sent', 'email.delivered', 'email.bounced', 'email.opened', 'domain.created']
      const body = fc.record({
        type: sound(fc.constantFrom(...types)),
        created_at: sound(fc.constantFrom('2026-11-21T14:00:00.000Z', 'yesterday')),
        data: sound(data),
      })
      return written(sound(body)).map((bytes) => {
        const id = 'msg_1'
        const timestamp = String(Math.floor(Date.now() / 1000))
        const key = Buffer.from(webhookSecret.replace('whsec_', ''), 'base64')
        const signed = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(bytes)
        const headers: Headers = [
          ['content-type', 'application/json'],
          ['svix-id', id],
          ['svix-timestamp', timestamp],
          ['svix-signature', `v1,${signed.digest('base64')}`],
        ]
        return { path, headers, body: bytes }
      })
    },

    vonage: (path, ids) => {
      const { signatureSecret } = receivingConfigs.vonage
      const codes = fc.constantFrom('1300', 'rejected', valueMark)
      const error = codes.map((code) => ({
        type: `https://developer.vonage.com/api-errors/messages#${code}`,
        title: code,
        detail: valueMark,
      }))
      const body = fc.record({
        message_uuid: sound(messageIds),
        to: sound(fc.constant(valueMark)),
        timestamp: sound(fc.constantFrom('2026-11-21T14:00:00.000Z', 'yesterday')),
        status: sound(fc.constantFrom('submitted', 'delivered', 'read', 'rejected', 'undeliverable', 'lost')),
        client_ref: sound(ids),
        error: sound(error),
      })
      return written(sound(body)).map((bytes) => {
        const claims = {
          iat: Math.floor(Date.now() / 1000),
          payload_hash: createHash('sha256').update(bytes).digest('hex'),
        }
        const text = [{ alg: 'HS256', typ: 'JWT' }, claims]
          .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
          .join('.')
        const signature = createHmac('sha256', signatureSecret).update(text).digest('base64url')
        const headers: Headers = [
          ['content-type', 'application/json'],
          ['authorization', `Bearer ${text}.${signature}`],
        ]
        return { path, headers, body: bytes }
      })
    },

    twilio: (path, ids) =>
      fc
        .record({
          id: ids,
          status: fc.constantFrom(
            'sent',
            'delivered',
            'read',
            'failed',
            'undelivered',
            'received',
            '',
            '__proto__',
          ),
          code: fc.constantFrom('', '30003', '0', valueMark),
          sid: messageIds,
          more: fc.constantFrom({}, { To: valueMark, RawDlrDoneDate: '2611211400' }, { '': '\0' }),
        })
        .map(({ id, status, code, sid, more }) => {
          const query = new URLSearchParams({ requestId: id })
          const fields = { MessageStatus: status, ErrorCode: code, MessageSid: sid, ...more }
          const { authToken } = receivingConfigs.twilio
          const { headers, body } = statusCallback(`${publicBaseUrl}${path}?${query}`, authToken, fields)
          return { path: `${path}?${query}`, headers: Object.entries(headers), body: Buffer.from(body) }
        }),

    smtp: (path, ids) => {
      const report = fc
        .record({
          envelopeId: fc.option(ids),
          action: fc.constantFrom('failed', 'delivered', 'expanded', 'delayed', 'relayed', 'lost', '', '\0'),
          status: fc.constantFrom('5.1.1', '2.0.0', 'x', ''),
          headers: fc.constantFrom('', 'Message-ID: <x@example.com>', `Subject: ${valueMark}\r\n\r\nX: y`),
        })
        .map(({ envelopeId, action, status, headers }) => {
          const mail = { envelopeId, from: 'bounces@example.com', to: `${valueMark}@example.com`, headers }
          const result = { action, status, diagnostic: `550 ${valueMark}` }
          return Buffer.from(deliveryReport('', '', mail, result).body)
        })
      const other = fc
        .constantFrom('', 'Subject: Hello\r\n\r\nHello', '\0', 'no mail')
        .map((text) => Buffer.from(text))
      const damaged = fc.tuple(report, damages).map(([body, damage]) => damage(body))
      const bodies = fc.oneof({ weight: 12, arbitrary: report }, other, damaged)
      const types = mostly(fc.constant('message/rfc822'), fc.constantFrom('application/json', ''), 12)
      return fc.tuple(bodies, types).map(([body, type]) => {
        const headers: Headers = [
          ['content-type', type],
          ['authorization', `Bearer ${receivingConfigs.smtp.bounceToken}`],
        ]
        return { path, headers, body }
      })
    },
  }
