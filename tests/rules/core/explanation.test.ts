import { describe, expect, test } from 'vitest'
import type { reasonsToWait } from '../../../db/reasons-to-wait.ts'
import { waitFor } from '../../../db/sends/wait-now.ts'
import { type Advice, explain, type SendFacts } from '../../../src/core/explanation/explain.ts'
import type { Fault } from '../../../src/core/sends/outcome.ts'
import {
  type AttemptRecord,
  buildTimeline,
  type SendRecord,
  type StoredEvent,
} from '../../../src/core/sends/timeline.ts'
import { causes } from '../../../src/core/suppression/suppression.ts'
import { providerNames, providers } from '../../../src/providers/index.ts'
import { meaningOfAnswer } from '../../../src/providers/meaning-of-answer.ts'
import { twilioCodes } from '../../../src/providers/twilio/codes.ts'
import { whatsAppCodes } from '../../../src/providers/whatsapp-cloud/codes.ts'
import { queuedRecord } from '../../support/send-record.ts'

const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 14) + second * 1000)
const { requestId, channelId } = queuedRecord
const conversationId = '01890000-0000-7000-8000-000000000003'
const earlier = '01890000-0000-7000-8000-000000000004'

const queued: SendRecord = { ...queuedRecord, contactName: 'Ann Example', acceptedAt: at(0) }
const sending: SendRecord = {
  ...queued,
  status: 'sending',
  conversationId,
  attempt: 1,
  worker: 'w1',
  claimedAt: at(1),
}
const record: AttemptRecord = {
  attempt: 1,
  outcome: 'sent',
  durationMs: 120,
  providerStatus: 201,
  providerCode: null,
  providerMessageId: 'SM1',
}
const refused = {
  ...record,
  outcome: 'rejected',
  providerStatus: 400,
  providerMessageId: null,
} as const

const facts: SendFacts = {
  now: at(100),
  nextAttemptAt: at(0),
  isScheduled: false,
  expiresAt: null,
  wait: null,
  ahead: null,
  moreUrgent: 0,
  waitedFor: null,
  channels: [],
  meaningOf: meaningOfAnswer,
  channel: {
    channelId,
    provider: 'twilio',
    name: 'SMS',
    heldAt: null,
    heldReason: null,
    breakerOpenUntil: null,
    rate: null,
    maxInFlight: null,
    hasReceipts: false,
    deletedAt: null,
  },
}

interface Given {
  send?: Partial<SendRecord>
  events?: StoredEvent[]
  facts?: Partial<Omit<SendFacts, 'channel'>>
  channel?: Partial<SendFacts['channel']>
  /** The reason why it waits, and until when. */
  wait?: [name: keyof typeof reasonsToWait, until?: Date]
}

function explained({ send, events = [], facts: more, channel, wait: waits }: Given) {
  const timeline = buildTimeline({ ...queued, ...send }, events, 'masked')
  const wait = waitFor(waits?.[0] ?? null, waits?.[1] ?? null)
  return explain(timeline, { ...facts, ...more, wait, channel: { ...facts.channel, ...channel } })
}

const ended = (status: SendRecord['status'], given: Partial<SendRecord> = {}): Partial<SendRecord> => ({
  ...sending,
  status,
  finishedAt: at(2),
  ...given,
})
const failed = (failure: string, given: Partial<SendRecord> = {}) => ended('failed', { failure, ...given })

const stored = (event: string, second: number, fields: object = {}): StoredEvent => ({
  at: at(second),
  event,
  fields: { ...fields },
})
const retried = [
  stored('attempt_started', 1, { attempt: 1, worker: 'w1' }),
  stored('attempt_finished', 2, {
    ...refused,
    outcome: 'retry_later',
    providerStatus: 429,
    providerCode: '20429',
    reason: 'Twilio: it accepts no more requests now',
  }),
  stored('retry_scheduled', 2, { reason: 'busy', nextAttemptAt: at(7).toISOString() }),
]

const uncalled = [
  stored('attempt_started', 1, { attempt: 1, worker: 'w1' }),
  stored('attempt_finished', 2, { ...refused, outcome: 'not_called', providerStatus: null }),
  stored('retry_scheduled', 2, { reason: 'set PUBLIC_BASE_URL', nextAttemptAt: at(32).toISOString() }),
]

const resent = [
  stored('attempt_started', 0, { attempt: 1, worker: 'w1' }),
  stored('attempt_finished', 0, { ...refused, outcome: 'uncertain', providerStatus: null }),
  stored('retry_scheduled', 0, { reason: 'no answer', nextAttemptAt: at(7).toISOString() }),
]

