import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { recordReceipts } from '../../db/receipts/receipts.ts'
import { sends } from '../../db/schema.ts'
import type { ReceiptKind } from '../../src/core/receipts/receipt.ts'
import type { Timeline } from '../../src/core/sends/timeline.ts'
import {
  type Emulators,
  reportToChannels,
  startEmulators,
  stopEmulators,
} from '../../src/dev/world/emulators.ts'
import type { Emulator } from '../../src/providers/shared/dev/emulator.ts'
import type { EmulatedAnswer } from '../../src/providers/shared/dev/http-emulator.ts'
import type { SmtpEmulator } from '../../src/providers/smtp/dev/emulator.ts'
import type { TwilioEmulator } from '../../src/providers/twilio/dev/emulator.ts'
import type { WhatsAppCall } from '../../src/providers/whatsapp-cloud/dev/emulator.ts'
import { buildSendRow, namesOf, timelineOf } from '../support/attempts.ts'
import { type Account, accept, buildAccount, textBody } from '../support/builders.ts'
import { runCliWith } from '../support/cli.ts'
import { portToKeep } from '../support/port.ts'
import { buildProviderChannel } from '../support/provider-channel.ts'
import { buildReceipt, sendReport, whatsAppReport } from '../support/receipts.ts'
import { finishedTimeline, startTestService, type TestService } from '../support/service.ts'
import { expectSooner, spanBetween } from '../support/standstill.ts'
import { eventually } from '../support/wait.ts'

type Started = Omit<Emulators, 'smtp' | 'twilio' | 'whatsapp-cloud'> & {
  smtp: SmtpEmulator
  twilio: TwilioEmulator
  'whatsapp-cloud': Emulator<WhatsAppCall, EmulatedAnswer>
}
let emulators: Started
let service: TestService
let owner: Account
let channels: Record<keyof Emulators, string>

beforeAll(async () => {
  emulators = (await startEmulators()) as Started
  const port = String(await portToKeep())
  service = await startTestService({
    PORT: port,
    PUBLIC_BASE_URL: `http://127.0.0.1:${port}`,
    ALLOWED_PRIVATE_NETWORKS: '127.0.0.0/8',
    CLIENT_PRIVATE_NETWORKS: '127.0.0.0/8',
    RETRY_DELAYS_SECONDS: '3600,3600',
  })
  owner = await buildAccount(service)
  const build = async (name: keyof Emulators) =>
    [name, await buildProviderChannel(service, owner.accountId, name, emulators[name].config)] as const
  channels = Object.fromEntries(
    await Promise.all((Object.keys(emulators) as (keyof Emulators)[]).map(build)),
  ) as typeof channels
  reportToChannels(emulators, channels, service.url)
  await service.startWorker()
})
afterAll(async () => {
  await service.stop()
  await stopEmulators(emulators)
})

const by = (name: keyof Emulators): Account => ({ ...owner, channelId: channels[name] })

async function reported(requestId: string, delivery: string): Promise<Timeline> {
  return await eventually(`${delivery} of ${requestId}`, async () => {
    const timeline = await timelineOf(service, requestId)
    return timeline.delivery === delivery && timeline
  })
}

const receiptsOf = ({ events }: Timeline) =>
  events.flatMap((event) =>
    ['delivered', 'read', 'undelivered', 'receipt'].includes(event.event) ? [event.providerStatus] : [],
  )

const sampleOf = (name: string, requestId: string) =>
  readFileSync(`tests/rules/receipts/reports/${name}.eml`, 'utf8').replaceAll('REQUEST_ID', requestId)

/** Passes a mail on, as the pipe of a mail server does. */
async function pipe(mail: string): Promise<number> {
  const { status } = await fetch(`${service.url}/receipts/${channels.smtp}`, {
    method: 'POST',
    headers: {
      'content-type': 'message/rfc822',
      authorization: `Bearer ${emulators.smtp.config.bounceToken}`,
    },
    body: mail,
  })
  return status
}

