/** How a send was posted, as far as that is known. */
export interface PostedBy {
  /** Null if an operator tried the channel, or a process of an earlier release accepted it, or moved it when it was due. */
  apiKeyId: string | null
  /** How the key is shown; null if it is no longer there. */
  apiKeyPrefix: string | null
  /** The beginning of the hash of its Idempotency-Key; null if it has none. */
  idempotencyHash: string | null
  /** Whether the Idempotency-Key is that of a batch. */
  isBatch: boolean
  /** Whether its Idempotency-Key, if it had one, would still be there. */
  isIdempotencyKept: boolean
}

/** By which API key a send came, in words. */
export function apiKeyWords({ apiKeyId, apiKeyPrefix }: PostedBy): string {
  if (apiKeyId === null)
    return 'not recorded: an operator tried the channel, or a process of an earlier release accepted the send, or moved it when it was due'
  return apiKeyPrefix === null ? `${apiKeyId}, which is no longer there` : `${apiKeyPrefix}…`
}

/** The Idempotency-Key that a send came with, in words. */
export function idempotencyKeyWords({ idempotencyHash, isBatch, isIdempotencyKept }: PostedBy): string {
  if (idempotencyHash !== null)
    return `${isBatch ? 'of its batch' : 'yes'}, with the hash ${idempotencyHash}…`
  return isIdempotencyKept ? 'none' : 'no longer known: kept for 24 hours'
}
