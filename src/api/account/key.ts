import { findOwnKey } from '../../../db/accounts/api-keys.ts'
import type { Needs } from '../../runtime.ts'
import { unauthorized } from '../keys/authenticate.ts'
import { routes } from '../routes.ts'
import { defaultLimit } from '../send/rate-limit.ts'
import type { AccountSteps } from './steps.ts'

/** Answers with the key of the request (docs/reference/api.md#keys). */
export function getKey(
  runtime: Needs<'db' | 'shards' | 'metrics', 'RATE_LIMIT_POINTS' | 'RATE_LIMIT_WINDOW_SECONDS'>,
  { serve, withConnection }: AccountSteps,
) {
  const common = defaultLimit(runtime)
  return serve(routes.getKey, async (c) => {
    const { requestId, caller } = c.var
    const { accountId, keyId, permissions, rateLimit = common } = caller
    const found = await withConnection(c.var, () => findOwnKey(runtime.db, keyId))
    // Its account was deleted since the key was looked up.
    if (!found) throw unauthorized()
    return { requestId, accountId, keyId, permissions, rateLimit, ...found }
  })
}
