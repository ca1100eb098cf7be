import type { ClaimedEndpoint, DueCallback } from '../../db/callbacks/endpoint-claims.ts'
import { callbackBody, webhookIdOf } from '../../src/core/callbacks/callback.ts'
import type { CallbackAnswer } from '../../src/core/callbacks/callback-outcome.ts'
import { openConfig } from '../../src/core/channels/sealed-config.ts'
import { logFault } from '../../src/platform/log/logger.ts'
import { ShortageError } from '../../src/platform/process/own-shortage.ts'
import { credentialsKeys } from '../../src/platform/settings/settings.ts'
import { retryAfterMs } from '../../src/providers/shared/http/retry-wait.ts'
import { signatureHeaders } from '../../src/providers/shared/http/standard-webhooks.ts'
import type { Needs } from '../../src/runtime.ts'
import type { HttpClient, HttpResult } from '../http/http.ts'
import { withinTimeLimit } from '../http/time-limit.ts'

const noAnswer: HttpResult = { kind: 'maybe_sent', reason: 'no whole answer in time' }

/**
 * Calls an endpoint once, within the time limit. Only the status and Retry-After of its answer are used. Throws what is no failure
 * of the endpoint, so that its callbacks wait: its secret can't be opened by this worker, or this machine couldn't begin the call.
 */
export function createCallEndpoint(
  {
    clock,
    log,
    settings,
  }: Needs<'clock' | 'log', 'CALLBACK_TIMEOUT_SECONDS' | 'CREDENTIALS_KEY' | 'CREDENTIALS_KEY_PREVIOUS'>,
  http: Pick<HttpClient, 'post'>,
) {
  const timeoutMs = settings.CALLBACK_TIMEOUT_SECONDS * 1000
  const secretsOf = createOpenSecrets(credentialsKeys(settings))

  return async (claimed: ClaimedEndpoint, callback: DueCallback): Promise<CallbackAnswer> => {
    const secrets = secretsOf(claimed)
    const startedAt = performance.now()
    const result = await call(claimed, callback, secrets).catch((error: unknown): HttpResult => {
      logFault(log, 'callback_fault', error, {
        endpointId: claimed.endpointId,
        requestId: callback.requestId,
      })
      return {
        kind: 'not_sent',
        reason: 'the call failed with an error; see callback_fault in the log of the worker',
      }
    })
    // The callback stays due, as if it had not been tried.
    if (result.kind === 'not_sent' && result.shortage) throw new ShortageError(result.shortage)
    const durationMs = Math.round(performance.now() - startedAt)
    if (result.kind !== 'answer') return { status: null, reason: result.reason, durationMs }
    return { status: result.status, reason: null, durationMs, retryAfterMs: retryAfterMs(result) }
  }

  async function call(
    { url }: ClaimedEndpoint,
    callback: DueCallback,
    secrets: readonly string[],
  ): Promise<HttpResult> {
    const body = Buffer.from(callbackBody(callback))
    const id = webhookIdOf(callback)
    const headers = signatureHeaders({ id, body, secrets, nowMs: clock.nowMs() })
    return await withinTimeLimit(timeoutMs, (signal) => http.post({ url, headers, body }, signal), noAnswer)
  }
}

/** Opens the secrets once for all calls of a read. */
function createOpenSecrets(keys: readonly Buffer[]) {
  const opened = new WeakMap<ClaimedEndpoint, string[]>()
  return (claimed: ClaimedEndpoint): string[] => {
    const known = opened.get(claimed)
    if (known) return known
    const sealed = [claimed.sealedSecret, claimed.sealedFormerSecret].filter((text) => text !== null)
    const secrets = sealed.map(
      (text) => (openConfig(text, claimed.endpointId, keys) as { secret: string }).secret,
    )
    opened.set(claimed, secrets)
    return secrets
  }
}
