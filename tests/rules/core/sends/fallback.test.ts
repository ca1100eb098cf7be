import { expect, test } from 'vitest'
import type { ProviderRules } from '../../../../src/core/channels/provider.ts'
import type { Message } from '../../../../src/core/messages/message.ts'
import {
  causeOfEnd,
  decideFallback,
  type EndedSend,
  type FallbackTarget,
  reasonWithUnusedFallback,
  sinceFallback,
} from '../../../../src/core/sends/fallback.ts'
import { chainIssue } from '../../../../src/core/sends/fallback-chain.ts'
import { ownReasons } from '../../../../src/core/sends/own-reasons.ts'
import {
  type AttemptRecord,
  buildTimeline,
  type SendRecord,
  type StoredEvent,
} from '../../../../src/core/sends/timeline.ts'
import { causeOfReason, causes } from '../../../../src/core/suppression/suppression.ts'
import { providers } from '../../../../src/providers/index.ts'
import { queuedRecord } from '../../../support/send-record.ts'

const at = new Date('2026-11-25T14:02:00Z')
/** So many seconds after the accept. */
const after = (seconds: number) => new Date(queuedRecord.acceptedAt.getTime() + seconds * 1000)
const timelineOf = (send: Partial<SendRecord>, events: StoredEvent[] = []) =>
  buildTimeline({ ...queuedRecord, finishedAt: at, ...send }, events, 'whole')

test.each([
  [ownReasons.expired, undefined],
  [ownReasons.channelDeleted, undefined],
  [ownReasons.givenUp, undefined],
  [`${ownReasons.providerAway}; its last answer: 503`, 'failed'],
  [causes.opt_out.storedReason, 'failed'],
])('a send that failed without an attempt, as %s: %s', (failure, cause) => {
  expect(causeOfEnd(timelineOf({ status: 'failed', failure }))).toBe(cause)
})

const fails = (reason: string): AttemptRecord => ({
  ...{ attempt: 1, durationMs: 1, providerStatus: 400, providerCode: null, providerMessageId: null },
  ...{ outcome: 'rejected', fault: 'recipient', reason },
})

const phone = { type: 'phone', value: '+4915112345678' } as const
const text = (length: number): Message => ({ type: 'text', text: { value: 'x'.repeat(length) } })
const media = (description: object) =>
  ({ type: 'media', media: { mediaType: 'image', ...description } }) as Message
const bySms = { ...providers.vonage, ...providers.vonage.limitsOf?.({ via: 'sms' }) }

test.each<[string, Pick<EndedSend, 'message'> & Partial<EndedSend>, ProviderRules, string | undefined]>([
  ['as long a text as it takes', { message: text(1600) }, providers.twilio, undefined],
  ['a longer text', { message: text(1601) }, providers.twilio, 'message.text.value: at most 1600'],
  [
    'a text that its config makes too long',
    { message: text(1001) },
    bySms,
    'message.text.value: at most 1000',
  ],
  [
    'a link to a file',
    { message: media({ mediaUrl: 'https://example.com/a.png' }) },
    bySms,
    'message.type: ',
  ],
  [
    'a large file',
    { message: media({ mimetype: 'image/png', sizeBytes: 6_000_000 }) },
    providers.twilio,
    'message.media.base64: 6000000 bytes',
  ],
  [
    'a file of another type',
    { message: media({ mediaUrl: 'https://example.com/a', mimetype: 'image/webp' }) },
    providers.twilio,
    'message.media.mimetype: ',
  ],
  [
    'content that the provider would fetch here',
    { message: media({ mimetype: 'image/png', sizeBytes: 1 }), hasPublicUrl: false },
    providers.twilio,
    'message.media.base64: this channel takes media by mediaUrl only',
  ],
  [
    'another kind of contact',
    { message: text(1), contact: { type: 'email', value: 'ann@example.com' } },
    providers.twilio,
    'contact.type: ',
  ],
])('a fallback is asked to carry %s', (_what, given, rules, why) => {
  expect(decide(given, { rules })).toMatchObject(
    why === undefined
      ? { result: 'fell_back', message: given.message, reason: 'no such number' }
      : { result: 'not_carried', why: expect.stringContaining(why) },
  )
})

test('a fallback is not asked to carry a message to a country to which its channel does not send', () => {
  const why = 'contact.value: this channel sends to numbers of AT only'
  expect(decide({}, { countries: ['AT'] })).toEqual({ result: 'not_carried', why })
  expect(decide({}, { countries: ['AT', 'DE'] })).toMatchObject({ result: 'fell_back' })
})

const lost: StoredEvent = {
  event: 'attempt_lost',
  at,
  fields: { attempt: 1, reason: 'its worker was lost' },
}
const refusedLate: StoredEvent = {
  event: 'attempt_finished',
  at,
  fields: { ...fails('no such number'), late: true },
}
const failedSend = (events: StoredEvent[] = []) =>
  timelineOf(
    {
      status: 'failed',
      failure: 'no such number',
      attempt: 2,
      claimedAt: at,
      attemptRecord: { ...fails('no such number'), attempt: 2 },
    },
    events,
  )

