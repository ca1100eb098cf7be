import type { Context } from 'hono'
import { recordAudit } from '../../../db/audit/record.ts'
import type { Actor } from '../../core/actor.ts'
import { type AdminEnv, type AdminRuntime, factory } from '../context.ts'

/** Who makes a change by a page, for the audit. */
export const pageActor = (c: Context<AdminEnv>): Actor => ({
  by: c.get('person').name,
  via: 'page',
  address: c.env.incoming.socket.remoteAddress ?? null,
})

/** Lets later steps record what is no change of a transaction, such as a refusal. */
export const recorder = ({ db }: Pick<AdminRuntime, 'db'>) =>
  factory.createMiddleware(async (c, next) => {
    c.set('record', (entry) => recordAudit(db, { ...pageActor(c), ...entry }))
    await next()
  })
