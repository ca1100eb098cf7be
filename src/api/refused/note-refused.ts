import type { Context } from 'hono'
import type { KeyOfRefused } from '../../../db/audit/refused.ts'
import { hashApiKey, wasMintedHere } from '../../core/accounts/api-key.ts'
import { fieldNames, parameterNames } from '../../core/requests/field-names.ts'
import type { Needs } from '../../runtime.ts'
import { joined, lengthOf } from '../body/pieces.ts'
import type { ApiEnv } from '../context.ts'
import { bearerOf } from '../keys/authenticate.ts'
import { RefusedRequests } from './refused-requests.ts'

/** A larger body's names aren't read: it would be parsed a second time. */
const maxParsedBytes = 64 * 1024

/** Creates the step that keeps a request that was answered 4xx, if its key was minted here, for the page `/refused`. */
export function createNoteRefused(runtime: Needs<'db' | 'metrics', 'API_KEY_PEPPER'>) {
  const refused = new RefusedRequests(runtime)
  const { API_KEY_PEPPER } = runtime.settings

  /** Also of a request that wasn't authenticated: its key may be revoked or expired, or its route doesn't exist. */
  const keyOf = (c: Context<ApiEnv>): KeyOfRefused | undefined => {
    const { caller } = c.var
    if (caller) return { keyId: caller.keyId }
    const apiKey = bearerOf(c)
    return wasMintedHere(apiKey, API_KEY_PEPPER)
      ? { keyHash: hashApiKey(apiKey, API_KEY_PEPPER).toString('hex') }
      : undefined
  }

  return (c: Context<ApiEnv>, route: string): void => {
    const key = keyOf(c)
    if (!key) return
    const { requestId, refusal, body } = c.var
    const pattern = route === 'none' ? '(no such route)' : route
    const request = {
      requestId,
      at: new Date(),
      status: c.res.status,
      message: refusal.reason,
      route: `${c.req.method} ${pattern}`,
    }
    const { search } = new URL(c.req.url)
    refused.add(key, () => ({ ...request, fields: [...parameterNames(search), ...namesIn(body)] }))
  }
}

function namesIn(body: readonly Buffer[] = []): string[] {
  if (lengthOf(body) > maxParsedBytes) return []
  try {
    return fieldNames(JSON.parse(joined(body).toString()))
  } catch {
    return []
  }
}
