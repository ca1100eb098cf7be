import type { Failure } from '../../src/core/outcome.ts'
import type { HttpAnswer } from './http.ts'

/** Of statuses that every provider means alike. */
const failures: Record<number, Failure> = {
  401: { outcome: 'channel_refused', fault: 'sender' },
  408: { outcome: 'retry_later', fault: 'provider' },
  // The provider is there, and limits the account, the number or the address that sends.
  429: { outcome: 'retry_later', fault: 'sender' },
}

export const isSuccess = (status: number) => status >= 200 && status < 300

/**
 * What a status that is no success comes to, whatever else was answered. One of no class counts as a 5xx (RFC 9110, 15).
 *
 * @param own what the provider means otherwise.
 */
export function failureOfStatus({ status }: HttpAnswer, own: Record<number, Failure> = {}): Failure {
  const known = own[status] ?? failures[status]
  if (known) return known
  return status >= 300 && status < 500
    ? { outcome: 'rejected', fault: 'message' }
    : { outcome: 'retry_later', fault: 'provider' }
}

/**
 * The same for providers whose codes say more than the status, where none could be read: what was cut off may have held
 * one that asks to try again.
 */
export function failureWithoutCode(answer: HttpAnswer, own: Record<number, Failure> = {}): Failure {
  const failure = failureOfStatus(answer, own)
  return failure.outcome === 'rejected' && !answer.isWhole
    ? { outcome: 'retry_later', fault: 'provider' }
    : failure
}