describe('the summary of a send that', () => {
  const states: [string, Given, tone: string, summary: string][] = [
    [
      'was sent',
      { send: ended('sent', { attemptRecord: record, providerMessageId: 'SM1' }) },
      'good',
      'Accepted by the provider at 14:00:02 UTC; only the provider knows whether it reached the contact.',
    ],
    [
      'waits for the time that it is scheduled for',
      {
        send: { status: 'queued', sendAt: at(3600), worker: null, claimedAt: null, attempt: 0 },
        facts: { isScheduled: true, nextAttemptAt: at(3600) },
      },
      'waiting',
      'Scheduled for 15:00:00 UTC; it is not sent before.',
    ],
    [
      'was canceled',
      { send: { status: 'canceled', finishedAt: at(2), worker: null, claimedAt: null, attempt: 0 } },
      'over',
      'Not sent. It was canceled at 14:00:02 UTC. No attempt was made.',
    ],
    [
      'was refused has the meaning of the code',
      { send: failed('Twilio: x', { attemptRecord: { ...refused, providerCode: '21211', reason: 'x' } }) },
      'bad',
      'Not delivered. The provider refused it: the contact has no valid phone number. 1 attempt was made, at 14:00:01 UTC.',
    ],
    [
      'was refused with an unknown code has the reason',
      {
        send: failed('Twilio answered 499 with its code 99999', {
          attemptRecord: { ...refused, providerStatus: 699, providerCode: '99999' },
        }),
        channel: { provider: 'smtp' },
      },
      'bad',
      'Not delivered. The provider refused it: Twilio answered 499 with its code 99999. 1 attempt was made, at 14:00:01 UTC.',
    ],
    [
      'could not be sent by any worker',
      {
        send: failed('the template is not registered with the channel', {
          attemptRecord: { ...refused, providerStatus: null },
        }),
      },
      'bad',
      'Not delivered. It could not be sent: the template is not registered with the channel. 1 attempt was made, at 14:00:01 UTC.',
    ],
    [
      'was tried as often as it may be',
      {
        send: failed('Twilio answered 503 (the last attempt)', {
          attempt: 3,
          claimedAt: at(131),
          finishedAt: at(132),
          attemptRecord: { ...refused, attempt: 3, outcome: 'retry_later', providerStatus: 503 },
        }),
        events: retried,
      },
      'bad',
      'Not delivered. Every attempt failed: it is out of service or overloaded. 3 attempts were made, the last at 14:02:11 UTC.',
    ],
    [
      'got no connection at the last attempt',
      {
        send: failed('the connection was refused (the last attempt)', {
          attempt: 2,
          attemptRecord: { ...refused, outcome: 'retry_later', providerStatus: null },
        }),
      },
      'bad',
      'Not delivered. Every attempt failed: the connection was refused. 2 attempts were made, the last at 14:00:01 UTC.',
    ],
    [
      'suppressed before any attempt',
      { send: { status: 'failed', finishedAt: at(60), failure: causes.complaint.storedReason } },
      'bad',
      'Not delivered. Its contact is suppressed: it complained about an earlier message. No attempt was made.',
    ],
    [
      'expired before any attempt',
      { send: { status: 'failed', finishedAt: at(60), failure: 'expired' } },
      'bad',
      'Not delivered. It waited longer than its channel or its request allows, and expired at 14:01:00 UTC. No attempt was made.',
    ],
    [
      'expired after an attempt',
      { send: { status: 'failed', finishedAt: at(60), failure: 'expired', attempt: 1 }, events: retried },
      'bad',
      'Not delivered. It waited longer than its channel or its request allows, and expired at 14:01:00 UTC. 1 attempt was made, at 14:00:01 UTC.',
    ],
    [
      'was given up',
      { send: failed('given up: workers kept crashing on it', { attempt: 5 }) },
      'bad',
      'Given up, though an attempt may have got through: workers kept crashing on it. 5 attempts were made, the last at 14:00:01 UTC.',
    ],
    [
      'was refused at last, an earlier attempt being uncertain',
      {
        send: failed('refused', { attempt: 2, attemptRecord: { ...refused, attempt: 2 } }),
        events: resent,
      },
      'bad',
      'Given up, though an attempt may have got through: refused. 2 attempts were made, the last at 14:00:01 UTC.',
    ],
    [
      'was refused at last, an earlier attempt having come late and to nothing',
      {
        send: failed('Twilio: x', {
          attempt: 2,
          attemptRecord: { ...refused, attempt: 2, providerCode: '21211' },
        }),
        events: [
          ...resent,
          stored('attempt_finished', 2, {
            ...refused,
            outcome: 'retry_later',
            providerStatus: 503,
            late: true,
          }),
        ],
      },
      'bad',
      'Not delivered. The provider refused it: the contact has no valid phone number. 2 attempts were made, the last at 14:00:01 UTC.',
    ],
    [
      'was refused at last, an earlier attempt having been refused even later',
      {
        send: failed('Twilio: x', {
          attempt: 2,
          attemptRecord: { ...refused, attempt: 2, providerCode: '21211' },
        }),
        events: [
          ...resent,
          stored('attempt_finished', 90, { ...refused, outcome: 'retry_later', late: true }),
        ],
      },
      'bad',
      'Not delivered. The provider refused it: the contact has no valid phone number. 2 attempts were made, the last at 14:00:01 UTC.',
    ],
    [
      'waits to be tried again, the last attempt being uncertain',
      { wait: ['retry', at(7)], send: { attempt: 1 }, events: resent, facts: { now: at(3) } },
      'waiting',
      'Waiting for its next attempt, at 14:00:07 UTC; an earlier one may have got through: no answer.',
    ],
    [
      'has lost its media',
      {
        send: failed('the media is no longer kept', { attemptRecord: { ...refused, providerStatus: null } }),
      },
      'bad',
      'Not delivered. Its media is no longer kept, so the provider was not called.',
    ],
    [
      'waited for a provider that stayed away',
      {
        send: {
          status: 'failed',
          finishedAt: at(60),
          failure: "the channel's provider kept failing; its last answer: no connection in time",
        },
      },
      'bad',
      "Not delivered. The channel's provider kept failing; its last answer: no connection in time. No attempt was made.",
    ],
    [
      'failed by an outcome that came late',
      {
        send: failed('busy', { attemptRecord: { ...refused, outcome: 'retry_later', late: true } }),
        events: [stored('attempt_lost', 1, { attempt: 1 }), stored('uncertain', 1, { reason: 'lost' })],
      },
      'bad',
      'Not delivered. Its outcome came late, so it is not tried again: busy. 1 attempt was made, at 14:00:01 UTC.',
    ],
    [
      'is uncertain',
      {
        send: ended('uncertain', {
          failure: 'no whole answer in time',
          attemptRecord: { ...refused, outcome: 'uncertain', providerStatus: null },
        }),
      },
      'unsure',
      'Not certain. The provider may or may not have it: no whole answer in time. 1 attempt was made, at 14:00:01 UTC.',
    ],
    [
      'is uncertain because its worker was lost',
      { send: ended('uncertain', { failure: 'worker w1 was lost' }) },
      'unsure',
      'Not certain. The provider may or may not have it: worker w1 was lost. 1 attempt was made, at 14:00:01 UTC.',
    ],
    [
      'is with the provider',
      { send: sending },
      'waiting',
      'On its way: an attempt began at 14:00:01 UTC, and the provider has not answered yet.',
    ],
    ['waits in the queue', {}, 'waiting', 'Waiting in the queue for a worker.'],
    [
      'waits in the queue behind urgent ones',
      { facts: { moreUrgent: 312 } },
      'waiting',
      'Waiting in the queue for a worker, behind 312 more urgent messages of its channel.',
    ],
    [
      'waits for limits behind more urgent ones than are counted',
      { wait: ['waits_for_permit'], facts: { moreUrgent: 10_000 }, channel: { maxInFlight: 5 } },
      'waiting',
      'Waiting for the limits of its channel, which makes at most 5 calls at a time, behind at least 10000 more urgent messages of its channel.',
    ],
    [
      'waits for an earlier one',
      { wait: ['behind'], facts: { ahead: { count: 1, first: { requestId: earlier, status: 'sending' } } } },
      'waiting',
      'Waiting: behind an earlier message to this contact.',
    ],
    [
      'waits for its channel, whatever else it waits for',
      {
        wait: ['held'],
        facts: { ahead: { count: 1, first: { requestId: earlier, status: 'queued' } } },
        channel: { heldAt: at(50), heldReason: "Twilio: the channel's credentials are not accepted." },
      },
      'waiting',
      "Waiting: the channel SMS has been held since 14:00:50 UTC. Twilio: the channel's credentials are not accepted.",
    ],
    [
      'is held by an operator',
      { wait: ['held'], channel: { heldAt: at(50), heldReason: 'held by an operator' } },
      'waiting',
      'Waiting: the channel SMS has been held by an operator since 14:00:50 UTC.',
    ],
    [
      'waits since its worker could not call',
      { wait: ['retry', at(32)], events: uncalled, facts: { now: at(3) } },
      'waiting',
      'Waiting for its next attempt, at 14:00:32 UTC; the last one ended before the provider was called: set PUBLIC_BASE_URL.',
    ],
    [
      'waits for its retry',
      { wait: ['retry', at(7)], send: { attempt: 1 }, events: retried, facts: { now: at(3) } },
      'waiting',
      'Waiting for its next attempt, at 14:00:07 UTC; the last one did not go through: busy.',
    ],
    [
      'is due again only after midnight',
      {
        wait: ['retry', new Date(Date.UTC(2026, 0, 2, 1, 2, 3))],
        send: { attempt: 1 },
        events: retried,
      },
      'waiting',
      'Waiting for its next attempt, at 01:02:03 UTC on 2026-01-02; the last one did not go through: busy.',
    ],
    [
      'was replayed',
      { wait: ['retry', at(110)], events: [stored('replayed', 90)] },
      'waiting',
      'Waiting: it was replayed, and is due at 14:01:50 UTC.',
    ],
    [
      'waits for a provider that fails',
      { wait: ['breaker_open', at(120)] },
      'waiting',
      "Waiting: calls to the channel's provider have been failing, so only probes are made.",
    ],
    [
      'waits for its turn',
      { wait: ['waits_for_permit'], channel: { rate: { calls: 80, seconds: 1 }, maxInFlight: 1 } },
      'waiting',
      'Waiting for the limits of its channel, which makes at most 80 calls in 1 s, and at most 1 call at a time.',
    ],
    [
      'waits for the slow start of its channel',
      { wait: ['slow_start'] },
      'waiting',
      'Waiting: of a backlog, only a few messages are sent at a time until the provider answers one.',
    ],
  ]

  test.each(states)('%s', (_name, given, tone, summary) => {
    expect(explained(given)).toMatchObject({ tone, summary })
  })

  test.each(states)(
    '%s has a line for the customer without internals, the contact masked',
    (_name, given) => {
      const { forCustomer } = explained(given)
      expect(forCustomer).toContain(
        `Your text message ${requestId} to +49*********78, accepted at 2026-01-01 14:00:00 UTC,`,
      )
      expect(forCustomer).not.toMatch(
        /twilio|worker|w1|code|channel|lane|queue|breaker|gaveUp|4915112345678|\bAnn\b/i,
      )
      expect(forCustomer).toMatch(/[^.]\.$/)
    },
  )

  test.each(states)('%s shows no whole contact', (_name, given) => {
    expect(JSON.stringify(explained(given))).not.toMatch(/4915112345678|Ann/)
  })
})

