import type { Context } from 'hono'
import type { Actor } from '../../core/accounts/actor.ts'
import type { AdminEnv } from '../context.ts'

/** Who makes a change by a page, for the audit. */
export const pageActor = (c: Context<AdminEnv>): Actor => ({
  by: c.get('person').name,
  via: 'page',
  address: c.get('address'),
})
