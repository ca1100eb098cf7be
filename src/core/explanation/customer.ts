import type { Timeline } from '../timeline.ts'
import { type Condition, isErased, mayHaveGotThrough } from './condition.ts'
import type { SendFacts } from './model.ts'

/** `2026-11-21 14:02:11 UTC`, whenever it is read. */
const moment = (at: string | Date) => `${new Date(at).toISOString().replace('T', ' ').slice(0, 19)} UTC`

/** A line for whoever asked: which message, and how it stands with it, without internals. */
export function lineForCustomer(condition: Condition, timeline: Timeline, facts: SendFacts): string {
  const { requestId, messageType, contact, acceptedAt } = timeline
  const whom = isErased(timeline) ? '' : ` to ${contact.value}`
  const which = `Your ${messageType} message ${requestId}${whom}, accepted at ${moment(acceptedAt)},`
  return `${which} ${fateOf(condition, timeline, facts)}${doubtOf(timeline)}.`
}

/** Beside what is told of a message that is on its way. */
function doubtOf({ status, events }: Timeline): string {
  const isOnItsWay = status === 'queued' || status === 'sending'
  return isOnItsWay && mayHaveGotThrough(events) ? '; an earlier attempt may have delivered it already' : ''
}

function fateOf(condition: Condition, { attempts, finishedAt }: Timeline, { now }: SendFacts): string {
  const at = moment(finishedAt ?? now)
  switch (condition.kind) {
    case 'sent':
      return `was taken for delivery by the provider at ${at}; whether it has arrived, only the provider can tell`
    case 'refused':
    case 'unsendable':
    case 'failed_late':
      return `was refused and not delivered, as of ${at}`
    case 'gave_up':
    case 'provider_away':
      return `could not be delivered, in spite of ${attempts === 1 ? 'an attempt' : `${attempts} attempts`}, as of ${at}`
    case 'expired':
      return `could not be delivered in time and was given up at ${at}, so that it does not arrive late`
    case 'givenUp':
      return `was not delivered because of a fault on our side, as of ${at}`
    case 'media_gone':
      return `was not delivered, since its media is no longer kept, as of ${at}`
    case 'channel_deleted':
    case 'failed_otherwise':
      return `was not delivered, as of ${at}`
    case 'failed_in_doubt':
      return `may or may not have been delivered, as of ${at}, and is not tried again`
    case 'uncertain':
      return `may or may not have been delivered, as of ${at}; we cannot tell yet`
    case 'sending':
      return `is being sent at this moment, ${at}`
    case 'retry':
    case 'replayed':
      return `is waiting to be sent; the next attempt is due at ${moment(condition.at)}`
    case 'behind':
      return `is waiting for an earlier message to the same contact, as of ${at}`
    case 'held':
    case 'breaker_open':
    case 'waits_for_permit':
    case 'in_queue':
      return `is waiting to be sent, as of ${at}`
    default:
      return condition satisfies never
  }
}