describe('what comes next of a send that', () => {
  test.each<[string, Given, ReturnType<typeof explained>['next']]>([
    ['was sent: nothing', { send: ended('sent', { attemptRecord: record }) }, undefined],
    ['failed: nothing', { send: failed('expired') }, undefined],
    [
      'waits for its retry: when it is due',
      { wait: ['retry', at(7)], send: { attempt: 1 }, events: retried, facts: { now: at(3) } },
      { at: at(7).toISOString(), text: 'The next attempt is due.' },
    ],
    [
      'may expire: when',
      { facts: { expiresAt: at(160) } },
      {
        at: null,
        text: 'It is sent when a worker picks it up. It expires if it still waits at 14:02:40 UTC.',
      },
    ],
    [
      'is held: that somebody has to resume the channel',
      { wait: ['held'], channel: { heldAt: at(50) } },
      { at: null, text: 'It is sent when the channel is resumed.' },
    ],
    [
      'is behind another: which',
      { wait: ['behind'], facts: { ahead: { count: 1, first: { requestId: earlier, status: 'sending' } } } },
      { at: null, text: `It is sent when ${earlier}, which is sending, has ended.` },
    ],
    [
      'is behind several: how many',
      { wait: ['behind'], facts: { ahead: { count: 3, first: { requestId: earlier, status: 'queued' } } } },
      {
        at: null,
        text: `It is sent when ${earlier}, which is queued, and 2 more messages to this contact have ended.`,
      },
    ],
    [
      'is behind more than are counted',
      { wait: ['behind'], facts: { ahead: { count: 100, first: { requestId: earlier, status: 'queued' } } } },
      {
        at: null,
        text: `It is sent when ${earlier}, which is queued, and at least 99 more messages to this contact have ended.`,
      },
    ],
  ])('%s', (_name, given, next) => {
    expect(explained(given).next).toEqual(next)
  })
})

