import type { Contact } from '../../src/core/contacts/contact.ts'
import type { Message } from '../../src/core/messages/message.ts'
import type { AttemptOutcome } from '../../src/core/sends/outcome.ts'
import type { MediaFetcher } from '../http/media-fetcher.ts'
import type { Moved } from '../http/time-limit.ts'

/** A provider's input: one attempt at a send. */
export interface Delivery<Config> {
  requestId: string
  channelId: string
  contact: Contact
  message: Message
  /** Bytes of media that the client sent as base64, or that were fetched for a provider that takes no links; else undefined. */
  mediaContent: Buffer | undefined
  flowId: string | null
  /** The client's own id of the send. */
  reference: string | null
  conversationId: string
  /** Counted from 1. */
  attempt: number
  /** When the attempt was claimed: time until the send expires; null if it doesn't. */
  expiresInMs: number | null
  /** The trace in which the send was accepted. */
  traceparent?: string | null
  /** Whether its channel has a fallback. */
  hasFallback?: boolean
  config: Config
}

/**
 * Sends by one provider. It makes one call and returns what happened as an outcome; it never retries, and the pipeline decides
 * what follows. It should never throw: an error counts as uncertain. `not_called`: this machine couldn't begin the call.
 */
export interface Provider<Config = unknown> {
  /**
   * @param signal aborted when the call's time limit is reached; then the outcome is uncertain if anything may have been sent.
   * @param moved to be called with the number of bytes of large content, as they are written.
   */
  send(delivery: Delivery<Config>, signal: AbortSignal, moved?: Moved): Promise<AttemptOutcome>
  /** Fetches media before the call, for a provider that takes no links. */
  media?: MediaFetcher
  /** Closes its open connections. */
  close?(): Promise<void>
}