describe('an emulator reports as its vendor does, and the timeline has each report once', () => {
  test('WhatsApp: batched, out of order, and one of them twice', async () => {
    const requestId = await accept(service, by('whatsapp-cloud'), textBody())
    await reported(requestId, 'read')
    const counted = async () => {
      const { values } = await service.api.metrics.receipts.get()
      return values.find(
        ({ labels }) => labels.provider === 'whatsapp-cloud' && labels.result === 'duplicate',
      )?.value
    }
    await eventually('the repeat', async () => (await counted()) === 2)
    const timeline = await timelineOf(service, requestId)
    expect(receiptsOf(timeline).sort()).toEqual(['delivered', 'read', 'sent'])
    expect(timeline).toMatchObject({ status: 'sent', delivery: 'read', attempts: 1 })
  })

  test('Twilio: delivered before sent', async () => {
    const requestId = await accept(service, by('twilio'), textBody())
    const timeline = await eventually('both', async () => {
      const found = await timelineOf(service, requestId)
      return receiptsOf(found).length === 2 && found
    })
    expect(receiptsOf(timeline)).toEqual(['delivered', 'sent'])
    expect(timeline.delivery).toBe('delivered')
  })

  test('a mail server: delivered, or bounced after it took the mail', async () => {
    const good = await accept(service, by('smtp'), textBody('Hello', 'ann@example.com'))
    const bad = await accept(service, by('smtp'), textBody('Hello', 'bounces@example.com'))
    expect(receiptsOf(await reported(good, 'delivered'))).toEqual(['delivered'])
    const bounced = await reported(bad, 'undelivered')
    expect(bounced).toMatchObject({ status: 'sent' })
    expect(bounced.events.at(-1)).toMatchObject({ providerCode: '5.1.1', reason: 'there is no such mailbox' })
    const { envelopeId, notify } =
      emulators.smtp.calls.find(({ to }) => to[0] === 'bounces@example.com') ?? {}
    expect({ envelopeId, notify }).toEqual({ envelopeId: bad, notify: ['SUCCESS', 'FAILURE'] })
  })

  test.each([
    'another-uuid-in-delivered-to',
    'no-message-fields',
    'space-before-colon-one-group',
    'policy-5.7.9',
    'exim-no-part',
    'qmail',
  ])('a mail server by its pipe, another id beside ours: %s', async (name) => {
    // A contact of its own: some of these bounces suppress it.
    const requestId = await accept(service, by('smtp'), textBody('Hello', `${name}@example.com`))
    await reported(requestId, 'delivered')
    // It could be one of ours, but is of no send.
    const foreign = 'Delivered-To: 0197f3c2-0000-7abc-8def-0123456789ab@bounces.example.net\n'
    expect(await pipe(foreign + sampleOf(name, requestId))).toBe(200)
    expect(await timelineOf(service, requestId)).toMatchObject({ status: 'sent', delivery: 'undelivered' })
  })

  test('a mail server by its pipe: an automatic reply is in the timeline once, and changes nothing', async () => {
    const requestId = await accept(service, by('smtp'), textBody('Hello', 'ann@example.com'))
    const before = await reported(requestId, 'delivered')
    for (const _ of ['first', 'repeat']) expect(await pipe(sampleOf('out-of-office', requestId))).toBe(200)
    const { events, ...after } = await timelineOf(service, requestId)
    expect({ ...after, events: events.slice(0, -1) }).toEqual(before)
    expect(events.at(-1)).toMatchObject({
      event: 'receipt',
      providerStatus: 'auto-replied',
      providerAt: '2026-11-23T14:00:08.000Z',
    })
  })

  test('Vonage: delivered before submitted, then read', async () => {
    const requestId = await accept(service, by('vonage'), textBody())
    const timeline = await eventually('all three', async () => {
      const found = await timelineOf(service, requestId)
      return receiptsOf(found).length === 3 && found
    })
    expect(receiptsOf(timeline).sort()).toEqual(['delivered', 'read', 'submitted'])
    expect(timeline).toMatchObject({ status: 'sent', delivery: 'read', attempts: 1 })
  })

  test('Resend: delivered before sent, or bounced', async () => {
    const good = await accept(service, by('resend'), textBody('Hello', 'ann@example.com'))
    const bad = await accept(service, by('resend'), textBody('Hello', 'bounced@example.com'))
    const words = async (requestId: string) =>
      await eventually('both', async () => {
        const found = receiptsOf(await timelineOf(service, requestId))
        return found.length === 2 && found
      })
    expect((await words(good)).sort()).toEqual(['email.delivered', 'email.sent'])
    expect((await words(bad)).sort()).toEqual(['email.bounced', 'email.sent'])
    expect((await timelineOf(service, good)).delivery).toBe('delivered')
    const bounced = await timelineOf(service, bad)
    expect(bounced).toMatchObject({ status: 'sent', delivery: 'undelivered' })
    expect(bounced.events.find(({ event }) => event === 'undelivered')).toMatchObject({
      providerCode: 'Permanent',
      providerMessageId: bounced.providerMessageId,
    })
  })

  test('a receiver of a webhook channel', async () => {
    const requestId = await accept(service, by('webhook'), textBody())
    expect(receiptsOf(await reported(requestId, 'delivered'))).toEqual(['delivered'])
  })
})