test.each<[string, Given, advice: Advice | undefined]>([
  ['is sent', { send: ended('sent', { attemptRecord: record }) }, undefined],
  [
    'is uncertain',
    { send: ended('uncertain', { failure: 'x' }) },
    {
      text: 'Look for the message at the provider first. Replay it only if the provider does not have it.',
      command: `replay ${requestId}`,
    },
  ],
  [
    'was refused',
    { send: failed('Twilio: no such number', { attemptRecord: refused }) },
    { text: 'Fix the problem above and send a new message. A replay would be refused again.' },
  ],
  [
    'was given up',
    { send: failed('busy', { attemptRecord: { ...refused, outcome: 'retry_later' } }) },
    { text: 'Replay it when the provider works again.', command: `replay ${requestId}` },
  ],
  [
    'waits for a channel that its provider refused',
    { wait: ['held'], channel: { heldAt: at(50), heldReason: 'Twilio: the credentials are wrong' } },
    { text: 'Fix the problem above, then resume the channel.', command: `channel resume ${channelId}` },
  ],
  [
    'waits for a channel that an operator holds, with nothing to fix',
    { wait: ['held'], channel: { heldAt: at(50), heldReason: 'held by an operator' } },
    {
      text: 'Resume the channel when its messages may be sent again.',
      command: `channel resume ${channelId}`,
    },
  ],
])('what can be done where it %s', (_name, given, advice) => {
  expect(explained(given).advice).toEqual(advice)
})

