import { dayMs } from '../durations.ts'
import { isCanceledInDoubt, mayHaveGotThrough } from '../sends/doubt.ts'
import type { Fault } from '../sends/outcome.ts'
import { lastAttempt, ownReasonOf } from '../sends/own-reasons.ts'
import { isOfReceipt, type Timeline } from '../sends/timeline.ts'
import type { EventOf, TimelineEvent, TimelineEventName } from '../sends/timeline-events.ts'
import { causeOfReason, type SuppressionCause } from '../suppression/suppression.ts'
import { answerOf } from './answer.ts'
import { faultOf } from './fault.ts'
import type { SendFacts, Wait } from './model.ts'

/** The condition of a send, more precise than its status. Decided once, and rendered in several ways. */
export type Condition =
  /** `note`: the provider's remark on an accepted message, for example that it holds it back. */
  | { kind: 'sent'; at: string; note: string | null }
  /** By the provider's receipt, after it had accepted the message. */
  | { kind: 'delivered' | 'read'; at: string }
  | { kind: 'undelivered'; at: string; reason: string }
  /** The channel's provider reports messages, but for a long time not this one. */
  | { kind: 'no_receipt'; at: string }
  /** The provider refused it. */
  | { kind: 'refused'; reason: string }
  /** It was rejected before a call to the provider. */
  | { kind: 'unsendable'; reason: string }
  /** Every attempt failed. */
  | { kind: 'attempts_failed'; reason: string; fault: Fault | undefined }
  /** Its outcome came late, so it isn't retried. */
  | { kind: 'failed_late'; reason: string; fault: Fault | undefined }
  | { kind: 'provider_away'; reason: string }
  | { kind: 'expired'; at: string }
  | { kind: 'channel_deleted' }
  /** Its contact is on its account's suppression list. */
  | { kind: 'suppressed'; cause: SuppressionCause }
  | { kind: 'crashed_workers'; reason: string }
  | { kind: 'media_gone' }
  /** A person found that the provider doesn't have it. */
  | { kind: 'settled_failed'; reason: string }
  /** It isn't tried again, but the provider may have it from an earlier attempt. */
  | { kind: 'failed_in_doubt'; reason: string }
  /** The reason isn't known, for example because it was erased with the contact. */
  | { kind: 'failed_otherwise'; reason: string }
  | { kind: 'uncertain'; reason: string }
  /** Nobody wants it any more, but the provider may have it from an earlier attempt. */
  | { kind: 'canceled_in_doubt' }
  | { kind: 'canceled'; at: string }
  | { kind: 'sending'; since: string }
  /** It waits for the time that it is scheduled for. */
  | { kind: 'scheduled'; at: Date }
  /** It waits for one of the reasons of db/reasons-to-wait.ts. */
  | ({ kind: 'waiting' } & Wait)
  | { kind: 'in_queue' }

export function conditionOf(timeline: Timeline, facts: SendFacts): Condition {
  const { status, events, acceptedAt, finishedAt } = timeline
  switch (status) {
    case 'sent':
      return deliveryOf(timeline, facts)
    case 'failed':
      return failureOf(timeline, facts)
    case 'uncertain': {
      const reason = lastOf(events, 'uncertain')?.reason ?? ''
      return isCanceledInDoubt(reason) ? { kind: 'canceled_in_doubt' } : { kind: status, reason }
    }
    case 'canceled':
      return { kind: 'canceled', at: finishedAt ?? acceptedAt }
    case 'sending':
      return { kind: 'sending', since: lastOf(events, 'attempt_started')?.at ?? acceptedAt }
    case 'queued':
      return waitOf(facts)
    default:
      return status satisfies never
  }
}

/** After this long without a receipt, none is expected any more. */
const receiptWithinMs = dayMs

function deliveryOf(timeline: Timeline, facts: SendFacts): Condition {
  const { delivery, deliveryAt, acceptedAt, finishedAt, events } = timeline
  const at = finishedAt ?? acceptedAt
  switch (delivery) {
    case 'delivered':
    case 'read':
      return { kind: delivery, at: deliveryAt ?? at }
    case 'undelivered':
      return { kind: delivery, at: deliveryAt ?? at, reason: lastOf(events, 'undelivered')?.reason ?? '' }
    case null: {
      const isOverdue = facts.now.getTime() - Date.parse(at) > receiptWithinMs
      const note = noteOf(timeline, facts)
      if (isOverdue && facts.channel.hasReceipts && !events.some(isOfReceipt))
        return { kind: 'no_receipt', at }
      return { kind: 'sent', at, note }
    }
    default:
      return delivery satisfies never
  }
}

