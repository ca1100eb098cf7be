import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Fault } from '../../../src/core/sends/outcome.ts'
import type { Delivery } from '../../../src/providers/delivery.ts'
import type { SmtpConfig } from '../../../src/providers/smtp/config.ts'
import {
  openSmtpEmulator,
  type SmtpAnswer,
  type SmtpEmulator,
} from '../../../src/providers/smtp/dev/emulator.ts'
import { smtp as rules } from '../../../src/providers/smtp/index.ts'
import { createMediaFetcher } from '../../../workers/http/media-fetcher.ts'
import { createSmtpSender } from '../../../workers/providers/smtp.ts'
import { cert, key } from '../../support/certificate.ts'
import { buildDelivery } from '../../support/deliveries.ts'
import { expectSooner, timed } from '../../support/standstill.ts'
import { eventually } from '../../support/wait.ts'

const timeoutMs = 20_000
const media = createMediaFetcher({ allowedPrivateNetworks: [] })
let emulator: SmtpEmulator

beforeAll(async () => {
  emulator = await openSmtpEmulator()
})
afterAll(async () => {
  await emulator.stop()
  await media.close()
})

interface Attempt extends Partial<Delivery<unknown>> {
  config?: Partial<SmtpConfig>
}

function send(parts: Attempt = {}, answers: SmtpAnswer[] = []) {
  emulator.answerNext(...answers)
  const config = { ...rules.config.parse(emulator.config), ...parts.config }
  const delivery = buildDelivery(rules, config, { ...parts, config }) as Delivery<SmtpConfig>
  return createSmtpSender(media, { ca: cert }).send(delivery, AbortSignal.timeout(timeoutMs))
}