test('of an attempt that left no status, code or id there is no answer to show, not even an empty one', () => {
  const lost = { ...refused, outcome: 'uncertain', providerStatus: null, reason: 'no answer' } as const
  const { entries } = explained({ send: ended('uncertain', { attemptRecord: lost, failure: 'no answer' }) })
  expect(entries.find(({ event }) => event === 'attempt_finished')).not.toHaveProperty('answer')
})

describe('the gap before', () => {
  const behind = { waitedFor: { requestId: earlier, finishedAt: at(40) } }
  const waits: [string, Given, event: string, gap: string | undefined][] = [
    [
      'an attempt that came soon has no name',
      { send: { ...sending, claimedAt: at(0.9) } },
      'attempt_started',
      undefined,
    ],
    [
      'the first attempt',
      { send: { ...sending, claimedAt: at(42) } },
      'attempt_started',
      'waited 42 s in the queue',
    ],
    [
      'the closing of the conversation',
      {
        send: { ...sending, claimedAt: at(42) },
        events: [stored('conversation_closed', 42, { conversationId: null })],
      },
      'conversation_closed',
      'waited 42 s in the queue',
    ],
    [
      'an attempt that stood behind another send',
      { send: { ...sending, claimedAt: at(40.2) }, facts: behind },
      'attempt_started',
      'waited 40 s behind an earlier message to this contact',
    ],
    [
      'an attempt that stood behind another send, and then in the queue',
      { send: { ...sending, claimedAt: at(62) }, facts: behind },
      'attempt_started',
      'waited 40 s behind an earlier message to this contact, then 22 s in the queue',
    ],
    [
      'an attempt that stood behind a send that is no longer kept',
      {
        send: { ...sending, claimedAt: at(62) },
        facts: { waitedFor: { requestId: earlier, finishedAt: null } },
      },
      'attempt_started',
      'waited 1 min 2 s behind an earlier message to this contact',
    ],
    [
      'a retry',
      { send: { ...sending, attempt: 2, claimedAt: at(7.3) }, events: retried },
      'attempt_started',
      'waited 5.3 s for its retry',
    ],
    [
      'a retry that found no free worker',
      { send: { ...sending, attempt: 2, claimedAt: at(27) }, events: retried },
      'attempt_started',
      'waited 5 s for its retry, then 20 s in the queue',
    ],
    [
      'an attempt after a hold',
      { send: { ...sending, claimedAt: at(90) }, events: [stored('channel_held', 1, { reason: 'x' })] },
      'attempt_started',
      'waited 1 min 29 s while the channel was held, and in the queue after that',
    ],
    [
      'an expiry',
      { send: { status: 'failed', finishedAt: at(60), failure: 'expired' } },
      'failed',
      'waited 1 min in the queue',
    ],
    [
      'the answer of a slow provider',
      { send: ended('sent', { finishedAt: at(4), attemptRecord: { ...record, durationMs: 3000 } }) },
      'attempt_finished',
      'the provider took 3 s',
    ],
    [
      'the outcome of a call that waited for its moment',
      { send: ended('sent', { finishedAt: at(6), attemptRecord: { ...record, durationMs: 3000 } }) },
      'attempt_finished',
      "waited 2 s for the channel's rate or for the database, and the provider took 3 s",
    ],
    [
      'the loss of a worker',
      { send: ended('uncertain', { finishedAt: at(13), failure: 'worker w1 was lost' }) },
      'attempt_lost',
      '12 s until the worker counted as dead and its claim was given up',
    ],
    [
      'an outcome that came late',
      {
        send: ended('sent', { finishedAt: at(20), attemptRecord: { ...record, late: true } }),
        events: [stored('attempt_lost', 9, { attempt: 1 }), stored('uncertain', 9, { reason: 'lost' })],
      },
      'attempt_finished',
      '11 s until the outcome came, late',
    ],
    [
      'a replay',
      { events: [stored('failed', 2, { reason: 'x' }), stored('replayed', 7202)] },
      'replayed',
      '2 h until it was replayed',
    ],
    [
      'the attempt of a replay in a set',
      {
        send: { ...sending, attempt: 2, claimedAt: at(30) },
        events: [stored('replayed', 10, { nextAttemptAt: at(30).toISOString() })],
      },
      'attempt_started',
      'waited 20 s because replays are spread out',
    ],
  ]

  test.each(waits)('%s', (_name, given, event, gap) => {
    const entry = explained(given).entries.findLast((one) => one.event === event)
    expect(entry).toBeDefined()
    expect(entry?.wait?.text).toBe(gap)
  })
})

