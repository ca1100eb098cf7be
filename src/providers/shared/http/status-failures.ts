import type { Failure } from '../../../core/sends/outcome.ts'
import type { HttpAnswer } from './http-call.ts'

/** Statuses with the same meaning at every provider. */
const failures: Record<number, Failure> = {
  401: { outcome: 'channel_refused', fault: 'sender' },
  408: { outcome: 'retry_later', fault: 'provider' },
  // The provider is up, and limits the sending account, number or address.
  429: { outcome: 'retry_later', fault: 'sender' },
}

export const isSuccess = (status: number) => status >= 200 && status < 300

/**
 * The failure of a status outside 2xx. A status of no known class counts as a 5xx (RFC 9110, 15).
 *
 * @param own the provider's exceptions.
 */
export function failureOfStatus(
  { status }: Pick<HttpAnswer, 'status'>,
  own: Record<number, Failure> = {},
): Failure {
  const known = own[status] ?? failures[status]
  if (known) return known
  return status >= 300 && status < 500
    ? { outcome: 'rejected', fault: 'message' }
    : { outcome: 'retry_later', fault: 'provider' }
}

/**
 * The failure of an answer without a readable code, of a provider whose codes are more specific than the status. If the body
 * was cut off, its code may have asked for a retry, so the answer doesn't reject.
 */
export function failureWithoutCode(answer: HttpAnswer, own: Record<number, Failure> = {}): Failure {
  const failure = failureOfStatus(answer, own)
  return failure.outcome === 'rejected' && !answer.isWhole
    ? { outcome: 'retry_later', fault: 'provider' }
    : failure
}
