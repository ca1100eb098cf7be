import type { Context } from 'hono'
import type { Channel } from '../../../db/accounts/channels.ts'
import { findIdempotencyKeys, type KeptKey } from '../../../db/admission/idempotency-keys.ts'
import { fingerprint, hashIdempotencyKey, parseIdempotencyKey } from '../../core/idempotency-key.ts'
import type { SendRequest } from '../../core/send-request.ts'
import { logEvent } from '../../platform/logger.ts'
import { MicroBatch } from '../../platform/micro-batch.ts'
import type { Runtime } from '../../runtime.ts'
import { answerJson } from '../answer.ts'
import type { ApiEnv } from '../context.ts'
import { ApiError } from '../errors.ts'

const header = 'Idempotency-Key'
const field = header.toLowerCase()
const maxKeysPerLookup = 200

/** The stored form of an Idempotency-Key and its request. */
export interface Idempotency {
  hash: string
  fingerprint: string
}

/** The Idempotency-Key of the request (docs/reference/api.md#idempotency); undefined if it has none. */
export function idempotencyOf(
  c: Context<ApiEnv>,
  request: SendRequest,
  { channelId }: Channel,
): Idempotency | undefined {
  const { incoming } = c.env
  // Only for requests with a key: `headersDistinct` is built on first use.
  if (incoming.headers[field] === undefined) return undefined
  const values = incoming.headersDistinct[field] ?? []
  if (values.length > 1) throw new ApiError(400, `${header}: send it once`)
  const key = parseIdempotencyKey(values[0] ?? '')
  if (key === undefined)
    throw new ApiError(400, `${header}: has to be 1 to 255 characters, bare or in double quotes`)
  const { accountId } = c.get('caller')
  return { hash: hashIdempotencyKey(accountId, key), fingerprint: fingerprint(request, channelId) }
}

export const keyUsedBefore = () =>
  new ApiError(422, `${header}: was used for another request; use a new key for each send`)

/** A send that was accepted with the same key before. */
export interface EarlierSend {
  requestId: string
  /** Whether its request was the same. */
  isSameRequest: boolean
}

/** Finds the send that was accepted with the same key before, if there is one. */
export function earlierSends({ db }: Runtime) {
  const lookups = new MicroBatch<string, KeptKey | undefined>({
    maxItems: maxKeysPerLookup,
    isItemsFault: () => false,
    flush: async (hashes) => {
      const kept = new Map((await findIdempotencyKeys(db, hashes)).map((key) => [key.hash, key]))
      return hashes.map((hash) => kept.get(hash))
    },
  })
  return async (
    c: Context<ApiEnv>,
    idempotency: Idempotency | undefined,
  ): Promise<EarlierSend | undefined> => {
    if (!idempotency) return undefined
    const kept = await c.var.deadline.spend(lookups.add(idempotency.hash))
    if (!kept) return undefined
    return { requestId: kept.requestId, isSameRequest: kept.fingerprint === idempotency.fingerprint }
  }
}

/** Gives a repeat the answer of the first request with its key. */
export function replayAnswer({ log, metrics }: Runtime) {
  return (c: Context<ApiEnv>, requestId: string): Response => {
    const { caller, requestId: repeatId } = c.var
    logEvent(log, requestId, 'idempotent_replay', { accountId: caller.accountId, repeatId })
    metrics.idempotentReplays.inc()
    return answerJson(c, { requestId }, 202, { 'X-Request-Id': requestId, 'Idempotent-Replayed': 'true' })
  }
}