describe('of a send whose contact was erased', () => {
  const erased = { contactValue: 'erased', contactName: null, failure: null, providerMessageId: null }
  const redacted = { ...refused, providerCode: '21211' }
  const event = [stored('erased', 3602)]

  test.each<[string, Partial<SendRecord>, summary: RegExp]>([
    [
      'sent',
      ended('sent', { attemptRecord: { ...record, providerMessageId: null } }),
      /^Accepted by the provider at /,
    ],
    [
      'refused',
      ended('failed', { attemptRecord: redacted }),
      /refused it: the contact has no valid phone number\. 1 attempt was made, /,
    ],
    ['expired', { status: 'failed', finishedAt: at(60) }, /^Not delivered\. No attempt was made\./],
    [
      'uncertain',
      ended('uncertain'),
      /^Not certain\. The provider may or may not have it\. 1 attempt was made, /,
    ],
  ])('the summary leaves out the reasons (%s)', (_name, send, summary) => {
    const explanation = explained({ send: { ...send, ...erased }, events: event })
    expect(explanation.summary).toMatch(summary)
    expect(explanation.summary).toMatch(/\. Its contact and content were erased later\.$/)
    expect(explanation).not.toHaveProperty('advice')
    expect(explanation.forCustomer).toContain(`Your text message ${requestId}, accepted at`)
    expect(explanation.entries.at(-1)).toMatchObject({
      event: 'erased',
      text: 'Its contact and content were erased.',
    })
    expect(explanation.entries.at(-1)?.wait?.text).toMatch(/ until its contact was erased$/)
    expect(JSON.stringify(explanation)).not.toMatch(/: [;.]|undefined|null; /)
  })
})

describe('the entries', () => {
  const textOf = (given: Given, event: string) =>
    explained(given).entries.find((one) => one.event === event)?.text

  test('are those of the timeline, at their moments and by their names', () => {
    const send = ended('sent', { attemptRecord: record })
    const timeline = buildTimeline({ ...queued, ...send }, retried, 'masked')
    const { entries } = explained({ send, events: retried })
    expect(entries.map(({ at, event }) => ({ at, event }))).toEqual(
      timeline.events.map(({ at, event }) => ({ at, event })),
    )
    for (const { text } of entries) expect(text).toMatch(/^[A-Z].*\.$/)
  })

  test('name the channel and the flow, and the sends before it', () => {
    const flowId = '01890000-0000-7000-8000-000000000009'
    expect(
      textOf(
        { send: { flowId }, facts: { waitedFor: { requestId: earlier, finishedAt: null } } },
        'accepted',
      ),
    ).toBe(
      `Accepted: a text message to +49*********78 by the channel SMS (twilio), of the flow ${flowId}. An earlier message to this contact, ${earlier}, had not ended.`,
    )
  })

  test('name the conversation that it joined', () => {
    expect(textOf({ send: sending }, 'attempt_started')).toBe(
      `Attempt 1 began on w1, in the conversation ${conversationId}.`,
    )
  })

  test.each([
    [null, `No conversation was open; the message opened ${conversationId}.`],
    [earlier, `The open conversation ${earlier} was closed; the message opened ${conversationId}.`],
  ])('name the conversation that was closed, and the one that opened (%s)', (closed, text) => {
    const events = [stored('conversation_closed', 1, { conversationId: closed })]
    expect(textOf({ send: sending, events }, 'conversation_closed')).toBe(text)
    expect(textOf({ send: sending, events }, 'attempt_started')).toBe('Attempt 1 began on w1.')
  })

  test("show the provider's answer and its meaning, but no meaning of a success", () => {
    const entries = explained({ send: ended('sent', { attemptRecord: record }), events: retried }).entries
    expect(entries.filter(({ answer }) => answer).map(({ answer }) => answer)).toEqual([
      { status: 429, code: '20429', meaning: 'it accepts no more requests now', messageId: null },
      { status: 201, code: null, meaning: null, messageId: 'SM1' },
    ])
  })

  test('name what the message costs, as far as the provider said it', () => {
    const cost = { amount: '0.0333', currency: 'EUR', parts: 2 }
    const send = ended('sent', { attemptRecord: { ...record, cost } })
    expect(textOf({ send }, 'attempt_finished')).toContain('. Its cost: 0.0333 EUR, 2 parts.')
    expect(textOf({ send: ended('sent', { attemptRecord: record }) }, 'attempt_finished')).not.toContain(
      'cost',
    )
    const parts = {
      cost: { amount: null, currency: null, parts: 1 },
      providerStatus: 'sent',
      providerCode: null,
    }
    expect(textOf({ send, events: [stored('receipt', 9, parts)] }, 'receipt')).toContain('Its cost: 1 part.')
  })

  test('keep the name of an event that is not known yet', () => {
    expect(textOf({ events: [stored('dreamt', 1)] }, 'dreamt')).toBe('dreamt.')
  })
})

