import type { Context } from 'hono'
import { lookUp } from '../../../db/look-up/look-up.ts'
import type { SeenIds } from '../../core/accounts/audit.ts'
import { readCursor } from '../../core/requests/list-query.ts'
import type { AdminEnv, AdminRuntime } from '../context.ts'
import { linkTo } from '../page/links.ts'
import { contactsSeen } from '../page/masking.ts'
import { FoundPage, isAnswer, targetsOf } from './found-page.tsx'

/** Looks a pasted text up, and opens what it leads to if that is one thing. */
export function box({ db, settings }: Pick<AdminRuntime, 'db' | 'settings'>) {
  /** @param after where a search for a provider's message id goes on. */
  return async (c: Context<AdminEnv>, pasted: string, after = ''): Promise<Response> => {
    const found = await lookUp(db, pasted, readCursor(after))
    if (found.only) return c.redirect(linkTo(found.only), 303)
    const [contact] = targetsOf(found).flatMap(({ kind, id }): SeenIds[] =>
      kind === 'contactOfSend'
        ? [{ requestId: id }]
        : kind === 'contactOfSuppression'
          ? [{ suppressionId: id }]
          : [],
    )
    if (contact) contactsSeen(c, settings, contact)
    const facts = { now: new Date(), retentionDays: settings.RETENTION_DAYS }
    return c.html(<FoundPage {...{ pasted, found, facts }} />, isAnswer(found) ? 200 : 404)
  }
}
