import { afterEach, describe, expect, test } from 'vitest'
import { resumeChannel } from '../../db/accounts/channels.ts'
import { recordReceipts } from '../../db/receipts/receipts.ts'
import { cancelSend } from '../../db/sends/cancel.ts'
import { replaySend } from '../../db/sends/replays.ts'
import { eraseSends } from '../../db/upkeep/erase.ts'
import { deliveryStates, type ReceiptKind, receiptKinds } from '../../src/core/receipts/receipt.ts'
import type { AttemptOutcome } from '../../src/core/sends/outcome.ts'
import {
  attemptedSend,
  beginAttempt,
  claimBy,
  endAttempt,
  lapse,
  namesOf,
  rowOf,
  sweepOnce,
  timelineOf,
} from '../support/attempts.ts'
import { accept, buildAccount, textBody } from '../support/builders.ts'
import { deliverAs } from '../support/deliver-as.ts'
import { inSeconds } from '../support/later.ts'
import { buildProviderChannel } from '../support/provider-channel.ts'
import { alikeProviders } from '../support/providers.ts'
import { buildReceipt, whatsAppConfig } from '../support/receipts.ts'
import { serviceOfFile } from '../support/service.ts'

/** On a WhatsApp channel, which holds what is uncertain. */

const service = await serviceOfFile()
const owner = await buildAccount(service)
const channelId = await buildProviderChannel(service, owner.accountId, 'whatsapp-cloud', whatsAppConfig)
const account = { ...owner, channelId }
/** A refused channel is held. */
afterEach(() => resumeChannel(service.runtime.db, account.channelId))

const sent: AttemptOutcome = { outcome: 'sent', providerMessageId: 'wamid.1', providerStatus: 200 }
const unsure: AttemptOutcome = { outcome: 'uncertain', fault: 'provider', reason: 'connection lost' }
const rejected: AttemptOutcome = {
  outcome: 'rejected',
  fault: 'recipient',
  reason: 'no such number',
  providerStatus: 400,
}
const busy: AttemptOutcome = {
  outcome: 'retry_later',
  fault: 'provider',
  reason: 'busy',
  providerStatus: 503,
}
const refused: AttemptOutcome = {
  outcome: 'channel_refused',
  fault: 'sender',
  reason: 'gone',
  providerStatus: 401,
}
const notCalled: AttemptOutcome = { outcome: 'not_called', reason: 'no lease' }

const attempted = (outcome: AttemptOutcome) => attemptedSend(service, account, outcome)

/** Records receipts of one send, and returns the results. */
async function report(
  requestId: string,
  kinds: readonly ReceiptKind[],
  messageId = 'wamid.1',
): Promise<string[]> {
  const rows = kinds.map((kind) =>
    buildReceipt(requestId, account.channelId, kind, { providerMessageId: messageId }),
  )
  return (await recordReceipts(service.runtime.db, rows)).map(({ result }) => result)
}

async function stateOf(requestId: string) {
  const { status, delivery } = await timelineOf(service, requestId)
  return { status, delivery }
}

const kinds: ReceiptKind[] = [...receiptKinds, 'complained', 'noted']
const isOfDelivery = (kind: ReceiptKind) => (deliveryStates as readonly string[]).includes(kind)
/** Its event in the timeline, where it leaves the delivery as it is. */
const otherEvent = (kind: ReceiptKind) => (kind === 'complained' ? kind : 'receipt')

/** The effect of a receipt of each kind on a send in a state: its status and delivery afterwards, and the result. */
const table: Record<
  string,
  { make: () => Promise<string>; after: Record<ReceiptKind, [string, string | null, string]> }
