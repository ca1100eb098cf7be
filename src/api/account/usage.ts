import { readUsage } from '../../../db/counters/usage.ts'
import type { Needs } from '../../runtime.ts'
import { routes } from '../routes.ts'
import type { AccountSteps } from './steps.ts'

/** What an account has used, by whole days (docs/reference/api.md#usage). */
export function getUsage({ db }: Needs<'db'>, { serve, withConnection }: AccountSteps) {
  return serve(routes.getUsage, async (c, { query }) => {
    const { requestId, caller } = c.var
    const { from, to } = query
    const usage = await withConnection(c.var, () => readUsage(db, caller.accountId, query))
    return { requestId, from, to, usage }
  })
}
