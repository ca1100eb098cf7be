import type { Contact } from '../../src/core/contact.ts'
import type { Message } from '../../src/core/message.ts'
import type { Outcome } from '../../src/core/outcome.ts'
import type { Moved } from '../sends/time-limit.ts'
import type { MediaFetcher } from './fetch-media.ts'

/** One attempt at a send, as a provider gets it. */
export interface Delivery<Config> {
  requestId: string
  channelId: string
  contact: Contact
  message: Message
  /** The bytes of media that came as base64, or were fetched for a provider that takes no links; else undefined. */
  mediaContent: Buffer | undefined
  flowId: string | null
  conversationId: string
  /** Counted from 1. */
  attempt: number
  /** Of the trace in which the send was accepted. */
  traceparent?: string | null
  config: Config
}

/**
 * How a provider sends. It makes one call and says what happened to it, by an outcome and never by throwing; it
 * doesn't retry and decides nothing. What it throws all the same counts as uncertain.
 */
export interface Provider<Config = unknown> {
  /**
   * @param signal aborted when the time for the call is over: the outcome is uncertain if anything may have been sent.
   * @param moved to be told of the bytes of large content as they go out.
   */
  send(delivery: Delivery<Config>, signal: AbortSignal, moved?: Moved): Promise<Outcome>
  /** By which the media of links is fetched before the call: of a provider that takes no links. */
  media?: MediaFetcher
  /** Closes the connections that it keeps. */
  close?(): Promise<void>
}
