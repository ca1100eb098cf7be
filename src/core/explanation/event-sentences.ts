import type { Cost } from '../sends/cost.ts'
import type { AttemptRecord, Timeline } from '../sends/timeline.ts'
import type { EventFields, EventOf, TimelineEvent, TimelineEventName } from '../sends/timeline-events.ts'
import { answerOf } from './answer.ts'
import { effectOf, faultOf } from './fault.ts'
import type { ExplanationEntry, SendFacts } from './model.ts'
import { because, clock, duration } from './phrases.ts'

type EventText = Pick<ExplanationEntry, 'text' | 'answer'>
type Renderer<Name extends TimelineEventName> = (
  event: EventOf<Name>,
  timeline: Timeline,
  facts: SendFacts,
) => EventText

const withReason = (words: string, { reason }: { reason?: string | null | undefined }) =>
  `${words}${because(reason ?? '')}.`

const renderers: { [Name in TimelineEventName]: Renderer<Name> } = {
  accepted(_event, { messageType, contact, flowId }, { channel: present, channels, waitedFor }) {
    const channel = channels[0] ?? present
    const flow = flowId ? `, of the flow ${flowId}` : ''
    const behind = waitedFor
      ? ` An earlier message to this contact, ${waitedFor.requestId}, had not ended.`
      : ''
    const what = `Accepted: a ${messageType} message to ${contact.value} by the channel ${channel.name} (${channel.provider})`
    return { text: `${what}${flow}.${behind}` }
  },
  tried: () => ({ text: 'An operator tried the channel with it: no client posted it.' }),
  scheduled: ({ sendAt, contactChanged }, _timeline, { now }) => ({
    text: `${contactChanged ? 'Given to another contact' : 'Scheduled'}: to be sent at ${clock(sendAt, now)}, and not before.`,
  }),
  conversation_closed({ conversationId }, timeline) {
    const opened = timeline.conversationId ? `opened ${timeline.conversationId}` : 'opened the next'
    return {
      text: conversationId
        ? `The open conversation ${conversationId} was closed; the message ${opened}.`
        : `No conversation was open; the message ${opened}.`,
    }
  },
  attempt_started({ attempt, worker }, { conversationId, events }) {
    const isInOpenOne = attempt === 1 && !events.some(({ event }) => event === 'conversation_closed')
    const joined = isInOpenOne && conversationId ? `, in the conversation ${conversationId}` : ''
    return { text: `Attempt ${attempt} began on ${worker}${joined}.` }
  },
  attempt_finished(event, timeline, facts) {
    const late = event.late ? ' It came late: its claim had been given up.' : ''
    const answer = answerOf(event, providerAt(event, timeline, facts), facts.meaningOf)
    const isAnswered = Object.values(answer).some((part) => part !== null)
    const fault = event.outcome === 'retry_later' ? faultOf(event) : undefined
    const effect = fault ? effectOf[fault] : ''
    const text = `${outcomeIn(event)} (after ${duration(event.durationMs)}).${costIn(event)}${effect}${late}`
    return { text, ...(isAnswered && { answer }) }
  },
  attempt_lost: ({ attempt, outcome }) => ({
    text:
      outcome === 'not_called'
        ? `The worker of attempt ${attempt} was lost before it called the provider, so no attempt is counted.`
        : `The worker of attempt ${attempt} was lost before it recorded the provider's answer.`,
  }),
  retry_scheduled: ({ nextAttemptAt }, _timeline, { now }) => ({
    text: `The next attempt was set for ${clock(nextAttemptAt, now)}.`,
  }),
  postponed: (event) => ({ text: withReason('Postponed', event) }),
  channel_held: (event) => ({ text: withReason('The channel was held, and the message with it', event) }),
  sent: () => ({ text: 'Sent, which means accepted by the provider.' }),
  failed: (event) => ({ text: withReason('Failed', event) }),
  uncertain: (event) => ({ text: withReason('Uncertain. The provider may or may not have it', event) }),
  delivered: (event, timeline, facts) => reported('Delivered: the contact got it', event, timeline, facts),
  read: (event, timeline, facts) => reported('Read by the contact', event, timeline, facts),
  complained: (event, timeline, facts) => reported('The contact complained about it', event, timeline, facts),
  unsubscribed: () => ({ text: 'Its contact unsubscribed, and is suppressed on the channel.' }),
  undelivered: (event, timeline, facts) =>
    reported(`Not delivered${because(event.reason ?? '')}`, event, timeline, facts),
  receipt: (event, timeline, facts) =>
    reported(
      `The provider reported: ${event.providerStatus}${because(event.reason ?? '')}`,
      event,
      timeline,
      facts,
    ),
  settled: (event) => ({
    text: withReason(
      event.as === 'sent'
        ? 'Settled by a person: the provider has it'
        : 'Settled by a person: the provider does not have it',
      event,
    ),
  }),
  canceled: () => ({ text: 'Canceled. The provider does not have it.' }),
  fell_back: (event, _timeline, { channels }) => ({
    text: withReason(
      `It goes on by ${nameOf(channels, event.toChannelId)}, the fallback of ${nameOf(channels, event.fromChannelId)}`,
      event,
    ),
  }),
  erased: () => ({ text: 'Its contact and content were erased.' }),
  replayed: ({ nextAttemptAt }, _timeline, { now }) => ({
    text: nextAttemptAt ? `Replayed, due at ${clock(nextAttemptAt, now)}.` : 'Replayed.',
  }),
}

