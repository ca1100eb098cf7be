import type { Contact } from '../core/contacts/contact.ts'
import type { Message } from '../core/messages/message.ts'

/** A provider's input: one attempt at a send. */
export interface Delivery<Config> {
  requestId: string
  channelId: string
  contact: Contact
  message: Message
  /** Bytes of media that the client sent as base64, or that were fetched for a provider that takes no links; else undefined. */
  mediaContent: Buffer | undefined
  /** Bytes of the attachments of a mail, in their order; undefined for a link that the provider fetches itself. */
  attachmentContents?: readonly (Buffer | undefined)[]
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
