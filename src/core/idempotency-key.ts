import { createHash } from 'node:crypto'
import type { SendRequest } from './send-request.ts'

const longest = 255

/**
 * The key that an Idempotency-Key header holds, bare or as a quoted string; the same either way. Undefined where it
 * holds none of 1 to 255 characters.
 */
export function parseIdempotencyKey(header: string): string | undefined {
  const key = header.startsWith('"') ? unquote(header) : header
  return key !== undefined && key.length >= 1 && key.length <= longest ? key : undefined
}

/** As in RFC 9651: a backslash stands before each quote and each backslash. */
function unquote(text: string): string | undefined {
  const [, quoted] = /^"((?:[^"\\]|\\["\\])*)"$/.exec(text) ?? []
  return quoted?.replace(/\\(["\\])/g, '$1')
}

/** What a key is kept by, in hex: it is an account's own, and may be a word that says something about a contact. */
export function hashIdempotencyKey(accountId: string, key: string): string {
  return createHash('sha256').update(`${accountId} ${key}`).digest('hex')
}

/**
 * Of all that was asked for, in hex: the same for two requests that ask for the same, however they were written. It lives
 * for 24 hours, across a release: its first fields keep their order, and a later one is absent where it isn't given.
 */
export function fingerprint(request: SendRequest, channelId: string): string {
  const { channelId: _, mediaContent, contact, message, flowId, closeConversation, ...others } = request
  const media = mediaContent && createHash('sha256').update(mediaContent).digest('hex')
  const parsed = { channelId, contact, message, flowId, closeConversation, media, ...others }
  return createHash('sha256').update(JSON.stringify(parsed)).digest('hex')
}