test.each([
  ['+15550100106', 'delivered', ['delivered']],
  ['+15550100107', 'read', ['delivered', 'read']],
  ['+15550100108', 'undelivered', ['undelivered']],
  ['delivered@any.example', 'delivered', ['delivered']],
  ['undelivered@any.example', 'undelivered', ['undelivered']],
] as [string, ReceiptKind, string[]][])(
  'the sandbox reports for %s: %s',
  async (contact, delivery, words) => {
    const requestId = await accept(service, owner, textBody('Hello', contact))
    await finishedTimeline(service, requestId, owner.apiKey)
    const timeline = await reported(requestId, delivery)
    expect(receiptsOf(timeline)).toEqual(words)
    const sentAt = Date.parse(timeline.finishedAt ?? '')
    expect(Date.parse(timeline.deliveryAt ?? '') - sentAt).toBeLessThan(1500)
  },
)

describe('a provider takes the message and hangs up, then reports', () => {
  test.each([
    ['holds', 'hold', 'uncertain'],
    ['resends: its resend was due', 'resend', 'queued'],
  ] as const)(
    'on a channel that %s, the send is sent within a second, and no second call is made',
    async (_, onUncertain, status) => {
      const { config } = emulators['whatsapp-cloud']
      const channelId = await buildProviderChannel(service, owner.accountId, 'whatsapp-cloud', config)
      await service.runtime.db.$client.query('update channels set on_uncertain = $2 where id = $1', [
        channelId,
        onUncertain,
      ])
      emulators['whatsapp-cloud'].answerNext('drop')
      const requestId = await accept(service, { ...owner, channelId }, textBody())
      await eventually(status, async () => {
        const found = await timelineOf(service, requestId)
        return found.attempts === 1 && found.status === status
      })
      const startedAt = performance.now()
      const report = whatsAppReport(
        service,
        channelId,
        [{ requestId, kind: 'delivered' }],
        config as { phoneNumberId: string; appSecret: string },
      )
      expect((await sendReport(report)).status).toBe(200)
      const timeline = await timelineOf(service, requestId)
      expectSooner(spanBetween(startedAt, performance.now()), 1000)
      expect(timeline).toMatchObject({ status: 'sent', delivery: 'delivered', attempts: 1 })
      expect(namesOf(timeline).slice(-2)).toEqual(['sent', 'delivered'])
      await service.runtime.db.$client.query(
        'update sends set next_attempt_at = now() where request_id = $1',
        [requestId],
      )
      const behind = await accept(service, { ...owner, channelId }, textBody('next', timeline.contact.value))
      await finishedTimeline(service, behind, owner.apiKey)
      const calls = emulators['whatsapp-cloud'].calls.filter(
        ({ message }) => message?.biz_opaque_callback_data === requestId,
      )
      expect(calls).toHaveLength(1)
    },
  )
})

