import type { ProviderRules } from '../channels/provider.ts'
import type { Contact } from '../contacts/contact.ts'
import type { Message } from '../messages/message.ts'
import { templateIssues } from '../messages/template.ts'
import { causeOfReason } from '../suppression/suppression.ts'
import { attemptsInDoubt, isCanceledInDoubt } from './doubt.ts'
import { lastAttempt, ownReasonOf } from './own-reasons.ts'
import { sendIssue } from './send-issue.ts'
import { isOfReceipt, type Timeline } from './timeline.ts'
import type { TimelineEvent } from './timeline-events.ts'

/*
 * The rule of fallbacks (docs/how-to/fall-back.md): whether a send that has just ended goes on by another channel. It is decided by the
 * send's timeline, in the transaction that ends it (db/delivery/fall-back.ts).
 */

/** On what a channel's sends may fall back: a failure, or the provider's report that the message was not delivered. */
export const fallbackCauses = ['failed', 'undelivered'] as const
export type FallbackCause = (typeof fallbackCauses)[number]

export const defaultFallbackWithinSeconds = 3600

/** How a channel's sends fall back. */
export interface FallbackRule {
  /** Null for all causes. */
  on: readonly FallbackCause[] | null
  /** From their accept; null for `defaultFallbackWithinSeconds`. */
  withinSeconds: number | null
}

/** A channel's fallback as its account sees it, among its other fields: nothing if it has none. */
export function shownFallback({
  fallbackChannelId: channelId,
  fallbackOn,
  fallbackWithinSeconds,
}: {
  fallbackChannelId: string | null
  fallbackOn: readonly FallbackCause[] | null
  fallbackWithinSeconds: number | null
}) {
  if (channelId === null) return {}
  const on = fallbackOn ?? fallbackCauses
  const withinSeconds = fallbackWithinSeconds ?? defaultFallbackWithinSeconds
  return { fallback: { channelId, on, withinSeconds } }
}

/** The channel that would send it. */
export interface FallbackTarget {
  channelId: string
  name: string
  isDeleted: boolean
  expireAfterSeconds: number | null
  /** The countries whose phone numbers it sends to; null for all. */
  countries: string[] | null
  /** Rules of its provider, with the limits of its config. */
  rules: ProviderRules
  /** Its template of the send's name. */
  template: object | null
}

/** A send that has ended, in the state in which it stays if it doesn't fall back. */
export interface EndedSend {
  timeline: Timeline
  contact: Contact
  message: Message
  /** The channels that had it before the one that has it now. */
  formerChannels: readonly string[]
  expiresAt: Date | null
  /** Whether its contact is suppressed for all channels of the account. */
  isSuppressed: boolean
  now: Date
  /** Whether providers can reach this service, to fetch media from it. */
  hasPublicUrl: boolean
}

/** Why the fallback was not used. */
export type UnusedResult =
  | 'not_carried'
  | 'too_late'
  | 'in_doubt'
  | 'suppressed'
  | 'expired'
  | 'deleted'
  | 'looped'

export type FallbackDecision =
  /** The fallback isn't for this end. */
  | { result: 'not_meant' }
  | { result: UnusedResult; why: string }
  | { result: 'fell_back'; message: Message; reason: string }

export function decideFallback(
  send: EndedSend,
  rule: FallbackRule,
  target: FallbackTarget,
): FallbackDecision {
  const { timeline } = send
  const cause = causeOfEnd(timeline)
  if (!cause || (rule.on && !rule.on.includes(cause))) return { result: 'not_meant' }
  const stay = reasonToStay(send, rule, target, cause)
  if (stay) return stay
  const carried = carry(send, target)
  if ('issue' in carried) return { result: 'not_carried', why: carried.issue }
  return { result: 'fell_back', message: carried.message, reason: timeline.reason ?? 'not delivered' }
}

/** Whether a send ended so that a fallback may help: not by the fault of its message, nor because nobody wants it any more. */
export function causeOfEnd({ status, delivery, reason, events }: Timeline): FallbackCause | undefined {
  if (events.some(isUnwanted)) return undefined
  if (status === 'sent')
    return delivery === 'undelivered' && !sinceFallback(events).some(({ event }) => event === 'read')
      ? 'undelivered'
      : undefined
  if (status !== 'failed') return undefined
  // The outcome of an earlier attempt may have come after the end.
  const untilEnd = events.slice(
    0,
    events.findLastIndex(({ event }) => event === 'failed'),
  )
  const ending = untilEnd.findLast((event) => !isOfReceipt(event))
  if (ending?.event === 'attempt_finished') {
    const { fault } = ending
    return fault !== undefined && fault !== 'message' ? 'failed' : undefined
  }
  const isOfChannel =
    causeOfReason(reason ?? '') !== undefined || ownReasonOf(reason ?? '') === 'providerAway'
  return isOfChannel ? 'failed' : undefined
}

