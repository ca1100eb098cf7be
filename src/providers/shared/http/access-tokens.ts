import type { AttemptOutcome } from '../../../core/sends/outcome.ts'
import type { HttpAnswer, HttpRequest, TokenGrant } from './http-call.ts'
import { isSuccess } from './status-failures.ts'

/** The token endpoint failed: the provider itself was not called. */
export type FailedToken = Exclude<AttemptOutcome, { outcome: 'sent' | 'uncertain' }>

const usualMs = 300_000
/** A token is used for less than it is valid, because a call takes some time, and clocks differ. */
const marginMs = 30_000

/** Refusals of the client itself (RFC 6749, 5.2): another try changes nothing. */
const clientErrors = ['invalid_client', 'unauthorized_client', 'invalid_grant', 'invalid_scope']

interface Held {
  token: string
  untilMs: number
}

/**
 * The access tokens of a provider's channels: each is fetched once and used while it is valid. Calls at the same time share one fetch.
 *
 * @param fetchToken calls the token endpoint; never throws.
 */
export function createAccessTokens<Config>(
  { request, read }: TokenGrant<Config>,
  label: string,
  fetchToken: (request: HttpRequest) => Promise<HttpAnswer | FailedToken>,
  nowMs: () => number,
) {
  const held = new WeakMap<object, Held>()
  const fetching = new WeakMap<object, Promise<Held | FailedToken>>()

  const fetchNew = async (config: Config): Promise<Held | FailedToken> => {
    const answer = await fetchToken(request(config))
    if ('outcome' in answer) return { ...answer, reason: `${label}'s token endpoint: ${answer.reason}` }
    const { token, validMs = usualMs, error = '' } = read(answer)
    if (!isSuccess(answer.status) || token === undefined) return failureOf(answer.status, error)
    const fresh = { token, untilMs: nowMs() + Math.max(validMs - marginMs, validMs / 2) }
    held.set(Object(config), fresh)
    return fresh
  }

  function failureOf(status: number, error: string): FailedToken {
    const isRefused = status === 401 || status === 403 || (status === 400 && clientErrors.includes(error))
    const reason = isSuccess(status)
      ? `${label}'s token endpoint answered ${status} without an access token`
      : `${label}'s token endpoint answered ${status}`
    return isRefused
      ? { outcome: 'channel_refused', fault: 'sender', reason, providerStatus: status }
      : {
          outcome: 'retry_later',
          fault: status === 429 ? 'sender' : 'provider',
          reason,
          providerStatus: status,
        }
  }

  return {
    /** @param refused a token that the provider doesn't take: it isn't used again. */
    async tokenOf(config: Config, refused?: string): Promise<{ token: string } | FailedToken> {
      const key = Object(config)
      const known = held.get(key)
      if (known && known.token !== refused && nowMs() < known.untilMs) return known
      const pending = fetching.get(key) ?? fetchNew(config).finally(() => fetching.delete(key))
      fetching.set(key, pending)
      return await pending
    },
  }
}

/** An answer that repeats the token must not bring it into a reason. */
export const withoutToken = <Answer extends HttpAnswer>(answer: Answer, token: string): Answer => ({
  ...answer,
  body: answer.body.replaceAll(token, '…'),
})