> = {
  'queued, never attempted': {
    make: () => accept(service, account, textBody()),
    after: {
      accepted: ['queued', null, 'unexpected'],
      delivered: ['queued', null, 'unexpected'],
      read: ['queued', null, 'unexpected'],
      undelivered: ['queued', null, 'unexpected'],
      complained: ['queued', null, 'unexpected'],
      noted: ['queued', null, 'unexpected'],
    },
  },
  'queued, attempted': {
    make: () => attempted(busy),
    after: {
      accepted: ['sent', null, 'applied'],
      delivered: ['sent', 'delivered', 'applied'],
      read: ['sent', 'read', 'applied'],
      undelivered: ['sent', 'undelivered', 'applied'],
      complained: ['queued', null, 'recorded'],
      noted: ['queued', null, 'recorded'],
    },
  },
  'queued by replay': {
    make: async () => {
      const requestId = await attempted(rejected)
      await replaySend(service.runtime.db, requestId)
      return requestId
    },
    after: {
      accepted: ['queued', null, 'recorded'],
      delivered: ['sent', 'delivered', 'applied'],
      read: ['sent', 'read', 'applied'],
      undelivered: ['queued', null, 'recorded'],
      complained: ['queued', null, 'recorded'],
      noted: ['queued', null, 'recorded'],
    },
  },
  sent: {
    make: () => attempted(sent),
    after: {
      accepted: ['sent', null, 'recorded'],
      delivered: ['sent', 'delivered', 'applied'],
      read: ['sent', 'read', 'applied'],
      undelivered: ['sent', 'undelivered', 'applied'],
      complained: ['sent', null, 'recorded'],
      noted: ['sent', null, 'recorded'],
    },
  },
  uncertain: {
    make: () => attempted(unsure),
    after: {
      accepted: ['sent', null, 'applied'],
      delivered: ['sent', 'delivered', 'applied'],
      read: ['sent', 'read', 'applied'],
      undelivered: ['sent', 'undelivered', 'applied'],
      complained: ['uncertain', null, 'recorded'],
      noted: ['uncertain', null, 'recorded'],
    },
  },
  failed: {
    make: () => attempted(rejected),
    after: {
      accepted: ['failed', null, 'recorded'],
      delivered: ['sent', 'delivered', 'applied'],
      read: ['sent', 'read', 'applied'],
      undelivered: ['failed', null, 'recorded'],
      complained: ['failed', null, 'recorded'],
      noted: ['failed', null, 'recorded'],
    },
  },
  scheduled: {
    make: () => accept(service, account, { ...textBody(), sendAt: inSeconds(3600) }),
    after: {
      accepted: ['queued', null, 'unexpected'],
      delivered: ['queued', null, 'unexpected'],
      read: ['queued', null, 'unexpected'],
      undelivered: ['queued', null, 'unexpected'],
      complained: ['queued', null, 'unexpected'],
      noted: ['queued', null, 'unexpected'],
    },
  },
  canceled: {
    make: async () => {
      const requestId = await attempted(busy)
      await cancelSend(service.runtime.db, requestId)
      return requestId
    },
    after: {
      accepted: ['canceled', null, 'recorded'],
      delivered: ['canceled', null, 'recorded'],
      read: ['canceled', null, 'recorded'],
      undelivered: ['canceled', null, 'recorded'],
      complained: ['canceled', null, 'recorded'],
      noted: ['canceled', null, 'recorded'],
    },
  },
}

describe.each(Object.entries(table))('a send that is %s', (_, { make, after }) => {
  test.each(kinds)('and a receipt of the kind %s', async (kind) => {
    const requestId = await make()
    const before = await timelineOf(service, requestId)
    const [status, delivery, result] = after[kind]
    expect(await report(requestId, [kind])).toEqual([result])
    const timeline = await timelineOf(service, requestId)
    expect(timeline).toMatchObject({ status, delivery, attempts: before.attempts })
    expect(timeline.deliveryAt === null).toBe(delivery === null)
    const added = timeline.events.slice(before.events.length)
    const names = added.map(({ event }) => event)
    const settled = status !== before.status ? ['sent'] : []
    expect(timeline.events.slice(0, before.events.length)).toEqual(before.events)
    expect(names).toEqual(result === 'unexpected' ? [] : [...settled, delivery ?? otherEvent(kind)])
  })
})

