import type { ProviderName } from '../providers/index.ts'
import type { SendStatus } from '../sends/timeline.ts'

/** The facts that an explanation needs in addition to the timeline; read by `findExplanation` in db/sends/explanation.ts. */
export interface SendFacts {
  /** PostgreSQL's time, like the times of the timeline. */
  now: Date
  /** The channel that has it now. */
  channel: ChannelFacts
  /** Those that have had it, the first one that of the request, and the one that has it now. */
  channels: readonly Pick<ChannelFacts, 'channelId' | 'name' | 'provider'>[]
  /** When the next attempt is due. */
  nextAttemptAt: Date
  /** Whether it waits for the time that it is scheduled for, which is when the next attempt is due. */
  isScheduled: boolean
  /** If it is still queued at this time, it fails. */
  expiresAt: Date | null
  /** Whether it is in the overflow of a channel in slow start, where few sends are called at a time. */
  isInSlowStart: boolean
  /** The unfinished sends before it in its lane, counted up to `maxCountedAhead`; null if there are none. */
  ahead: { count: number; first: { requestId: string; status: SendStatus } } | null
  /** The send before it in its lane when it was accepted, and when that one ended; null if there was none. */
  waitedFor: { requestId: string; finishedAt: Date | null } | null
}

/** Limit of counting the sends ahead. */
export const maxCountedAhead = 100

export interface ChannelFacts {
  channelId: string
  provider: ProviderName
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
  /** What the service does next, and when, if that is known; absent if it does nothing more. */
  next?: { at: string | null; text: string }
  /** What support or an operator can do; absent if nothing. */
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