/** The provider of the channel that had the send at an event. */
function providerAt(event: TimelineEvent, { events }: Timeline, { channels, channel }: SendFacts) {
  const left = events.slice(events.indexOf(event)).find((later) => later.event === 'fell_back')
  const had = left && channels.find(({ channelId }) => channelId === left.fromChannelId)
  return (had ?? channel).provider
}

/** A channel that has or had the send. */
export const nameOf = (channels: SendFacts['channels'], channelId: string) => {
  const channel = channels.find((one) => one.channelId === channelId)
  return channel ? `the channel ${channel.name} (${channel.provider})` : `the channel ${channelId}`
}

/** Describes an event in a sentence. An event of a later release, which is unknown here, is described by its name. */
export function describeEvent(event: TimelineEvent, timeline: Timeline, facts: SendFacts): EventText {
  if (!Object.hasOwn(renderers, event.event)) return { text: `${event.event}.` }
  const render = renderers[event.event] as Renderer<typeof event.event>
  return render(event, timeline, facts)
}

function reported(
  words: string,
  event: TimelineEvent & EventFields['receipt'],
  timeline: Timeline,
  facts: SendFacts,
): EventText {
  const { providerCode: code } = event
  // The send's own id is shown with its attempt.
  const messageId = event.providerMessageId === timeline.providerMessageId ? null : event.providerMessageId
  const at = Date.parse(event.providerAt ?? '')
  const byItsClock = Number.isNaN(at) ? '' : `, at ${clock(new Date(at), facts.now)} by its clock`
  const { meaning } = answerOf(
    { providerStatus: null, providerCode: code, providerMessageId: null },
    providerAt(event, timeline, facts),
    facts.meaningOf,
  )
  const isAnswered = code !== null || messageId !== null
  const text = words.startsWith('The provider')
    ? `${words}${byItsClock}.`
    : `${words}, as the provider reports${byItsClock}.`
  return {
    text: text + costIn(event),
    ...(isAnswered && { answer: { status: null, code, meaning: code === null ? null : meaning, messageId } }),
  }
}

function costIn({ cost }: { cost?: Cost | undefined }): string {
  if (!cost) return ''
  const { amount, currency, parts } = cost
  const price = amount === null ? [] : [`${amount} ${currency}`]
  const bills = parts === null ? [] : [parts === 1 ? '1 part' : `${parts} parts`]
  return ` Its cost: ${[...price, ...bills].join(', ')}.`
}

function outcomeIn({ outcome, reason: recorded, providerStatus }: AttemptRecord): string {
  const reason = because(recorded ?? '')
  const isAnswered = providerStatus !== null
  switch (outcome) {
    case 'sent':
      return 'The provider accepted it'
    case 'rejected':
      return isAnswered ? `The provider refused it for good${reason}` : `It could not be sent${reason}`
    case 'retry_later':
      return isAnswered ? `The provider could not take it now${reason}` : `It did not get through${reason}`
    case 'uncertain':
      return `It is unknown whether the provider accepted it${reason}`
    case 'channel_refused':
      return `The provider refused the channel, not the message${reason}`
    case 'not_called':
      return `The provider was not called, and no attempt counted${reason}`
    default:
      return `It ended as ${outcome satisfies never}`
  }
}