/** The effect of a receipt during the call: the status afterwards, by the receipt's kind. */
const duringCall: [AttemptOutcome, Record<ReceiptKind, string>][] = [
  [
    sent,
    {
      accepted: 'sent',
      delivered: 'sent',
      read: 'sent',
      undelivered: 'sent',
      complained: 'sent',
      noted: 'sent',
    },
  ],
  [
    unsure,
    {
      accepted: 'sent',
      delivered: 'sent',
      read: 'sent',
      undelivered: 'sent',
      complained: 'uncertain',
      noted: 'uncertain',
    },
  ],
  [
    busy,
    {
      accepted: 'sent',
      delivered: 'sent',
      read: 'sent',
      undelivered: 'sent',
      complained: 'queued',
      noted: 'queued',
    },
  ],
  [
    rejected,
    {
      accepted: 'failed',
      delivered: 'sent',
      read: 'sent',
      undelivered: 'failed',
      complained: 'failed',
      noted: 'failed',
    },
  ],
  [
    refused,
    {
      accepted: 'queued',
      delivered: 'sent',
      read: 'sent',
      undelivered: 'queued',
      complained: 'queued',
      noted: 'queued',
    },
  ],
  // It was never called, so that no receipt can be about it: it still has to be sent.
  [
    notCalled,
    {
      accepted: 'queued',
      delivered: 'queued',
      read: 'queued',
      undelivered: 'queued',
      complained: 'queued',
      noted: 'queued',
    },
  ],
]
const casesDuringCall = duringCall.flatMap(([outcome, after]) =>
  kinds.map((kind) => [outcome.outcome, kind, outcome, after[kind]] as const),
)