/** Forwards to a server, and can send its client replies of its own. */
async function openRelay(farPort: number) {
  const clients: Socket[] = []
  const server = createServer((client) => {
    clients.push(client)
    const far = connect(farPort, '127.0.0.1')
    for (const socket of [client, far]) socket.on('error', () => {})
    client.pipe(far).pipe(client)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    say: (words: string) => clients.at(-1)?.write(words),
    stop: () => server.close(),
  }
}

test.each([true, false])(
  'TLS that breaks after all of the mail was written leaves it uncertain (secure: %s)',
  async (secure) => {
    const far = await openSmtpEmulator({ key, cert, secure })
    const relay = await openRelay(far.config.port)
    far.answerNext({ at: 'end', reply: 'hang' })
    const outcome = send({ config: { host: '0.0.0.0', port: relay.port, secure } })
    await eventually('the mail came whole', async () => far.calls[0]?.raw !== undefined)
    relay.say('this is no TLS\r\n')
    expect(await outcome).toEqual({
      outcome: 'uncertain',
      fault: 'provider',
      reason: expect.stringMatching(/SSL|EPROTO/),
    })
    relay.stop()
    await far.stop()
  },
)

test('TLS that breaks before the content begins is tried later', async () => {
  const far = await openSmtpEmulator({ key, cert })
  const relay = await openRelay(far.config.port)
  far.answerNext({ at: 'DATA', reply: 'hang' })
  const outcome = send({ config: { host: '0.0.0.0', port: relay.port } })
  await eventually('the recipient came', async () => far.calls[0]?.to.length === 1)
  relay.say('this is no TLS\r\n')
  expect(await outcome).toMatchObject({ outcome: 'retry_later' })
  relay.stop()
  await far.stop()
})

describe('an answer that is neither positive nor negative', () => {
  const answers = ['354 go on', '334 go on', '150 wait', 'hello', 'HTTP/1.1 500 no', '5500 no']

  test.each(answers)('leaves a mail that was written uncertain: %s', async (reply) => {
    expect(await send({}, [{ at: 'end', reply }])).toEqual({
      outcome: 'uncertain',
      fault: 'provider',
      reason: 'the answer neither accepts nor refuses the mail',
    })
  })

  test.each(answers)('is tried later where none was written: %s', async (reply) => {
    const { outcome } = await send({}, [{ at: 'RCPT', reply }])
    expect(outcome).toBe('retry_later')
  })
})

describe('a refusal that ends with the connection', () => {
  test.each<[SmtpAnswer['at'], number, string, Fault, string]>([
    ['connect', 554, 'channel_refused', 'sender', 'the server refused the connection: no ann wants "Hello"'],
    ['RCPT', 550, 'rejected', 'recipient', 'the server refused the recipient'],
    ['RCPT', 450, 'retry_later', 'recipient', 'the server refused the recipient'],
    ['RCPT', 421, 'retry_later', 'provider', 'the server refused the recipient'],
    ['DATA', 554, 'rejected', 'recipient', 'the server refused the recipient'],
    ['content', 552, 'rejected', 'message', 'the server refused the mail'],
    ['end', 554, 'rejected', 'message', 'the server refused the mail'],
    ['end', 451, 'retry_later', 'provider', 'the server refused the mail'],
    ['end', 421, 'retry_later', 'provider', 'the server refused the mail'],
  ])('at %s, %s, is %s by the fault of the %s', async (at, code, outcome, fault, reason) => {
    for (const isCutOff of [true, undefined] as const) {
      if (at === 'DATA' && !isCutOff) continue
      const reply = `${code} no ann wants "Hello"`
      const result = await send({}, [{ at, reply, ...(isCutOff && { isCutOff }) }])
      expect(result).toEqual({ outcome, fault, reason, providerStatus: code, providerCode: undefined })
    }
  })
})

test.each<[SmtpAnswer['at'], string, 'bounce' | undefined]>([
  ['RCPT', '550 5.1.1 no', 'bounce'],
  ['RCPT', '550 No such user here', 'bounce'],
  ['RCPT', '550 5.7.1 no', undefined],
  ['RCPT', '550 5.1.1 mailbox is full', undefined],
  ['RCPT', '450 4.1.1 no such user', undefined],
  ['end', '550 5.1.1 no such user', 'bounce'],
  ['end', '552 5.2.2 mailbox full', undefined],
  ['MAIL', '550 5.1.1 no such user', undefined],
])('a contact that is refused at %s with %s is suppressed as: %s', async (at, reply, suppresses) => {
  const outcome = await send({}, [{ at, reply }])
  expect({ suppresses: undefined, ...outcome }).toMatchObject({ suppresses })
})

test.each<[string, string]>([
  ['550 5.2.1 The user you are trying to contact is receiving mail at a rate that', 'too many mails now'],
  ['550 5.1.10 RESOLVER.ADR.RecipientNotFound; Recipient not found', 'there is no such mailbox'],
  ['550 5.5.0 Requested action not taken: mailbox unavailable', 'there is no such mailbox'],
  ['550 5.2.1 The email account that you tried to reach is disabled.', 'the mailbox is disabled'],
])('the reason of a refused contact says what the reply says: %s', async (reply, meaning) => {
  expect(await send({}, [{ at: 'RCPT', reply }])).toMatchObject({
    outcome: 'rejected',
    reason: expect.stringContaining(meaning),
  })
})

test('credentials that a server repeats are masked, in every form', async () => {
  const base64 = (text: string) => Buffer.from(text).toString('base64')
  const logins = [
    ['outbound', 'emulated password'],
    ['ann', 'ann1234'],
    ['ann1234', 'ann'],
    ['u1', 'p9'],
  ] as const
  for (const [user, pass] of logins) {
    const forms = [pass, user, base64(pass), base64(user), base64(`\0${user}\0${pass}`)]
    const reply = `500 Command unrecognized: AUTH PLAIN ${forms.join(' and ')}.`
    const result = await send({ config: { user, pass } }, [{ at: 'AUTH', reply }])
    expect(result).toMatchObject({
      outcome: 'channel_refused',
      reason: 'the server refused the login: Command unrecognized: AUTH PLAIN … and … and … and … and ….',
    })
  }
})

test('an overlong answer counts as none, and is handled quickly', async () => {
  const reply = `535 ${'a'.repeat(500_000)}`
  const { result, ...span } = await timed(async () => ({ result: await send({}, [{ at: 'AUTH', reply }]) }))
  expect(result).toEqual({ outcome: 'retry_later', fault: 'provider', reason: 'the answer is not SMTP' })
  expectSooner(span, 1000)
})

describe('an invalid mail', () => {
  test('an invalid definition is rejected before a session is opened', async () => {
    const before = emulator.calls.length
    const template = { name: 'welcome', variables: [], definition: { subject: 1 } }
    expect(await send({ message: { type: 'template', template } })).toEqual({
      outcome: 'rejected',
      fault: 'message',
      reason: 'the message could not be converted to a mail',
    })
    expect(emulator.calls).toHaveLength(before)
  })

  test('a from without an address is a fault of the channel', async () => {
    expect(await send({ config: { from: 'Ann' } })).toEqual({
      outcome: 'channel_refused',
      fault: 'sender',
      reason: "the channel's from contains no address",
    })
  })
})

test.each(['', ' '])(
  "a template's subject that comes to nothing is that of the channel: %j",
  async (value) => {
    const definition = { subject: '{{a}}', text: 'T' }
    const template = { name: 'welcome', variables: [{ key: 'a', value }], definition }
    await send({ message: { type: 'template', template }, config: { subject: 'News' } })
    expect(emulator.calls.at(-1)?.mail?.headers.subject).toBe('News')
  },
)
