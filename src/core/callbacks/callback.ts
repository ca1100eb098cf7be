import { randomBytes } from 'node:crypto'
import type { CeilingReport } from '../accounts/ceiling.ts'
import { sealConfig } from '../channels/sealed-config.ts'
import type { MessageType } from '../messages/message.ts'
import type { SmsSize } from '../messages/segments.ts'
import type { DeliveryState } from '../receipts/receipt.ts'
import type { Priority } from '../sends/priority.ts'
import type { Metadata } from '../sends/send-request.ts'
import type { SendStatus } from '../sends/timeline.ts'

/**
 * The changes of a send that its account's endpoints get callbacks about (docs/reference/callbacks.md), each with the state of the send by
 * then. `delivery` is set only by receipts, and a send with a delivery is `sent` for good.
 */
const sendChanges = {
  'message.sent': { status: 'sent', delivery: null },
  'message.failed': { status: 'failed', delivery: null },
  'message.uncertain': { status: 'uncertain', delivery: null },
  'message.canceled': { status: 'canceled', delivery: null },
  'message.replayed': { status: 'queued', delivery: null },
  'message.fell_back': { status: 'queued', delivery: null },
  'message.delivered': { status: 'sent', delivery: 'delivered' },
  'message.read': { status: 'sent', delivery: 'read' },
  'message.undelivered': { status: 'sent', delivery: 'undelivered' },
  // Change neither, so that their callbacks have both as they are then.
  'message.complained': undefined,
  'message.unsubscribed': undefined,
} as const satisfies Record<string, StateThen | undefined>

interface StateThen {
  status: SendStatus
  delivery: DeliveryState | null
}

export type SendChange = keyof typeof sendChanges
export const sendChangeTypes = Object.keys(sendChanges) as SendChange[]
/** Whether status and delivery of a send stay with this change. */
export const staysAsItIs = (type: SendChange): boolean => sendChanges[type] === undefined

/** About no send: a share of a ceiling was used. Only sent to endpoints that name it. */
export const ceilingType = 'account.ceiling'
/** The types that an endpoint may name. One that names none gets all changes of sends. */
export const eventTypes = [...sendChangeTypes, ceilingType] as const
export type EventType = (typeof eventTypes)[number]

/** Only sent on an operator's request, whatever types the endpoint takes. */
export const testType = 'endpoint.test'
export type CallbackType = EventType | typeof testType

export const callbackStates = ['waiting', 'delivered', 'given_up'] as const
export type CallbackState = (typeof callbackStates)[number]

export const maxEndpointsOfAccount = 10

/** A callback, with what its send's row has for its body. */
export interface CallbackContent {
  type: CallbackType
  /** When the change was recorded, in UTC. */
  at: string
  endpointId: string
  requestId: string
  sequence: number
  /** The fields of the send; null for one about no send. */
  channelId: string | null
  messageType: MessageType | null
  reference: string | null
  metadata: Metadata | null
  segments: number | null
  encoding: SmsSize['encoding'] | null
  priority: Priority | null
  flowId: string | null
  conversationId: string | null
  attempts: number
  providerAt: string | null
  providerCode: string | null
  /** The send's state by then, where the type doesn't imply them. */
  status: SendStatus | null
  delivery: DeliveryState | null
  /** The data of one about no send; else null. */
  data: CeilingReport | null
}

/** The id by which a receiver recognises a repeat. Standard Webhooks allows no dot in it. */
export const webhookIdOf = ({ requestId, sequence }: Pick<CallbackContent, 'requestId' | 'sequence'>) =>
  `${requestId}-${sequence}`

/** The body of a callback: no contact, no content, and no text of the provider except its code. */
export function callbackBody(callback: CallbackContent): string {
  const { type, at: timestamp } = callback
  return JSON.stringify({ type, timestamp, data: dataOf(callback) })
}

function dataOf(callback: CallbackContent) {
  if (callback.type === testType) return { endpointId: callback.endpointId }
  if (callback.type === ceilingType) return callback.data
  const { requestId, reference, metadata, sequence, channelId, messageType, flowId, conversationId } =
    callback
  const { segments, encoding, priority } = callback
  const { attempts, providerAt, providerCode, status, delivery } = callback
  const stateThen = sendChanges[callback.type] ?? { status, delivery }
  return {
    requestId,
    reference,
    metadata,
    segments,
    encoding,
    priority,
    sequence,
    ...stateThen,
    channelId,
    messageType,
    flowId,
    conversationId,
    attempts,
    providerAt,
    providerCode,
  }
}

const secretBytes = 32

/** A secret of Standard Webhooks. */
export const mintWebhookSecret = () => `whsec_${randomBytes(secretBytes).toString('base64')}`

/** A new secret of an endpoint: to be shown once, and as it is stored. */
export function mintSealedSecret(endpointId: string, key: Buffer): { secret: string; sealedSecret: string } {
  const secret = mintWebhookSecret()
  return { secret, sealedSecret: sealConfig({ secret }, endpointId, key) }
}
