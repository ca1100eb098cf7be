import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import {
  type AttemptRecord,
  buildTimeline,
  type SendRecord,
  type StoredEvent,
  type Timeline,
} from '../../../../src/core/sends/timeline.ts'
import { queuedRecord, unknownTimeline } from '../../../support/send-record.ts'

const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 12, 0, second))

const queued: SendRecord = { ...queuedRecord, acceptedAt: at(0) }

const record: AttemptRecord = {
  attempt: 1,
  outcome: 'sent',
  durationMs: 120,
  providerStatus: 200,
  providerCode: null,
  providerMessageId: 'p1',
}

const claimed: SendRecord = { ...queued, status: 'sending', attempt: 1, worker: 'w1', claimedAt: at(1) }
const ended: SendRecord = { ...claimed, finishedAt: at(2), attemptRecord: record }

function eventsOf(send: SendRecord, stored: StoredEvent[] = []) {
  return buildTimeline(send, stored, 'whole').events
}

test('a queued send has its accept, and null for all that is not yet known', () => {
  expect(buildTimeline(queued, [], 'whole')).toStrictEqual({
    ...unknownTimeline,
    requestId: queued.requestId,
    status: 'queued',
    channelId: queued.channelId,
    contact: { type: 'phone', value: '+4915112345678' },
    messageType: 'text',
    acceptedAt: '2026-01-01T12:00:00.000Z',
    attempts: 0,
    events: [{ at: '2026-01-01T12:00:00.000Z', event: 'accepted' }],
  })
})

test('the fields are in the documented order', () => {
  const page = readFileSync('docs/reference/timeline.md', 'utf8')
  const shown = [...page.matchAll(/```json\n(\{.*?)```/gs)].map(([, json = '']) => JSON.parse(json))
  const documented = shown.find((value) => 'events' in value)
  expect(Object.keys(buildTimeline(ended, [], 'whole'))).toEqual(Object.keys(documented))
})

test('an attempt that is under way has started and not finished', () => {
  expect(eventsOf(claimed)).toEqual([
    { at: '2026-01-01T12:00:00.000Z', event: 'accepted' },
    { at: '2026-01-01T12:00:01.000Z', event: 'attempt_started', attempt: 1, worker: 'w1' },
  ])
})

test('a sent one has its attempt and its end', () => {
  expect(eventsOf({ ...ended, status: 'sent', providerMessageId: 'p1' })).toEqual([
    { at: '2026-01-01T12:00:00.000Z', event: 'accepted' },
    { at: '2026-01-01T12:00:01.000Z', event: 'attempt_started', attempt: 1, worker: 'w1' },
    { at: '2026-01-01T12:00:02.000Z', event: 'attempt_finished', ...record },
    { at: '2026-01-01T12:00:02.000Z', event: 'sent' },
  ])
})

test.each(['failed', 'uncertain'] as const)('a send that ended %s says why', (status) => {
  expect(eventsOf({ ...ended, status, failure: 'no such number' }).at(-1)).toEqual({
    at: '2026-01-01T12:00:02.000Z',
    event: status,
    reason: 'no such number',
  })
})

test('a send that ended before any attempt has its end', () => {
  const expired: SendRecord = { ...queued, status: 'failed', finishedAt: at(9), failure: 'expired' }
  expect(eventsOf(expired)).toEqual([
    { at: '2026-01-01T12:00:00.000Z', event: 'accepted' },
    { at: '2026-01-01T12:00:09.000Z', event: 'failed', reason: 'expired' },
  ])
})