test.each<[string, string, Partial<EndedSend>, Partial<FallbackTarget>]>([
  ['suppressed', 'the contact is suppressed for all channels', { isSuppressed: true }, {}],
  ['deleted', 'that channel was deleted', {}, { isDeleted: true }],
  ['looped', 'it was sent by that channel before', { formerChannels: ['b'] }, {}],
  ['looped', 'it was sent by 3 channels before', { formerChannels: ['c', 'd'] }, {}],
  ['in_doubt', 'an earlier attempt may have got through', { timeline: failedSend([lost]) }, {}],
  ['too_late', 'more than 3600 s have passed since its accept', { now: after(3600) }, {}],
  ['expired', 'it has expired', {}, { expireAfterSeconds: 1 }],
  ['expired', 'it has expired', { expiresAt: after(1) }, {}],
])('the fallback is not used: %s, since %s', (result, why, given, target) => {
  expect(decide(given, target)).toEqual({ result, why })
})

test.each<[string, Partial<EndedSend>, Partial<FallbackTarget>]>([
  ['sent by another channel before', { formerChannels: ['c'] }, {}],
  ['after a lost attempt that was refused late', { timeline: failedSend([lost, refusedLate]) }, {}],
  ['a moment before it is too late', { now: after(3599.5) }, {}],
  ['a moment before it expires', { expiresAt: after(1.5) }, { expireAfterSeconds: 2 }],
])('a send still falls back: %s', (_what, given, target) => {
  expect(decide(given, target)).toMatchObject({ result: 'fell_back' })
})

/** The decision about a text that failed on channel `a` by the fault of its recipient, a second after its accept. */
function decide(given: Partial<EndedSend>, target: Partial<FallbackTarget>) {
  const send = {
    ...{ timeline: failedSend(), contact: phone, message: text(1), formerChannels: [], expiresAt: null },
    ...{ isSuppressed: false, now: after(1), hasPublicUrl: true },
  }
  const channel = {
    channelId: 'b',
    name: 'SMS',
    isDeleted: false,
    expireAfterSeconds: null,
    countries: null,
    template: null,
  }
  return decideFallback(
    { ...send, ...given },
    { on: null, withinSeconds: null },
    { ...channel, rules: providers.twilio, ...target },
  )
}

test('a provider’s text that reads like one of ours doesn’t count for it: the fault of the attempt does', () => {
  const attemptRecord = fails(ownReasons.expired)
  const send = {
    status: 'failed',
    failure: ownReasons.expired,
    attempt: 1,
    claimedAt: at,
    attemptRecord,
  } as const
  expect(causeOfEnd(timelineOf(send))).toBe('failed')
})

test.each(['queued', 'sending', 'uncertain', 'canceled'] as const)(
  '%s is no end to fall back on',
  (status) => {
    expect(causeOfEnd(timelineOf({ status, finishedAt: null }))).toBeUndefined()
  },
)

test('what was erased doesn’t fall back', () => {
  const undelivered = { status: 'sent', delivery: 'undelivered', deliveryAt: at } as const
  expect(causeOfEnd(timelineOf(undelivered))).toBe('undelivered')
  expect(causeOfEnd(timelineOf(undelivered, [{ at, event: 'erased', fields: {} }]))).toBeUndefined()
})

test('of the same moment, a fallback comes after the report that caused it', () => {
  const events = [
    { at, event: 'fell_back', fields: { fromChannelId: 'a', toChannelId: 'b', reason: null } },
    { at, event: 'undelivered', fields: { providerStatus: 'failed' } },
  ]
  const timeline = timelineOf({ finishedAt: null }, events)
  expect(timeline.events.map(({ event }) => event).slice(1)).toEqual(['undelivered', 'fell_back'])
  expect(sinceFallback(timeline.events)).toEqual([])
})

test('the reason of a send that stays keeps what clients may rely on', () => {
  const target = { name: 'SMS' }
  expect(reasonWithUnusedFallback('away (the last attempt)', target, 'it has expired')).toBe(
    'away; not sent by its fallback SMS: it has expired (the last attempt)',
  )
  const suppressed = reasonWithUnusedFallback(causes.opt_out.storedReason, target, 'that channel was deleted')
  expect(causeOfReason(suppressed)).toBe('opt_out')
  expect(causeOfReason(`${causes.opt_out.storedReason} too`)).toBeUndefined()
})

test('a chain has at most three channels, and no circle', () => {
  const chain = (links: Record<string, string | null>) =>
    Object.entries(links).map(([channelId, fallbackChannelId]) => ({ channelId, fallbackChannelId }))
  const channels = chain({ a: 'b', b: 'c', c: null, d: null, e: 'd' })
  expect(chainIssue('c', 'd', channels)).toContain('at most 3')
  expect(chainIssue('d', 'a', channels)).toContain('at most 3')
  expect(chainIssue('c', 'a', channels)).toContain('circle')
  expect(chainIssue('c', 'c', channels)).toContain('its own')
  expect(chainIssue('c', 'x', channels)).toContain('no channel x')
  expect(chainIssue('d', 'b', channels)).toContain('at most 3')
  expect(chainIssue('d', 'c', channels)).toBeUndefined()
  expect(chainIssue('a', 'd', channels)).toBeUndefined()
})