function noteOf({ events }: Timeline, { channel, meaningOf }: SendFacts): string | null {
  const attempt = lastOf(events, 'attempt_finished')
  return attempt?.outcome === 'sent' ? answerOf(attempt, channel.provider, meaningOf).meaning : null
}

function failureOf(timeline: Timeline, facts: SendFacts): Condition {
  const { events, acceptedAt, finishedAt } = timeline
  const reason = lastOf(events, 'failed')?.reason ?? ''
  if (mayHaveGotThrough(events)) return { kind: 'failed_in_doubt', reason: reason.replace(lastAttempt, '') }
  // An outcome of another attempt may have come after the end.
  const untilEnd = events.slice(
    0,
    events.findLastIndex(({ event }) => event === 'failed'),
  )
  const ending = untilEnd.findLast((event) => !isOfReceipt(event))
  if (ending?.event === 'settled' && !wasCanceled({ status: 'failed', reason }))
    return { kind: 'settled_failed', reason: ending.reason ?? '' }
  const cause = causeOfReason(reason)
  if (cause) return { kind: 'suppressed', cause }
  switch (ownReasonOf(reason)) {
    case 'expired':
      return { kind: 'expired', at: finishedAt ?? acceptedAt }
    case 'mediaGone':
      return { kind: 'media_gone' }
    case 'channelDeleted':
      return { kind: 'channel_deleted' }
    case 'givenUp':
      return { kind: 'crashed_workers', reason }
    case 'providerAway':
      return { kind: 'provider_away', reason }
    // Its outcome came after the cancel.
    case 'canceledInDoubt':
      return { kind: 'canceled', at: finishedAt ?? acceptedAt }
    case undefined:
      return failureOfAttempt(untilEnd, facts, reason)
  }
}

/** It failed by its last attempt. */
function failureOfAttempt(
  events: readonly TimelineEvent[],
  { channel, meaningOf }: SendFacts,
  reason: string,
): Condition {
  const attempt = lastOf(events, 'attempt_finished')
  if (!attempt) return { kind: 'failed_otherwise', reason }
  const { meaning } = answerOf(attempt, channel.provider, meaningOf)
  if (attempt.outcome !== 'rejected') {
    const fault = faultOf(attempt)
    if (attempt.late) return { kind: 'failed_late', reason, fault }
    return { kind: 'attempts_failed', reason: meaning ?? reason.replace(lastAttempt, ''), fault }
  }
  if (attempt.providerStatus === null) return { kind: 'unsendable', reason }
  return { kind: 'refused', reason: meaning ?? reason }
}

/** The reason why a queued send waits. A deleted channel holds its sends, and a scheduled send has no other wait yet. */
function waitOf({ channel, isScheduled, nextAttemptAt, wait }: SendFacts): Condition {
  if (channel.deletedAt) return { kind: 'channel_deleted' }
  if (isScheduled) return { kind: 'scheduled', at: nextAttemptAt }
  return wait ? { kind: 'waiting', ...wait } : { kind: 'in_queue' }
}

export function lastOf<Name extends TimelineEventName>(events: readonly TimelineEvent[], name: Name) {
  return events.findLast((event): event is EventOf<Name> & TimelineEvent => event.event === name)
}

type HowItEnded = Pick<Timeline, 'status' | 'reason'>

/** Whether the send was canceled, so that it can't be sent again. */
export const wasCanceled = ({ status, reason }: HowItEnded): boolean =>
  status === 'canceled' || isCanceledInDoubt(reason)

/** Whether a send that has ended may be sent again, by its state. */
export const mayBeReplayed = (ended: HowItEnded): boolean =>
  (ended.status === 'failed' || ended.status === 'uncertain') && !wasCanceled(ended)

/** Whether the send was erased with its contact, so that it can't be sent again. */
export const isErased = ({ events }: Timeline) => events.some(({ event }) => event === 'erased')
