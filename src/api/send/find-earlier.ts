import type { IncomingMessage } from 'node:http'
import type { Channel } from '../../../db/accounts/channels.ts'
import { findIdempotencyKeys, type KeptKey } from '../../../db/admission/idempotency-keys.ts'
import {
  fingerprint,
  hashIdempotencyKey,
  maxKeyLength,
  parseIdempotencyKey,
} from '../../core/requests/idempotency-key.ts'
import { MicroBatch } from '../../platform/micro-batch.ts'
import type { Needs } from '../../runtime.ts'
import type { RequestState } from '../context.ts'
import { ApiError } from '../errors.ts'

const header = 'Idempotency-Key'
const field = header.toLowerCase()
const maxKeysPerLookup = 200

/** The stored form of an Idempotency-Key and its request. */
export interface Idempotency {
  hash: string
  fingerprint: string
}

/** Only for requests with a key, `headersDistinct` is built, on first use. */
export const hasIdempotencyKey = ({ headers }: Pick<IncomingMessage, 'headers'>) =>
  headers[field] !== undefined

/** The Idempotency-Key of the request (docs/reference/api.md#idempotency); undefined if it has none. */
export function idempotencyOf(
  incoming: Pick<IncomingMessage, 'headers' | 'headersDistinct'>,
  { caller, request }: Pick<RequestState, 'caller' | 'request'>,
  { channelId }: Channel,
): Idempotency | undefined {
  const key = keyOf(incoming)
  if (key === undefined) return undefined
  return { hash: hashIdempotencyKey(caller.accountId, key), fingerprint: fingerprint(request, channelId) }
}

/** @throws ApiError 400 if there are several, or it has the wrong form. */
export function keyOf(incoming: Pick<IncomingMessage, 'headers' | 'headersDistinct'>): string | undefined {
  if (!hasIdempotencyKey(incoming)) return undefined
  const values = incoming.headersDistinct[field] ?? []
  if (values.length > 1) throw new ApiError('invalid_idempotency_key', `${header}: send it once`)
  const key = parseIdempotencyKey(values[0] ?? '')
  if (key === undefined) throw wrongKey()
  return key
}

export const wrongKey = () =>
  new ApiError(
    'invalid_idempotency_key',
    `${header}: has to be 1 to ${maxKeyLength} characters, bare or in double quotes`,
  )

/** @param requestId of the first request with the key. */
export const keyUsedBefore = (requestId: string) =>
  new ApiError(
    'idempotency_key_reused',
    `${header}: was used for another request, ${requestId}; use a new key for each send`,
  )

/** A send that was accepted with the same key before. */
export interface EarlierSend {
  requestId: string
  /** The sends of a batch; null for a single send. */
  batch: string[] | null
  /** Whether its request was the same. */
  isSameRequest: boolean
}

/** Finds the send that was accepted with the same key before, if there is one. */
export type EarlierSendFinder = (
  state: Pick<RequestState, 'deadline'>,
  idempotency: Idempotency | undefined,
) => Promise<EarlierSend | undefined>

export function createFindEarlier({ db }: Needs<'db'>): EarlierSendFinder {
  const lookups = new MicroBatch<string, KeptKey | undefined>({
    maxItems: maxKeysPerLookup,
    flush: async (hashes) => {
      const kept = new Map((await findIdempotencyKeys(db, hashes)).map((key) => [key.hash, key]))
      return hashes.map((hash) => kept.get(hash))
    },
  })
  return async ({ deadline }, idempotency) => {
    if (!idempotency) return undefined
    const kept = await deadline.spend(lookups.add(idempotency.hash))
    if (!kept) return undefined
    return {
      requestId: kept.requestId,
      batch: kept.batch,
      isSameRequest: kept.fingerprint === idempotency.fingerprint,
    }
  }
}