describe('a receipt that comes during the call is kept until its outcome is recorded', () => {
  test.each(casesDuringCall)('%s, %s', async (_, kind, outcome, status) => {
    const requestId = await accept(service, account, textBody())
    const send = await beginAttempt(service, requestId, 'first')
    expect(await report(requestId, [kind])).toEqual(['early'])
    expect(await report(requestId, [kind])).toEqual(['duplicate'])
    expect(await stateOf(requestId)).toEqual({ status: 'sending', delivery: null })
    const { wakeInMs } = await endAttempt(service, send, outcome)
    const delivery = status === 'sent' && isOfDelivery(kind) ? kind : null
    expect(await stateOf(requestId)).toEqual({ status, delivery })
    expect(wakeInMs !== undefined).toBe(status === 'queued')
    expect((await rowOf(service, requestId)).pendingReceipts).toBeNull()
    const timeline = await timelineOf(service, requestId)
    const told = outcome === notCalled ? 0 : 1
    expect(namesOf(timeline).filter((name) => name === (delivery ?? otherEvent(kind)))).toHaveLength(told)
    expect(namesOf(timeline).filter((name) => name === 'sent')).toHaveLength(status === 'sent' ? 1 : 0)
    // An attempt that isn't counted leaves a send that was never attempted.
    const isAttempted = status !== 'queued' || outcome === busy
    expect(await report(requestId, [kind])).toEqual([isAttempted ? 'duplicate' : 'unexpected'])
    const logged = service.logsOf(requestId).map(({ event }) => event)
    expect(logged.filter((event) => event === (delivery ?? otherEvent(kind)))).toHaveLength(told)
    if (status === 'sent') expect(logged.at(-2)).toBe('sent')
  })

  test('of an attempt whose worker is lost, too: it is sent, and no late outcome changes that', async () => {
    for (const kind of receiptKinds) {
      const requestId = await accept(service, account, textBody())
      const send = await beginAttempt(service, requestId, `dies-${kind}`)
      await report(requestId, [kind])
      await lapse(service, `dies-${kind}`)
      await sweepOnce(service)
      const delivery = isOfDelivery(kind) ? kind : null
      expect(await stateOf(requestId)).toEqual({ status: 'sent', delivery })
      const names = ['accepted', 'attempt_started', 'attempt_lost', 'sent', delivery ?? otherEvent(kind)]
      expect(namesOf(await timelineOf(service, requestId))).toEqual(names)
      await endAttempt(service, send, rejected)
      expect(await stateOf(requestId)).toEqual({ status: 'sent', delivery })
      expect(namesOf(await timelineOf(service, requestId))).toEqual([...names, 'attempt_finished'])
    }
  })

  test('of an attempt whose worker is lost, one that says nothing of the message leaves it uncertain', async () => {
    const requestId = await accept(service, account, textBody())
    await beginAttempt(service, requestId, 'dies-told')
    await report(requestId, ['noted'])
    await lapse(service, 'dies-told')
    await sweepOnce(service)
    expect(await stateOf(requestId)).toEqual({ status: 'uncertain', delivery: null })
    const names = ['accepted', 'attempt_started', 'attempt_lost', 'uncertain', 'receipt']
    expect(namesOf(await timelineOf(service, requestId))).toEqual(names)
  })

  test('of an attempt without a call, it is of the message that was sent before the replay', async () => {
    for (const [kind, status] of [
      ['accepted', 'queued'],
      ['delivered', 'sent'],
    ] as const) {
      const requestId = await attempted(rejected)
      await replaySend(service.runtime.db, requestId)
      const send = await beginAttempt(service, requestId, 'again')
      expect(await report(requestId, [kind])).toEqual(['early'])
      await endAttempt(service, send, notCalled)
      expect((await stateOf(requestId)).status).toBe(status)
      expect(namesOf(await timelineOf(service, requestId))).toContain(
        kind === 'accepted' ? 'receipt' : 'delivered',
      )
    }
  })

  test('of an attempt that was lost before the call, it changes nothing', async () => {
    const requestId = await accept(service, account, textBody())
    await service.runtime.db.$client.query(
      'update sends set close_conversation = true where request_id = $1',
      [requestId],
    )
    await claimBy(service, requestId, 'never-calls')
    expect(await report(requestId, ['delivered'])).toEqual(['early'])
    await lapse(service, 'never-calls')
    await sweepOnce(service)
    expect(await stateOf(requestId)).toEqual({ status: 'queued', delivery: null })
    expect((await rowOf(service, requestId)).pendingReceipts).toBeNull()
  })
})

test('a send that a receipt made sent is not called again, also where its retry was due', async () => {
  const requestId = await attempted(busy)
  await report(requestId, ['accepted'])
  let calls = 0
  const deliver = await deliverAs(
    service,
    'another',
    alikeProviders({
      async send() {
        calls++
        return { outcome: 'sent' }
      },
    }),
  )
  await deliver(requestId)
  expect(calls).toBe(0)
  expect(await stateOf(requestId)).toEqual({ status: 'sent', delivery: null })
})

test('a late outcome after the receipt is told, and changes nothing', async () => {
  const requestId = await accept(service, account, textBody())
  const send = await beginAttempt(service, requestId, 'late')
  await lapse(service, 'late')
  await sweepOnce(service)
  expect(await stateOf(requestId)).toEqual({ status: 'uncertain', delivery: null })
  await report(requestId, ['delivered'])
  for (const outcome of [rejected, sent]) await endAttempt(service, send, outcome)
  expect(await stateOf(requestId)).toEqual({ status: 'sent', delivery: 'delivered' })
  const names = namesOf(await timelineOf(service, requestId))
  expect(names.slice(0, 6)).toEqual([
    'accepted',
    'attempt_started',
    'attempt_lost',
    'uncertain',
    'sent',
    'delivered',
  ])
  expect(names.filter((name) => name === 'sent')).toHaveLength(1)
})

