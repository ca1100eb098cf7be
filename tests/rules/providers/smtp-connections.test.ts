import fc from 'fast-check'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import type { Delivery } from '../../../src/providers/delivery.ts'
import type { SmtpConfig } from '../../../src/providers/smtp/config.ts'
import {
  openSmtpEmulator,
  type SmtpAnswer,
  type SmtpEmulator,
  type SmtpStep,
} from '../../../src/providers/smtp/dev/emulator.ts'
import { smtp as rules } from '../../../src/providers/smtp/index.ts'
import { createMediaFetcher } from '../../../workers/http/media-fetcher.ts'
import type { Sender } from '../../../workers/providers/sender.ts'
import { createSmtpSender } from '../../../workers/providers/smtp.ts'
import { openSmtpConnections } from '../../../workers/providers/smtp-connections.ts'
import { buildDelivery } from '../../support/deliveries.ts'
import { eventually } from '../../support/wait.ts'

const media = createMediaFetcher({ allowedPrivateNetworks: [] })
let emulator: SmtpEmulator
let provider: Sender<SmtpConfig>
let config: SmtpConfig

beforeAll(async () => {
  emulator = await openSmtpEmulator()
})
beforeEach(() => {
  emulator.calls.length = 0
  provider = createSmtpSender(media)
  config = rules.config.parse(emulator.config)
})
afterEach(async () => {
  await provider.close?.()
  await eventually('no session is open', async () => emulator.open() === 0)
})
afterAll(async () => {
  await emulator.stop()
  await media.close()
})

async function send(by = config, to = 'ann@example.com', withinMs = 100_000) {
  const changes = { contact: { type: 'email', value: to } } as const
  const delivery = buildDelivery(rules, by, changes) as Delivery<SmtpConfig>
  const outcome = await provider.send(delivery, AbortSignal.timeout(withinMs))
  const taken = emulator.calls.filter(
    ({ mail, isTaken }) => isTaken && mail?.headers['message-id']?.includes(delivery.requestId),
  )
  return { outcome, taken }
}
const places = () => emulator.calls.map(({ mailOfSession }) => mailOfSession)
/** Opens a session, and keeps it. */
const first = async () => expect((await send()).outcome.outcome).toBe('sent')

test('mails of a channel that come one after the other go over one connection, which is logged in once', async () => {
  for (let mail = 1; mail <= 3; mail++) await first()
  expect(places()).toEqual([1, 2, 3])
  expect(emulator.calls.map(({ user }) => user)).toEqual(Array(3).fill(config.user))
  expect(emulator.open()).toBe(1)
})

test('mails at the same time have a connection each', async () => {
  await Promise.all([first(), first(), first()])
  expect(places()).toEqual([1, 1, 1])
  await Promise.all([first(), first()])
  expect(places()).toEqual([1, 1, 1, 2, 2])
})

test('a channel with another config has connections of its own', async () => {
  await first()
  const changed = rules.config.parse({ ...emulator.config, from: 'other@example.org' })
  expect((await send(changed)).outcome.outcome).toBe('sent')
  expect(places()).toEqual([1, 1])
})

test('a connection on which the server refused something is not kept', async () => {
  provider = createSmtpSender(media, {}, openSmtpConnections({ longestIdleMs: 60_000, maxMails: 100 }))
  await first()
  expect((await send(config, 'unknown@example.com')).outcome.outcome).toBe('rejected')
  await eventually('no session is open', async () => emulator.open() === 0)
  await first()
  expect(places()).toEqual([1, 2, 1])
})

const ends: [SmtpStep, string][] = [
  ['MAIL', 'drop'],
  ['MAIL', '421 4.4.2 Timeout exceeded'],
  ['MAIL', '452 4.5.3 Too many messages in this session'],
  ['MAIL', '550 5.7.0 Too many messages in this session'],
  ['RCPT', 'drop'],
  ['RCPT', '421 4.7.0 Closing'],
  ['DATA', 'drop'],
  ['DATA', '421 4.7.0 Closing'],
]
test.each(ends)(
  'a kept connection that ends at %s, by %s, costs no attempt: the mail goes over a new one',
  async (at, reply) => {
    await first()
    emulator.answerNext({ at, reply })
    const { outcome, taken } = await send()
    expect(outcome.outcome).toBe('sent')
    expect(taken).toHaveLength(1)
    expect(places()).toEqual([1, 2, 1])
  },
)

