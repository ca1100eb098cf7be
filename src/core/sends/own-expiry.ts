import type { SendRecord } from './timeline.ts'

/** Whether the time is over that the client gave the send: nothing calls its provider any more, not even a replay. */
export function isPastOwnExpiry(
  { acceptedAt, sendAt, expiresInSeconds }: Pick<SendRecord, 'acceptedAt' | 'sendAt' | 'expiresInSeconds'>,
  now = new Date(),
): boolean {
  if (expiresInSeconds === null) return false
  const from = Math.max(acceptedAt.getTime(), sendAt?.getTime() ?? 0)
  return from + expiresInSeconds * 1000 <= now.getTime()
}

/** Why such a send isn't replayed. @param send its name in the sentence. */
export const pastOwnExpiry = (send: string) =>
  `The time that the client gave ${send} (expiresInSeconds) is over. Send a new message instead`