describe('the meaning of an answer', () => {
  const meaning = (name: (typeof providerNames)[number], providerStatus?: number, providerCode?: string) => {
    const rules = providers[name]
    return rules.meaningOf({ providerStatus, providerCode })
  }

  test.each(providerNames)('of %s is a short clause, whatever the answer', (name) => {
    for (const status of [
      undefined,
      100,
      302,
      400,
      401,
      403,
      404,
      408,
      410,
      418,
      421,
      429,
      450,
      500,
      503,
      550,
      554,
    ]) {
      for (const code of [undefined, '', 'x', '0', '131026', '21211', '5.1.1', '4.9.9']) {
        expect(meaning(name, status, code) ?? 'not known').toMatch(/^[a-zM].{3,100}[^.\s]$/)
      }
    }
  })

  test.each([...Object.keys(whatsAppCodes), '200', '299'])('WhatsApp code %s has one', (code) => {
    expect(meaning('whatsapp-cloud', 400, code)).not.toBe(meaning('whatsapp-cloud', 400))
  })

  test.each(Object.keys(twilioCodes))('Twilio code %s has one', (code) => {
    expect(meaning('twilio', 400, code)).not.toBe(meaning('twilio', 400))
  })

  test.each<[(typeof providerNames)[number], number | undefined, string | undefined, string | undefined]>([
    ['smtp', 550, '5.1.1', 'there is no such mailbox'],
    ['smtp', 452, '4.2.2', 'the mailbox is full'],
    ['smtp', 554, undefined, 'the server refused the mail, often as spam'],
    ['smtp', 554, '5.9.9', 'the server refused the mail, often as spam'],
    ['smtp', undefined, undefined, undefined],
    [
      'webhook',
      401,
      undefined,
      'the receiver does not accept the signature (its secret or its clock differs)',
    ],
    ['webhook', 404, undefined, 'the address that was called does not exist'],
    ['twilio', 503, undefined, 'it is out of service or overloaded'],
    ['twilio', 307, undefined, 'it redirects, which is not followed'],
    ['twilio', undefined, undefined, undefined],
    ['sandbox', 400, 'rejected', 'the sandbox refuses this recipient, always'],
    ['sandbox', 503, undefined, 'it is out of service or overloaded'],
  ])('%s %s %s', (name, status, code, words) => {
    expect(meaning(name, status, code)).toBe(words)
  })
})

describe('the fault of a failure', () => {
  const byFaultOf = (fault: Fault) => ({ ...refused, outcome: 'retry_later', fault }) as const
  const attempts = (fault: Fault) => [
    stored('attempt_started', 1, { attempt: 1, worker: 'w1' }),
    stored('attempt_finished', 2, byFaultOf(fault)),
  ]

  test.each<[Fault, RegExp]>([
    ['recipient', /\. It concerns this contact only: other sends of the channel go on\.$/],
    ['message', /\. It concerns this message only: other sends of the channel go on\.$/],
    [
      'sender',
      /\. It concerns the channel's own account, number or address: its other sends may meet the same\.$/,
    ],
    ['provider', /\(after 120 ms\)\.$/],
  ])('says whether other sends are affected: the %s', (fault, words) => {
    const { entries } = explained({ events: attempts(fault) })
    expect(entries.at(-1)?.text).toMatch(words)
  })

  test('does not mention other sends if the send is refused for good', () => {
    const { entries } = explained({
      send: failed('no', { attemptRecord: { ...refused, fault: 'recipient' } }),
    })
    expect(entries.map(({ text }) => text).join()).not.toContain('other sends')
  })

  test.each<[Fault | undefined, string]>([
    ['recipient', 'the contact can receive messages again'],
    ['message', 'the cause is fixed, for example its media is available at the mediaUrl'],
    ['sender', "the channel's account, number or address may send again"],
    ['provider', 'the provider works again'],
    [undefined, 'the provider works again'],
  ])('says when a replay may succeed: %s', (fault, when) => {
    const attemptRecord = { ...refused, outcome: 'retry_later', ...(fault && { fault }) } as const
    const { advice } = explained({ send: failed('busy (the last attempt)', { attemptRecord }) })
    expect(advice).toEqual({ text: `Replay it when ${when}.`, command: `replay ${requestId}` })
  })
})

test.each([
  [
    'held_for_quality_assessment',
    /: WhatsApp holds it back until .*, and may then drop it; only the provider knows/,
  ],
  ['paused', /: WhatsApp has paused its delivery, and may drop it; only the provider knows/],
  [null, /UTC; only the provider knows/],
])(
  'the explanation says that the provider accepted the message and holds it back: %s',
  (providerCode, words) => {
    const attemptRecord = { ...record, providerStatus: 200, providerCode }
    const { summary, entries } = explained({
      send: ended('sent', { attemptRecord }),
      channel: { provider: 'whatsapp-cloud' },
    })
    expect(summary).toMatch(words)
    expect(entries.find(({ answer }) => answer)?.answer?.meaning ?? null).toSatisfy(
      (meaning: string | null) => (providerCode === null) === (meaning === null),
    )
  },
)

describe('of a send of which an attempt may have got through', () => {
  test('the customer does not read that it was not delivered, once it has failed', () => {
    const { forCustomer, advice } = explained({
      send: failed('busy (the last attempt)', {
        attempt: 2,
        attemptRecord: { ...refused, attempt: 2, outcome: 'retry_later' },
      }),
      events: resent,
    })
    expect(forCustomer).toMatch(/, may or may not have been delivered, as of .* and is not tried again\.$/)
    expect(advice?.text).toMatch(/^Look for the message at the provider before it is replayed or sent again/)
  })

  test('the customer reads that it may have been delivered, while the send waits', () => {
    const { forCustomer } = explained({ send: { attempt: 1 }, events: resent })
    expect(forCustomer).toMatch(/; an earlier attempt may have delivered it already\.$/)
  })
})

