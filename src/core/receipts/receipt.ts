import { type ContactType, contactKinds, contactTypes } from '../contacts/contact.ts'
import { tidyText } from '../sends/outcome.ts'
import type { EventFields } from '../sends/timeline-events.ts'
import type { SuppressingSign } from '../suppression/suppression.ts'

/** The state of a sent message by its receipts. */
export const deliveryStates = ['delivered', 'read', 'undelivered'] as const
export type DeliveryState = (typeof deliveryStates)[number]

/** The news of a receipt about a message: the provider has it, the contact got it, read it, or won't get it. */
export const receiptKinds = ['accepted', ...deliveryStates] as const
/** The others leave the state as it is: the contact `complained`, or a text of the provider is only `noted`. */
export type ReceiptKind = (typeof receiptKinds)[number] | 'complained' | 'noted'

/** The delivery states of a kind of contact, the lowest first: a state changes only to a higher one. */
const orderOf = (type: ContactType): DeliveryState[] =>
  contactKinds[type].mayFailOnceDelivered
    ? ['delivered', 'read', 'undelivered']
    : ['undelivered', 'delivered', 'read']

export const deliveryOrder = Object.fromEntries(contactTypes.map((type) => [type, orderOf(type)])) as Record<
  ContactType,
  DeliveryState[]
>

/** The fields of the event that a receipt makes. */
export type ReceiptFields = EventFields['receipt']

/** One receipt, as a provider's rules read it. */
export interface Receipt extends ReceiptFields {
  /** As the provider repeats it: not necessarily the id of a send. */
  requestId: string
  /** Further ids that it may be about, in their order. The first one of a send of the channel counts. */
  otherRequestIds?: readonly string[]
  kind: ReceiptKind
  /** The sign that suppresses its contact, or null for none, where the code alone doesn't decide it (ProviderRules.suppressingCodes). */
  suppresses?: SuppressingSign | null
  /** The address or number that the message left from, if one request may bring receipts of several channels. */
  sender?: string
}

/** The receipts of one request. */
export interface ReadReceipts {
  receipts: Receipt[]
  /** How many other things it reports, such as inbound messages and states that mean nothing here. */
  unexpected: number
  /** How many of its receipts are malformed. */
  unreadable: number
}

/** A request by which a provider sends receipts, with its body as received. */
export interface ReceiptRequest {
  /** By their names in lower case. */
  headers: Readonly<Record<string, string | string[] | undefined>>
  /** Path and query, as received. */
  target: string
  body: Buffer
  publicBaseUrl: string | undefined
  /** PostgreSQL's time. */
  nowMs: number
}

/** How a provider's receipts are proven and read, without I/O. */
export interface ReceiptRules<Config = unknown> {
  /** The provider's words for the result of a message. */
  words: Readonly<Record<string, ReceiptKind>>
  /** Whether a channel with this config takes receipts. */
  areOn(config: Config): boolean
  /** Whether the provider sends at least one receipt for each message, so that their absence is a fault. */
  areForEach: boolean
  /** Whether the provider is given the address for receipts with each message, which needs `PUBLIC_BASE_URL`. */
  needPublicUrl: boolean
  /** Its receipts have no id of ours: their sends are found by the provider's id of the message, which its answer has to tell. */
  foundById?: true
  /** Whether its requests with receipts are GETs. */
  byGet?: true
  /** Whether the request was made by someone who knows the channel's secret. Takes the same time for each wrong proof. */
  isProven(request: ReceiptRequest, config: Config): boolean
  /** @returns the receipts; or what is wrong with the request as a whole, for a 400. */
  read(
    request: ReceiptRequest,
    config: Config,
  ): ReadReceipts | { issue: string } | Promise<ReadReceipts | { issue: string }>
  /** The answer to a provider's check of the address; undefined to refuse it. Without it, the address takes no GET. */
  answerCheck?(query: URLSearchParams, config: Config): string | undefined
  /** How to ask the provider for a message's state, where a receipt may have been lost. */
  fetching?: {
    requestFor(providerMessageId: string, config: Config): { url: string; headers: Record<string, string> }
    /** @returns the receipt in the body of a 200; undefined if it is none. */
    read(requestId: string, body: string): Receipt | undefined
  }
  /** Whether a receipt of this sender, that came to the channel, is about sends of the other channel. */
  areShared?(sender: string, config: Config, other: Config): boolean
}

/** Whether a channel's provider should send a receipt for each message. */
export const expectsReceipts = (rules: ReceiptRules | undefined, config: unknown): boolean =>
  rules?.areForEach === true && rules.areOn(config)

const longestMessageId = 512

/** Makes the provider's texts storable: short, on one line, without NUL. */
export function tidyReceipt(receipt: Receipt): Receipt {
  const { providerStatus, providerAt, providerCode, providerMessageId, reason } = receipt
  const tidied = (text: string | null) => text && tidyText(text)
  return {
    ...receipt,
    providerStatus: tidyText(providerStatus),
    providerAt: tidied(providerAt),
    providerCode: tidied(providerCode),
    providerMessageId: (providerMessageId ?? '').length > longestMessageId ? null : tidied(providerMessageId),
    reason: tidied(reason ?? null),
  }
}
