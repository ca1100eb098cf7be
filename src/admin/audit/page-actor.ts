import type { Context } from 'hono'
import type { Actor } from '../../core/accounts/actor.ts'
import type { Making } from '../../setup/making.ts'
import { type AdminEnv, type AdminRuntime, factory } from '../context.ts'

/** Who makes a change by a page, for the audit. */
export const pageActor = (c: Context<AdminEnv>): Actor => ({
  by: c.get('person').name,
  via: 'page',
  address: c.get('address'),
})

/** Where a page makes a change of the set-up, and for whom. `logSetUp` logs it when it is made. */
export function makingOf(c: Context<AdminEnv>, { db }: Pick<AdminRuntime, 'db'>): Making {
  c.set('isSettingUp', true)
  return { db, actor: pageActor(c) }
}

/** Logs who has set up something, and by which page. What is in the audit, in the transaction of the change. */
export const logSetUp = ({ log }: Pick<AdminRuntime, 'log'>) =>
  factory.createMiddleware(async (c, next) => {
    await next()
    if (!c.get('isSettingUp') || c.res.status >= 400) return
    log.info({ event: 'set_up_changed', path: c.req.path, by: c.get('person').name })
  })
