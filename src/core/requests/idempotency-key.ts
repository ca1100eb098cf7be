import { createHash } from 'node:crypto'
import type { SendRequest } from '../sends/send-request.ts'

export const maxKeyLength = 255

/** `parseIdempotencyKey` as a pattern, for clients that check before sending. */
export const idempotencyKeyPattern = String.raw`^(?:[^"].{0,${maxKeyLength - 1}}|"(?:[^"\\]|\\["\\]){1,${maxKeyLength}}")$`

/**
 * The key of an Idempotency-Key header, bare or as a quoted string; both forms are the same key. Undefined unless it has 1 to
 * 255 characters.
 */
export function parseIdempotencyKey(header: string): string | undefined {
  const key = header.startsWith('"') ? unquote(header) : header
  return key !== undefined && key.length >= 1 && key.length <= maxKeyLength ? key : undefined
}

/** RFC 9651: a backslash escapes each quote and each backslash. */
function unquote(text: string): string | undefined {
  const [, quoted] = /^"((?:[^"\\]|\\["\\])*)"$/.exec(text) ?? []
  return quoted?.replace(/\\(["\\])/g, '$1')
}

/** The stored form of a key, in hex. Hashed with the account, because keys belong to accounts and may contain personal data. */
export function hashIdempotencyKey(accountId: string, key: string): string {
  return createHash('sha256').update(`${accountId} ${key}`).digest('hex')
}

/**
 * A hash of a request's meaning, in hex: equal for two requests for the same send, whatever their JSON looks like. It is stored for
 * 24 hours, also across a release, so the first fields have to keep their order, and a new field has to be absent by default.
 */
export function fingerprint(request: SendRequest, channelId: string): string {
  const { channelId: _, mediaContent, contact, message, flowId, closeConversation, ...others } = request
  const media = mediaContent && createHash('sha256').update(mediaContent).digest('hex')
  const parsed = { channelId, contact, message, flowId, closeConversation, media, ...others }
  return createHash('sha256').update(JSON.stringify(parsed)).digest('hex')
}

/** The fingerprint of a batch, from those of its requests. It differs from that of a single request, even if it has only that one. */
export function batchFingerprint(fingerprints: readonly string[]): string {
  return createHash('sha256')
    .update(JSON.stringify({ batch: fingerprints }))
    .digest('hex')
}

/** The fingerprint of a request that creates something else. It differs from that of a send. */
export function creationFingerprint(what: string, fields: object): string {
  return createHash('sha256')
    .update(JSON.stringify({ [what]: fields }))
    .digest('hex')
}
