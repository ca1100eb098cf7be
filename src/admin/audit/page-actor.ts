import type { Context } from 'hono'
import type { Actor } from '../../core/accounts/actor.ts'
import type { Making } from '../../setup/making.ts'
import type { AdminEnv, AdminRuntime } from '../context.ts'

/** Who makes a change by a page, for the audit. */
export const pageActor = (c: Context<AdminEnv>): Actor => ({
  by: c.get('person').name,
  via: 'page',
  address: c.get('address'),
})

/** Where a page makes a change, and for whom. */
export const makingOf = (c: Context<AdminEnv>, { db }: Pick<AdminRuntime, 'db'>): Making => ({
  db,
  actor: pageActor(c),
})