test('an outcome that was recorded before, but whose answer was lost, is not told twice after a receipt', async () => {
  const requestId = await accept(service, account, textBody())
  const send = await beginAttempt(service, requestId, 'first')
  await endAttempt(service, send, unsure)
  await report(requestId, ['delivered'])
  await endAttempt(service, send, unsure)
  expect(namesOf(await timelineOf(service, requestId))).toEqual([
    'accepted',
    'attempt_started',
    'attempt_finished',
    'uncertain',
    'sent',
    'delivered',
  ])
})

test('the send behind it may go when a receipt has ended a send that waited for its retry', async () => {
  const contact = '+4915199900001'
  const first = await attemptedSend(service, account, busy, textBody('first', contact))
  const second = await accept(service, account, textBody('second', contact))
  const recorded = await recordReceipts(service.runtime.db, [
    buildReceipt(first, account.channelId, 'accepted'),
  ])
  expect(recorded).toMatchObject([{ confirms: true, nextInLane: { requestId: second } }])
})

describe('the delivery state only rises', () => {
  test.each<[ReceiptKind[], string, string[]]>([
    [['read', 'delivered'], 'read', ['read', 'receipt']],
    [['delivered', 'read'], 'read', ['delivered', 'read']],
    [['undelivered', 'delivered'], 'delivered', ['undelivered', 'delivered']],
    [['delivered', 'undelivered'], 'delivered', ['delivered', 'receipt']],
    [['read', 'undelivered', 'accepted'], 'read', ['read', 'receipt', 'receipt']],
  ])('for a phone: %j ends as %s', async (reported, delivery, names) => {
    const together = await attempted(sent)
    const apart = await attempted(sent)
    await report(together, reported)
    for (const kind of reported) await report(apart, [kind])
    for (const requestId of [together, apart]) {
      expect(await stateOf(requestId)).toEqual({ status: 'sent', delivery })
      expect(namesOf(await timelineOf(service, requestId)).slice(4)).toEqual(names)
    }
  })

  test.each<[ReceiptKind[], string]>([
    [['delivered', 'undelivered'], 'undelivered'],
    [['undelivered', 'delivered'], 'undelivered'],
  ])('for an e-mail: %j ends as %s', async (reported, delivery) => {
    const owner = await buildAccount(service)
    const body = textBody('Hello', `ann-${Date.now()}@example.com`)
    const requestId = await attemptedSend(service, owner, sent, body)
    for (const kind of reported) {
      await recordReceipts(service.runtime.db, [
        buildReceipt(requestId, owner.channelId, kind, { providerMessageId: null }),
      ])
    }
    expect(await stateOf(requestId)).toEqual({ status: 'sent', delivery })
  })
})

test('that another message was not delivered is told only', async () => {
  const requestId = await attempted(sent)
  expect(await report(requestId, ['undelivered'], 'wamid.other')).toEqual(['recorded'])
  expect(await stateOf(requestId)).toEqual({ status: 'sent', delivery: null })
  expect(await report(requestId, ['undelivered'])).toEqual(['applied'])
})

test('an uncertain send gets its message id from the receipt', async () => {
  const requestId = await attempted(unsure)
  await report(requestId, ['accepted'], 'wamid.found')
  expect(await timelineOf(service, requestId)).toMatchObject({
    status: 'sent',
    providerMessageId: 'wamid.found',
  })
})

test('the same receipt is told once: event, status, code and message id make it the same, not its time', async () => {
  const requestId = await attempted(sent)
  const one = buildReceipt(requestId, account.channelId, 'undelivered', {
    providerMessageId: 'wamid.1',
    providerCode: '131026',
  })
  const at = (providerAt: string) => ({ ...one, fields: { ...one.fields, providerAt } })
  const other = { ...one, fields: { ...one.fields, providerCode: '131047' } }
  const record = async (...rows: (typeof one)[]) =>
    (await recordReceipts(service.runtime.db, rows)).map(({ result }) => result)
  expect(await record(one, at('2026-11-23T14:00:00.000Z'))).toEqual(['applied', 'duplicate'])
  expect(await record(at('2026-11-23T15:00:00.000Z'))).toEqual(['duplicate'])
  expect(await record(other)).toEqual(['recorded'])
  expect(namesOf(await timelineOf(service, requestId)).slice(4)).toEqual(['undelivered', 'receipt'])
})