describe('stored events', () => {
  const retried: StoredEvent[] = [
    { at: at(1), event: 'conversation_closed', fields: { conversationId: null } },
    { at: at(1), event: 'attempt_started', fields: { attempt: 1, worker: 'w1' } },
    { at: at(2), event: 'attempt_finished', fields: { ...record, outcome: 'retry_later' } },
    { at: at(2), event: 'retry_scheduled', fields: { nextAttemptAt: at(3).toISOString() } },
  ]

  test('come between the accept and the latest attempt, in the order in which they were stored', () => {
    const send: SendRecord = { ...ended, status: 'sent', attempt: 2, claimedAt: at(3), finishedAt: at(4) }
    expect(eventsOf(send, retried).map(({ event }) => event)).toEqual([
      'accepted',
      'conversation_closed',
      'attempt_started',
      'attempt_finished',
      'retry_scheduled',
      'attempt_started',
      'attempt_finished',
      'sent',
    ])
  })

  test('of one moment keep their order', () => {
    const same = retried.map((event) => ({ ...event, at: at(0) }))
    const send: SendRecord = { ...ended, status: 'sent', claimedAt: at(0), finishedAt: at(0) }
    expect(eventsOf(send, same).map(({ event }) => event)).toEqual([
      'accepted',
      ...retried.map(({ event }) => event),
      'attempt_started',
      'attempt_finished',
      'sent',
    ])
  })

  test('keep the fields with which they were stored', () => {
    expect(eventsOf(queued, retried)[4]).toEqual({
      at: '2026-01-01T12:00:02.000Z',
      event: 'retry_scheduled',
      nextAttemptAt: '2026-01-01T12:00:03.000Z',
    })
  })

  test('after the end come after it', () => {
    const replayed = { at: at(9), event: 'replayed', fields: { by: 'support' } }
    const send: SendRecord = { ...ended, status: 'failed', failure: 'x' }
    expect(
      eventsOf(send, [replayed])
        .map(({ event }) => event)
        .slice(-2),
    ).toEqual(['failed', 'replayed'])
  })
})

describe('an attempt whose worker was lost', () => {
  const lost: SendRecord = { ...claimed, finishedAt: at(9), failure: 'worker w1 was lost' }
  const attempt: StoredEvent[] = [
    { at: at(1), event: 'attempt_started', fields: { attempt: 1, worker: 'w1' } },
    { at: at(9), event: 'attempt_lost', fields: { attempt: 1, reason: 'worker w1 was lost' } },
  ]
  const late: AttemptRecord = { ...record, late: true }

  test.each(['uncertain', 'failed'] as const)(
    'that ended the send as %s is listed as lost, not as finished',
    (status) => {
      expect(eventsOf({ ...lost, status }).slice(1)).toEqual([
        { at: '2026-01-01T12:00:01.000Z', event: 'attempt_started', attempt: 1, worker: 'w1' },
        { at: '2026-01-01T12:00:09.000Z', event: 'attempt_lost', attempt: 1, reason: 'worker w1 was lost' },
        { at: '2026-01-01T12:00:09.000Z', event: status, reason: 'worker w1 was lost' },
      ])
    },
  )

  test('and that is to be followed by another is listed once, from the stored events', () => {
    const scheduled = { at: at(9), event: 'retry_scheduled', fields: {} }
    const waiting: SendRecord = { ...claimed, status: 'queued' }
    const names = ['accepted', 'attempt_started', 'attempt_lost', 'retry_scheduled']
    expect(eventsOf(waiting, [...attempt, scheduled]).map(({ event }) => event)).toEqual(names)
  })

  test('and ended late is listed as late, after its loss', () => {
    const ofLoss = [...attempt.slice(1), { at: at(9), event: 'uncertain', fields: {} }]
    const sent: SendRecord = {
      ...lost,
      status: 'sent',
      finishedAt: at(20),
      attemptRecord: late,
      failure: null,
    }
    const events = eventsOf(sent, ofLoss)
    expect(events.map(({ event }) => event)).toEqual([
      'accepted',
      'attempt_started',
      'attempt_lost',
      'uncertain',
      'attempt_finished',
      'sent',
    ])
    expect(events[4]).toMatchObject({ attempt: 1, late: true })
  })

  test('and ended late, its attempt moved to the stored events before, starts once', () => {
    const sent: SendRecord = {
      ...ended,
      status: 'sent',
      claimedAt: null,
      attemptRecord: late,
      finishedAt: at(20),
    }
    expect(eventsOf(sent, attempt).map(({ event }) => event)).toEqual([
      'accepted',
      'attempt_started',
      'attempt_lost',
      'attempt_finished',
      'sent',
    ])
  })
})

