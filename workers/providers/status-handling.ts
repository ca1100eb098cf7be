import type { Handling } from '../../src/core/outcome.ts'
import type { HttpAnswer } from './http.ts'

/** Of statuses that every provider means alike. */
const handlings: Record<number, Handling> = {
  401: 'channel_refused',
  408: 'retry_later',
  429: 'retry_later',
}

export const isSuccess = (status: number) => status >= 200 && status < 300

/**
 * What a status that is no success comes to, whatever else was answered. One of no class counts as a 5xx (RFC 9110, 15).
 *
 * @param own what the provider means otherwise.
 */
export function handlingOfStatus({ status }: HttpAnswer, own: Record<number, Handling> = {}): Handling {
  return own[status] ?? handlings[status] ?? (status >= 300 && status < 500 ? 'rejected' : 'retry_later')
}

/**
 * The same for providers whose codes say more than the status, where none could be read: what was cut off may have held
 * one that asks to try again.
 */
export function handlingWithoutCode(answer: HttpAnswer, own: Record<number, Handling> = {}): Handling {
  const handling = handlingOfStatus(answer, own)
  return handling === 'rejected' && !answer.isWhole ? 'retry_later' : handling
}
