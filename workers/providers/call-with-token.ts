import type { AttemptOutcome } from '../../src/core/sends/outcome.ts'
import {
  createAccessTokens,
  type FailedToken,
  withoutToken,
} from '../../src/providers/shared/http/access-tokens.ts'
import type { CallContext, HttpRequest, TokenGrant } from '../../src/providers/shared/http/http-call.ts'
import { type HttpClient, type HttpResult, unanswered } from '../http/http.ts'

/** Limit of a call of a token endpoint, which several sends may wait for. */
const tokenMs = 10_000

type Result = HttpResult | AttemptOutcome

/**
 * Calls a provider with the access token of the channel. A call that is refused as unauthorised is made once more, with a new token: the
 * provider took nothing. A token endpoint that fails is no doubt about the message, which was not sent.
 */
export function createCallWithToken<Config>(
  http: Pick<HttpClient, 'post'>,
  grant: TokenGrant<Config>,
  label: string,
  context: CallContext,
) {
  const fetchToken = async (request: HttpRequest) => {
    const result = await http.post(request, AbortSignal.timeout(tokenMs))
    return result.kind === 'answer' ? result : failed(result)
  }
  const tokens = createAccessTokens(grant, label, fetchToken, () => context.nowMs())
  return async (
    config: Config,
    signal: AbortSignal,
    callBy: (context: CallContext) => Promise<Result>,
  ): Promise<Result> => {
    const tokenOf = (refused?: string) =>
      Promise.race([tokens.tokenOf(config, refused), givenUp(signal, label)])
    const callWith = async ({ token }: { token: string }) =>
      masked(await callBy({ ...context, accessToken: token }), token)
    const first = await tokenOf()
    if ('outcome' in first) return first
    const result = await callWith(first)
    if ('outcome' in result || result.kind !== 'answer' || result.status !== 401) return result
    const second = await tokenOf(first.token)
    return 'outcome' in second ? second : await callWith(second)
  }
}

const masked = (result: Result, token: string): Result =>
  'kind' in result && result.kind === 'answer' ? withoutToken(result, token) : result

function failed(result: Parameters<typeof unanswered>[0]): FailedToken {
  const outcome = unanswered(result)
  return outcome.outcome === 'uncertain'
    ? { outcome: 'retry_later', fault: 'provider', reason: result.reason }
    : outcome
}

/** Resolves when the time of a send is over that waits for a token. */
const givenUp = (signal: AbortSignal, label: string) =>
  new Promise<FailedToken>((resolve) => {
    const reason = `${label}'s token endpoint did not answer in time`
    const end = () => resolve({ outcome: 'retry_later', fault: 'provider', reason })
    if (signal.aborted) end()
    else signal.addEventListener('abort', end, { once: true })
  })
