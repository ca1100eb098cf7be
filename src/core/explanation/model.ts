import type { ProviderName } from '../providers/index.ts'
import type { SendStatus } from '../timeline.ts'

/** What a story needs besides the timeline; `findExplanation` in db/support/explanation.ts looks it up. */
export interface SendFacts {
  /** By the clock that wrote the timeline. */
  now: Date
  channel: ChannelFacts
  /** When the next attempt is due. */
  nextAttemptAt: Date
  /** While it is still queued then, it fails. */
  expiresAt: Date | null
  /** The unfinished sends that stand before it in its lane, at most `mostCountedAhead`; null where none does. */
  ahead: { count: number; first: { requestId: string; status: SendStatus } } | null
  /** What stood before it in its lane when it was accepted, and when that ended; null where nothing did. */
  waitedFor: { requestId: string; finishedAt: Date | null } | null
}

/** Who has so many before it isn't told how many more. */
export const mostCountedAhead = 100

export interface ChannelFacts {
  channelId: string
  provider: ProviderName
  name: string
  heldAt: Date | null
  heldReason: string | null
  /** The circuit breaker is open until then; null: it is closed. */
  breakerOpenUntil: Date | null
  rate: { calls: number; seconds: number } | null
  maxInFlight: number | null
  /** Null while it is there. */
  deletedAt: Date | null
}

/** How it stands: `good` is sent, `bad` failed, `unsure` uncertain, `waiting` still on its way. */
export type Tone = 'good' | 'bad' | 'unsure' | 'waiting'

/** What became of a send, in plain words for those who are asked about it. */
export interface Explanation {
  requestId: string
  tone: Tone
  /** One sentence. */
  summary: string
  /** Oldest first. */
  entries: ExplanationEntry[]
  /** What comes next, and when, where that is known; absent where nothing comes. */
  next?: { at: string | null; text: string }
  /** What can be done, where something can. */
  advice?: Advice
  /** A line to copy: without internals, the contact masked. */
  forCustomer: string
}

export interface Advice {
  /** A sentence or two. */
  text: string
  /** What the operator can run for it. */
  command?: `replay ${string}` | `channel resume ${string}`
}

export interface ExplanationEntry {
  at: string
  /** Its name in the timeline. */
  event: string
  /** The time since the entry before, named: "waited 42 s in the queue"; absent where it is too short to matter. */
  gap?: { ms: number; text: string }
  text: string
  /** What the provider answered; absent where it has left nothing to show. */
  answer?: ExplanationAnswer
}

export interface ExplanationAnswer {
  status: number | null
  code: string | null
  /** What its code, or else its status, means; null where nobody knows, and mostly where it took the message. */
  meaning: string | null
  messageId: string | null
}