describe('what the provider reported', () => {
  const accepted = ended('sent', { providerMessageId: 'SM1' })
  const receiptOf = (event: string, fields: object = {}) =>
    stored(event, 5, {
      providerStatus: event,
      providerAt: null,
      providerCode: null,
      providerMessageId: 'SM1',
      ...fields,
    })
  const known = (delivery: 'delivered' | 'read' | 'undelivered', event = receiptOf(delivery)) =>
    explained({ send: { ...accepted, delivery, deliveryAt: at(5) }, events: [event] })

  test('delivered and read are the summary, and the customer hears of it', () => {
    expect(known('delivered')).toMatchObject({ tone: 'good', summary: expect.stringMatching(/^Delivered: /) })
    expect(known('delivered').forCustomer).toMatch(/was delivered; the provider reported it at /)
    expect(known('read')).toMatchObject({ tone: 'good', summary: expect.stringMatching(/^Read: /) })
    expect(known('read').advice).toBeUndefined()
  })

  test('undelivered is bad, says why, and is not to be replayed', () => {
    const reason = 'the number is unknown, or no longer in use'
    const explanation = known('undelivered', receiptOf('undelivered', { providerCode: '30005', reason }))
    expect(explanation).toMatchObject({ tone: 'bad', summary: expect.stringContaining(reason) })
    expect(explanation.advice?.command).toBeUndefined()
    expect(explanation.entries.at(-1)).toMatchObject({
      text: `Not delivered: ${reason}, as the provider reports.`,
      answer: { status: null, code: '30005', meaning: reason, messageId: null },
    })
    expect(explanation.forCustomer).toMatch(/was sent, but could not be delivered/)
    expect(explanation.forCustomer).not.toContain(reason)
  })

  const dayLater = new Date(at(2).getTime() + 24 * 3_600_000 + 1)

  test('a day after it was sent, a send of a channel with receipts has none: the story says so, and not that it was delivered', () => {
    const missing = explained({ send: accepted, facts: { now: dayLater }, channel: { hasReceipts: true } })
    expect(missing.summary).toMatch(/No receipt came/)
    expect(missing.summary).not.toMatch(/delivered/i)
    expect(missing.forCustomer).toMatch(/no receipt came/)
  })

  test.each([
    [
      'before a day is over',
      { facts: { now: new Date(dayLater.getTime() - 2) }, channel: { hasReceipts: true } },
    ],
    ['of a channel without receipts', { facts: { now: dayLater } }],
    [
      'with a receipt that says only that it was accepted',
      { facts: { now: dayLater }, channel: { hasReceipts: true }, events: [receiptOf('receipt')] },
    ],
  ])('%s, it does not', (_, given) => {
    expect(explained({ send: accepted, ...given }).summary).not.toMatch(/No receipt/)
  })

  test('a receipt that changed nothing does not hide what a send waits for', () => {
    const events = [...retried, receiptOf('receipt')]
    const waiting = explained({ wait: ['retry', at(7)], send: { attempt: 1 }, events, facts: { now: at(6) } })
    expect(waiting.summary).toMatch(/^Waiting for its next attempt/)
    expect(waiting.entries.at(-1)?.text).toBe('The provider reported: receipt.')
  })
})

test('a send that fell back says when it went on, by which channel, and why the other one could not', () => {
  const first = '01890000-0000-7000-8000-000000000009'
  const reason = 'message undeliverable (131026)'
  const answered = {
    attempt: 1,
    durationMs: 20,
    outcome: 'rejected',
    providerStatus: 400,
    providerCode: '131026',
  }
  const { summary, entries } = explained({
    send: { ...sending, status: 'sent', finishedAt: at(9), attemptRecord: record },
    events: [
      { at: at(4), event: 'attempt_finished', fields: answered },
      { at: at(5), event: 'fell_back', fields: { fromChannelId: first, toChannelId: channelId, reason } },
    ],
    facts: {
      channels: [
        { channelId: first, name: 'WhatsApp', provider: 'whatsapp-cloud' },
        { channelId, name: 'SMS', provider: 'twilio' },
      ],
    },
  })
  expect(summary).toContain(
    'At 14:00:05 UTC it went on by the channel SMS (twilio), because the channel WhatsApp (whatsapp-cloud) could not deliver it: message undeliverable (131026).',
  )
  const finished = entries.filter(({ event }) => event === 'attempt_finished')
  expect(finished[0]?.answer?.meaning).toBe(whatsAppCodes['131026']?.meaning)
  expect(finished.at(-1)?.answer?.meaning).not.toBe(whatsAppCodes['131026']?.meaning)
})