describe('receipts fetch', () => {
  const fetchReceipts = (...args: string[]) =>
    runCliWith(
      service,
      { ALLOWED_PRIVATE_NETWORKS: '127.0.0.0/8', CLIENT_PRIVATE_NETWORKS: '127.0.0.0/8' },
      'receipts',
      'fetch',
      ...args,
    )

  test('asks Twilio for sends whose delivery is unknown, and can be repeated', async () => {
    const { statusCallback: _, ...config } = emulators.twilio.config as { statusCallback?: boolean }
    const channelId = await buildProviderChannel(service, owner.accountId, 'twilio', config)
    const ids = await Promise.all([1, 2, 3].map(() => accept(service, { ...owner, channelId }, textBody())))
    for (const id of ids) await finishedTimeline(service, id, owner.apiKey)
    const [known = ''] = ids
    await recordReceipts(service.runtime.db, [
      buildReceipt(known, channelId, 'undelivered', { providerMessageId: null }),
    ])
    const first = await fetchReceipts('--channel', channelId, '--since', '1h')
    expect(first).toMatchObject({ status: 0, stderr: '' })
    expect(JSON.parse(first.stdout)).toEqual({ asked: 2, changed: 2 })
    for (const id of ids.slice(1)) expect((await timelineOf(service, id)).delivery).toBe('delivered')
    expect(JSON.parse((await fetchReceipts('--channel', channelId)).stdout)).toEqual({ asked: 0, changed: 0 })
  })

  test('says why sends have no other state: Twilio no longer knows them', async () => {
    const channelId = await buildProviderChannel(service, owner.accountId, 'twilio', emulators.twilio.config)
    const sent = { status: 'sent', finishedAt: new Date(), attempt: 1, providerMessageId: 'SM1' } as const
    await service.runtime.db.insert(sends).values(buildSendRow({ ...owner, channelId }, sent))
    const { stdout } = await fetchReceipts('--channel', channelId)
    expect(JSON.parse(stdout)).toEqual({ asked: 1, changed: 0, leftOut: { forgotten: 1, noNews: 0 } })
  })

  test.each([
    ['an absent channel', 3, () => '01890000-0000-7000-8000-000000000000', /^No channel /],
    ['a provider that can not be asked', 4, () => channels.smtp, /smtp can't be asked for receipts/],
  ])('of %s fails with one line', async (_, code, channel, line) => {
    const { status, stderr } = await fetchReceipts('--channel', channel())
    expect(status).toBe(code)
    expect(stderr).toMatch(line)
  })

  test('says when the provider does not answer, and what to do', async () => {
    const { baseUrl: _, statusCallback: __, ...config } = emulators.twilio.config as Record<string, string>
    const channelId = await buildProviderChannel(service, owner.accountId, 'twilio', {
      ...config,
      baseUrl: emulators.twilio.config.baseUrl,
    })
    const requestId = await accept(service, { ...owner, channelId }, textBody())
    await finishedTimeline(service, requestId, owner.apiKey)
    emulators.twilio.answerNext({ status: 503 })
    const { status, stderr } = await fetchReceipts('--channel', channelId)
    expect({ status, stderr }).toEqual({
      status: 1,
      stderr: expect.stringMatching(/^twilio answered 503; run the command again later/),
    })
  })

  test.each(['127.0.0.1', 'localhost'])('calls no private address: %s', async (host) => {
    const { port } = new URL((emulators.twilio.config as { baseUrl: string }).baseUrl)
    const config = { ...emulators.twilio.config, baseUrl: `http://${host}:${port}` }
    const channelId = await buildProviderChannel(service, owner.accountId, 'twilio', config)
    const sent = { status: 'sent', finishedAt: new Date(), attempt: 1, providerMessageId: 'SM1' } as const
    await service.runtime.db.insert(sends).values(buildSendRow({ ...owner, channelId }, sent))
    const before = emulators.twilio.calls.length
    const { status, stderr } = await runCliWith(service, {}, 'receipts', 'fetch', '--channel', channelId)
    expect({ status, stderr }).toEqual({ status: 4, stderr: expect.stringContaining('is not public') })
    expect(emulators.twilio.calls).toHaveLength(before)
  })
})

test('a worker without PUBLIC_BASE_URL makes no call by a channel whose receipts need it', async () => {
  const other = await startTestService({
    ALLOWED_PRIVATE_NETWORKS: '127.0.0.0/8',
    CLIENT_PRIVATE_NETWORKS: '127.0.0.0/8',
  })
  onTestFinished(() => other.stop())
  const account = await buildAccount(other)
  const channelId = await buildProviderChannel(other, account.accountId, 'twilio', emulators.twilio.config)
  const requestId = await accept(other, { ...account, channelId }, textBody())
  const worker = await other.startWorker()
  const timeline = await eventually('the attempt', async () => {
    const found = await timelineOf(other, requestId)
    return namesOf(found).includes('attempt_finished') && found
  })
  await worker.stop()
  expect(timeline).toMatchObject({ status: 'queued', attempts: 0 })
  expect(timeline.events.find(({ event }) => event === 'attempt_finished')).toMatchObject({
    outcome: 'not_called',
    reason: expect.stringContaining('PUBLIC_BASE_URL'),
  })
})