describe('the contact', () => {
  const named: SendRecord = { ...queued, contactName: 'Jane Doe' }

  test('is whole for its owner, with the name where there is one', () => {
    expect(buildTimeline(named, [], 'whole').contact).toStrictEqual({
      type: 'phone',
      value: '+4915112345678',
      name: 'Jane Doe',
    })
    expect(buildTimeline(queued, [], 'whole').contact).toStrictEqual({
      type: 'phone',
      value: '+4915112345678',
    })
  })

  test('is masked for all others, and without its name', () => {
    const masked = buildTimeline(named, [], 'masked')
    expect(masked.contact).toStrictEqual({ type: 'phone', value: '+49*********78' })
    expect(JSON.stringify(masked)).not.toMatch(/4915112345678|Jane/)
  })
})

test('a send for later says so, with its time, until it is canceled', () => {
  const send: SendRecord = { ...queued, sendAt: at(50), reference: 'r' }
  const scheduled = { at: '2026-01-01T12:00:00.000Z', event: 'scheduled', sendAt: '2026-01-01T12:00:50.000Z' }
  expect(eventsOf(send)).toEqual([{ at: '2026-01-01T12:00:00.000Z', event: 'accepted' }, scheduled])
  const canceled = eventsOf({ ...send, status: 'canceled', finishedAt: at(9) })
  expect(canceled.slice(1)).toEqual([scheduled, { at: '2026-01-01T12:00:09.000Z', event: 'canceled' }])
})

test('a send that was moved to another time has each of its times', () => {
  const stored: StoredEvent[] = [
    { at: at(0), event: 'scheduled', fields: { sendAt: '2026-01-01T12:00:30.000Z' } },
    { at: at(9), event: 'scheduled', fields: { sendAt: '2026-01-01T12:00:50.000Z' } },
  ]
  expect(eventsOf({ ...queued, sendAt: at(50) }, stored)).toEqual([
    { at: '2026-01-01T12:00:00.000Z', event: 'accepted' },
    { at: '2026-01-01T12:00:00.000Z', event: 'scheduled', sendAt: '2026-01-01T12:00:30.000Z' },
    { at: '2026-01-01T12:00:09.000Z', event: 'scheduled', sendAt: '2026-01-01T12:00:50.000Z' },
  ])
})

test('a sendAt that was past when the send was accepted is no event', () => {
  expect(eventsOf({ ...queued, sendAt: new Date(at(0).getTime() - 1000) }).map(({ event }) => event)).toEqual(
    ['accepted'],
  )
})

const reported = { reason: 'no such number', providerCode: '30003' }

test.each<[string, Partial<SendRecord>, Pick<Timeline, 'reason' | 'providerCode'>]>([
  ['waits', {}, { reason: null, providerCode: null }],
  [
    'failed',
    { ...ended, status: 'failed', failure: 'refused', attemptRecord: { ...record, providerCode: '131026' } },
    { reason: 'refused', providerCode: '131026' },
  ],
  [
    'failed without an attempt',
    { status: 'failed', failure: 'expired', finishedAt: at(9) },
    { reason: 'expired', providerCode: null },
  ],
  [
    'was accepted, and is held back',
    { ...ended, status: 'sent', attemptRecord: { ...record, providerCode: 'held_for_quality_assessment' } },
    { reason: null, providerCode: 'held_for_quality_assessment' },
  ],
  ['was canceled', { status: 'canceled', finishedAt: at(9) }, { reason: null, providerCode: null }],
  ['was reported as undelivered', { ...ended, status: 'sent', undelivered: reported }, reported],
  [
    'was reported as undelivered, and erased since',
    { ...ended, status: 'sent', undelivered: { providerCode: '30003' } },
    { reason: null, providerCode: '30003' },
  ],
])('a send that %s says why, with the code of the provider', (_, changes, expected) => {
  expect(buildTimeline({ ...queued, ...changes }, [], 'masked')).toMatchObject({
    ...expected,
    sentThrough: null,
  })
})
