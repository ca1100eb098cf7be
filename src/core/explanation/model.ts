import type { ProviderAnswer } from '../sends/outcome.ts'
import type { SendStatus, Timeline } from '../sends/timeline.ts'

/** The facts that an explanation needs in addition to the timeline; read by `findExplanation` in db/sends/explanation.ts. */
export interface SendFacts {
  /** PostgreSQL's time, like the times of the timeline. */
  now: Date
  /** The channel that has it now. */
  channel: ChannelFacts
  /** The channels that have had it, beginning with that of the request, and the one that has it now. */
  channels: readonly Pick<ChannelFacts, 'channelId' | 'name' | 'provider'>[]
  /** When the next attempt is due. */
  nextAttemptAt: Date
  /** Whether it waits for the time that it is scheduled for, which is when the next attempt is due. */
  isScheduled: boolean
  /** If it is still queued at this time, it fails. */
  expiresAt: Date | null
  /** The reason why it waits while it is queued; null if it waits only for a worker. */
  wait: Wait | null
  /** The unfinished sends before it in its lane, counted up to `maxCountedAhead`; null if there are none. */
  ahead: { count: number; first: { requestId: string; status: SendStatus } } | null
  /** The more urgent sends of its channel that are due, counted up to `maxCountedMoreUrgent`. */
  moreUrgent: number
  /** The send before it in its lane when it was accepted, and when that one ended; null if there was none. */
  waitedFor: { requestId: string; finishedAt: Date | null } | null
  /** The meaning of a provider's answer: a clause for support staff; undefined if it isn't known. */
  meaningOf(provider: string, answer: ProviderAnswer): string | undefined
}

/** A reason to wait of a queued send (db/reasons-to-wait.ts). */
export interface Wait {
  name: string
  /** Null if no time ends it. */
  until: Date | null
  texts: WaitTexts
}

export type WaitTexts = ConditionTexts<Pick<Wait, 'until'>>

/** Limit of counting the sends ahead. */
export const maxCountedAhead = 100

/** Limit of counting the more urgent sends. */
export const maxCountedMoreUrgent = 10_000

export interface ChannelFacts {
  channelId: string
  provider: string
  name: string
  heldAt: Date | null
  heldReason: string | null
  /** The circuit breaker is open until this time; null if it is closed. */
  breakerOpenUntil: Date | null
  rate: { calls: number; seconds: number } | null
  maxInFlight: number | null
  /** Whether its provider should report each message, or has reported some. */
  hasReceipts: boolean
  /** Null unless it was deleted. */
  deletedAt: Date | null
}

/** The tone of the support page: `good` is sent, `bad` failed, `unsure` uncertain, `waiting` not ended, `over` canceled. */
export type Tone = 'good' | 'bad' | 'unsure' | 'waiting' | 'over'

/** A send's state and timeline in sentences, for support staff. */
export interface Explanation {
  requestId: string
  tone: Tone
  /** The state of the send, in one to three short sentences. */
  summary: string
  /** Oldest first. */
  entries: ExplanationEntry[]
  /** The next step of the service, and when, if that is known; absent if it does nothing more. */
  next?: { at: string | null; text: string }
  /** The action for support or an operator; absent if there is none. */
  advice?: Advice
  /** A line to copy: without internals, the contact masked. */
  forCustomer: string
}

export interface Advice {
  /** One or two sentences. */
  text: string
  /** The CLI command for it. */
  command?: `replay ${string}` | `channel resume ${string}`
}

export interface ExplanationEntry {
  at: string
  /** Its name in the timeline. */
  event: string
  /** The time since the previous entry, with its cause: "waited 42 s in the queue"; absent if it is short. */
  wait?: { ms: number; text: string }
  text: string
  /** The provider's answer; absent if it has nothing to show. */
  answer?: ExplanationAnswer
}

export interface ExplanationAnswer {
  status: number | null
  code: string | null
  /** The meaning of its code, or else of its status; null if unknown; usually null for accepted messages. */
  meaning: string | null
  messageId: string | null
}

/** The facts that sentences about a condition may refer to. */
export interface Details extends SendFacts {
  timeline: Timeline
  /** `3 attempts were made, the last at 14:02:11 UTC.` */
  attempts: string
  /** The time of its end, or else now, as shown to a customer. */
  moment: string
}

export type Renderer<C, Text> = (condition: C, details: Details) => Text

export interface ConditionTexts<C> {
  /** For support, in short sentences. */
  summary: Renderer<C, string>
  /** For the customer, without internals: continues after "Your text message …,". */
  customer: Renderer<C, string>
  /** The next step of the service. A string alone means that the time isn't known. */
  next?: string | Renderer<C, NonNullable<Explanation['next']>>
  /** The action for support or an operator. */
  advice?: string | Renderer<C, Advice>
}
