import type { Failure } from '../../core/sends/outcome.ts'
import type { AnswerParts, HttpAnswer } from '../shared/http/http-call.ts'
import { jsonFieldsOf, textIn } from '../shared/http/json-fields.ts'
import { isSuccess } from '../shared/http/status-failures.ts'

const retryLater = { outcome: 'retry_later', fault: 'provider' } as const

export const statuses: Record<number, Failure> = {
  // A faulty deploy of the receiver must not lose messages.
  404: retryLater,
  // A refused signature or a firewall is not the message's fault, and the receiver can fix its secret or clock. Standard
  // Webhooks say to retry every failure, and to stop only at a 410.
  401: retryLater,
  403: retryLater,
  410: { outcome: 'channel_refused', fault: 'sender' },
  425: retryLater,
}

export const readAnswer = ({ status, body }: HttpAnswer): AnswerParts =>
  isSuccess(status) ? { messageId: messageIdOf(body) } : { reason: reasonOf(status) }

function reasonOf(status: number): string {
  if (status >= 300 && status < 400) {
    return `the receiver redirects (${status}), which is not followed: set the channel's url to the new address`
  }
  if (status === 401)
    return "the receiver answered 401: check that channel and receiver have the same secret, and the receiver's clock"
  if (status === 410) return 'the receiver accepts no more messages from this channel (410)'
  return `the receiver answered ${status}`
}

/** The message id is optional: a 2xx means accepted, whatever its body. */
function messageIdOf(body: string): string | undefined {
  const { id, messageId } = jsonFieldsOf(body)
  return textIn(id) ?? textIn(messageId)
}