test.each<[SmtpStep, string, string]>([
  ['MAIL', '421 4.4.2 Closing', 'retry_later'],
  ['MAIL', '550 5.7.1 Not your address', 'channel_refused'],
  ['MAIL', 'drop', 'retry_later'],
])('the new connection has the last word: %s, %s is %s', async (at, reply, expected) => {
  await first()
  emulator.answerNext({ at, reply }, { at, reply })
  const { outcome, taken } = await send()
  expect(outcome.outcome).toBe(expected)
  expect(taken).toEqual([])
  expect(places()).toEqual([1, 2, 1])
})

test.each<[SmtpStep, string, string]>([
  ['RCPT', '550 5.1.1 Unknown', 'rejected'],
  ['RCPT', '450 4.2.0 Greylisted', 'retry_later'],
  ['DATA', '554 5.6.0 No', 'rejected'],
  ['content', 'drop', 'uncertain'],
  ['end', 'drop', 'uncertain'],
  ['end', '452 4.3.1 Full', 'retry_later'],
  ['end', '421 4.3.0 Closing', 'retry_later'],
])(
  'what a kept connection says about the mail counts: %s, %s is %s, without another try',
  async (at, reply, expected) => {
    await first()
    emulator.answerNext({ at, reply })
    const { outcome } = await send()
    expect(outcome.outcome).toBe(expected)
    expect(places()).toEqual([1, 2])
  },
)

test('a kept connection that hangs is given up with the call, without another try', async () => {
  await first()
  emulator.answerNext({ at: 'MAIL', reply: 'hang' })
  const { outcome } = await send(config, undefined, 300)
  expect(outcome.outcome).toBe('retry_later')
  expect(places()).toEqual([1, 2])
  await eventually('no session is open', async () => emulator.open() === 0)
})

test('a connection is closed once it is idle, or has brought its mails', async () => {
  const connections = openSmtpConnections({ longestIdleMs: 200, maxMails: 3 })
  provider = createSmtpSender(media, {}, connections)
  for (let mail = 1; mail <= 4; mail++) await first()
  expect(places()).toEqual([1, 2, 3, 1])
  await eventually('no session is open', async () => emulator.open() === 0)
  await first()
  expect(places()).toEqual([1, 2, 3, 1, 1])
})

test('a connection that the server closes while it is idle is not used again', async () => {
  await first()
  await emulator.stop()
  emulator = await openSmtpEmulator()
  const { port } = emulator.config
  Object.assign(config, { port })
  await first()
  expect(places()).toEqual([1])
})

test('closing the provider ends the kept connections, and those in use with their mails', async () => {
  await first()
  const late = send()
  await provider.close?.()
  expect((await late).outcome.outcome).toBe('sent')
  await eventually('no session is open', async () => emulator.open() === 0)
})

const steps: SmtpStep[] = ['connect', 'EHLO', 'AUTH', 'MAIL', 'RCPT', 'DATA', 'end']
const replies = ['drop', '421 4.3.0 Closing', '450 4.2.0 Later', '550 5.1.1 No', '250 2.0.0 Out of turn']
const anyAnswer = fc.oneof(
  // It offers no STARTTLS, so this one takes the mail.
  fc.constant<SmtpAnswer>({ at: 'STARTTLS', reply: 'drop' }),
  fc.constant<SmtpAnswer>({ at: 'content', reply: 'drop' }),
  fc.record<SmtpAnswer>({ at: fc.constantFrom(...steps), reply: fc.constantFrom(...replies) }),
)

test('whatever the server does at any mail of a session, it gets each mail at most once, and what is sent it has', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(anyAnswer, { minLength: 1, maxLength: 5 }), async (answers) => {
      const own = await openSmtpEmulator()
      const by = rules.config.parse(own.config)
      const mails = createSmtpSender(media)
      own.answerNext(...answers)
      for (const _ of answers) {
        const delivery = buildDelivery(rules, by) as Delivery<SmtpConfig>
        const { outcome } = await mails.send(delivery, AbortSignal.timeout(500))
        const contents = own.calls.filter(({ mail }) =>
          mail?.headers['message-id']?.includes(delivery.requestId),
        )
        expect(contents.length).toBeLessThanOrEqual(1)
        if (outcome === 'sent') expect(contents).toHaveLength(1)
        // A busy machine may give the call up after the server has accepted the mail.
        else if (outcome !== 'uncertain') expect(contents.filter(({ isTaken }) => isTaken)).toEqual([])
      }
      await mails.close?.()
      await own.stop()
    }),
    { numRuns: 30 },
  )
})