/** Nothing more is sent after a cancel, nor of what was erased. */
const isUnwanted = ({ event, reason }: TimelineEvent): boolean =>
  event === 'erased' || (event === 'uncertain' && isCanceledInDoubt(String(reason)))

function reasonToStay(
  { timeline, formerChannels, expiresAt, isSuppressed, now }: EndedSend,
  { withinSeconds }: FallbackRule,
  { channelId, isDeleted, expireAfterSeconds }: FallbackTarget,
  cause: FallbackCause,
): { result: UnusedResult; why: string } | undefined {
  const { acceptedAt, sendAt, events } = timeline
  const since = Math.max(Date.parse(acceptedAt), Date.parse(sendAt ?? acceptedAt))
  const isOver = (seconds: number | null) => seconds !== null && now.getTime() >= since + seconds * 1000
  const within = withinSeconds ?? defaultFallbackWithinSeconds
  if (isSuppressed) return { result: 'suppressed', why: 'the contact is suppressed for all channels' }
  if (isDeleted) return { result: 'deleted', why: 'that channel was deleted' }
  if (formerChannels.includes(channelId))
    return { result: 'looped', why: 'it was sent by that channel before' }
  if (formerChannels.length + 2 > maxChannelsOfChain)
    return { result: 'looped', why: `it was sent by ${maxChannelsOfChain} channels before` }
  // The receipt clears one attempt. From any other the contact may have the message.
  const cleared = cause === 'undelivered' ? 1 : 0
  if (attemptsInDoubt(events).size > cleared) return { result: 'in_doubt', why: inDoubt }
  if (isOver(within)) return { result: 'too_late', why: `more than ${within} s have passed since its accept` }
  if (isOver(expireAfterSeconds) || (expiresAt && expiresAt <= now))
    return { result: 'expired', why: 'it has expired' }
  return undefined
}

/** The events on the channel that has the send now. */
export function sinceFallback(events: readonly TimelineEvent[]): readonly TimelineEvent[] {
  return events.slice(events.findLastIndex(({ event }) => event === 'fell_back') + 1)
}

/** The message as the channel sends it, by the rules of an accept; or why the channel can't. */
export function carry(
  { contact, message, hasPublicUrl }: Pick<EndedSend, 'contact' | 'message' | 'hasPublicUrl'>,
  { rules, countries, template: definition }: Pick<FallbackTarget, 'rules' | 'countries' | 'template'>,
): { message: Message } | { issue: string } {
  const issue = sendIssue(rules, { contact, message, countries, hasPublicUrl })
  if (issue) return { issue }
  if (message.type !== 'template') return { message }
  if (!definition)
    return { issue: 'message.template.name: no template of this name is registered with that channel' }
  const { name, variables } = message.template
  // Without their keys, which are text of the client.
  if (templateIssues(rules.template, message.template, definition).length > 0)
    return { issue: 'message.template.variables: not those of the template there' }
  return { message: { ...message, template: { name, variables, definition } } }
}

/** Joins the reason of a send with why its fallback was not used. */
const notSentBy = '; not sent by its fallback '

const inDoubt = 'an earlier attempt may have got through'

/**
 * Reads a stored reason about a fallback that was not used: the send's own reason, and whether an earlier attempt was in doubt, which a
 * late refusal may clear. Undefined for any other reason.
 */
export function unusedFallback({
  reason,
}: Pick<Timeline, 'reason'>): { ownReason: string; isInDoubt: boolean } | undefined {
  if (!reason?.includes(notSentBy)) return undefined
  const [whole, suffix] = reason.endsWith(lastAttempt)
    ? [reason.slice(0, -lastAttempt.length).trimEnd(), ` ${lastAttempt}`]
    : [reason, '']
  const own = whole.slice(0, whole.indexOf(notSentBy))
  return { ownReason: `${own}${suffix}`, isInDoubt: whole.endsWith(`: ${inDoubt}`) }
}

/** The reason of a send, with why its fallback was not used. `(the last attempt)` stays at its end. */
export function reasonWithUnusedFallback(
  reason: string,
  target: Pick<FallbackTarget, 'name'>,
  why: string,
): string {
  const isLast = reason.endsWith(lastAttempt)
  const itself = (isLast ? reason.slice(0, -lastAttempt.length) : reason).trimEnd()
  return [`${itself}${notSentBy}${target.name}: ${why}`, ...(isLast ? [lastAttempt] : [])].join(' ')
}

export const maxChannelsOfChain = 3