test('after a replay, the same words without a message id are of the next message', async () => {
  const requestId = await attempted(rejected)
  const row = buildReceipt(requestId, account.channelId, 'undelivered', { providerMessageId: null })
  const record = async () => (await recordReceipts(service.runtime.db, [row])).map(({ result }) => result)
  expect([await record(), await record()]).toEqual([['recorded'], ['duplicate']])
  await replaySend(service.runtime.db, requestId)
  await endAttempt(service, await beginAttempt(service, requestId, 'again'), sent)
  expect([await record(), await record()]).toEqual([['applied'], ['duplicate']])
  expect(await stateOf(requestId)).toEqual({ status: 'sent', delivery: 'undelivered' })
})

test('at most 50 receipts of a send are recorded, also of those that wait for its outcome', async () => {
  const requestId = await attempted(sent)
  const sending = await accept(service, account, textBody())
  const attempt = await beginAttempt(service, sending, 'capped')
  const many = (id: string, from: number) =>
    Array.from({ length: 30 }, (_, index) =>
      buildReceipt(id, account.channelId, 'accepted', { providerMessageId: `wamid.${from + index}` }),
    )
  for (const from of [0, 30, 60]) {
    await recordReceipts(service.runtime.db, [...many(requestId, from), ...many(sending, from)])
  }
  const last = await recordReceipts(service.runtime.db, many(requestId, 90))
  expect(new Set(last.map(({ result }) => result))).toEqual(new Set(['over_cap']))
  await endAttempt(service, attempt, sent)
  for (const id of [requestId, sending]) {
    const names = namesOf(await timelineOf(service, id))
    expect(names.filter((name) => name === 'receipt')).toHaveLength(50)
  }
})

test('a receipt of another channel, or of no send, is unknown, and costs none of the others', async () => {
  const requestId = await attempted(sent)
  const foreign = await attemptedSend(service, await buildAccount(service), sent)
  const absent = '01890000-0000-7000-8000-000000000000'
  const rows = [foreign, requestId, absent].map((id) => buildReceipt(id, account.channelId, 'delivered'))
  const recorded = await recordReceipts(service.runtime.db, rows)
  expect(recorded.map(({ ord, result }) => [ord, result])).toEqual([
    [0, 'unknown'],
    [1, 'applied'],
    [2, 'unknown'],
  ])
  expect(await stateOf(foreign)).toEqual({ status: 'sent', delivery: null })
})

test('an erased send keeps what became of it, and gets nothing that may identify the contact', async () => {
  const requestId = await attempted(sent)
  await report(requestId, ['delivered'])
  await eraseSends(service.runtime.db, [requestId])
  expect(await report(requestId, ['delivered'])).toEqual(['duplicate'])
  await report(requestId, ['read'], 'wamid.of-the-contact')
  const timeline = await timelineOf(service, requestId)
  expect(timeline).toMatchObject({ status: 'sent', delivery: 'read', providerMessageId: null })
  const receipts = timeline.events.filter(({ event }) => event === 'delivered' || event === 'read')
  expect(receipts).toMatchObject([
    { providerStatus: 'delivered', providerMessageId: null },
    { providerStatus: 'read', providerMessageId: null },
  ])
  expect(JSON.stringify(timeline)).not.toContain('wamid')
})

test('a send that was reported as not delivered can not be replayed', async () => {
  const requestId = await attempted(sent)
  await report(requestId, ['undelivered'])
  expect(await replaySend(service.runtime.db, requestId)).toBe(false)
})
