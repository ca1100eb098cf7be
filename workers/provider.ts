import type { Contact } from '../src/core/contact.ts'
import type { Message } from '../src/core/message.ts'
import type { Outcome } from '../src/core/outcome.ts'

/** One attempt at a send, as a provider gets it. */
export interface Delivery<Config> {
  requestId: string
  channelId: string
  contact: Contact
  message: Message
  /** The bytes of base64 media; undefined where the message has none, or has a link. */
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
  /** @param signal aborted when the time for the call is over: the outcome is uncertain if anything may have been sent. */
  send(delivery: Delivery<Config>, signal: AbortSignal): Promise<Outcome>
  /** Closes the connections that it keeps. */
  close?(): Promise<void>
}
