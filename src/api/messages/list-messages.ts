import { listSends } from '../../../db/sends/list.ts'
import { writeCursor } from '../../core/requests/list-query.ts'
import { summaryOf } from '../../core/sends/timeline.ts'
import type { Needs } from '../../runtime.ts'
import type { AccountSteps } from '../account/steps.ts'
import { routes } from '../routes.ts'

/** Lists the account's sends, newest first (docs/reference/api.md#list). */
export function listMessages({ db }: Needs<'db'>, { serve, withConnection }: AccountSteps) {
  return serve(routes.listMessages, async (c, { query }) => {
    const { caller, deadline, requestId } = c.var
    const { sends, next } = await withConnection({ caller, deadline }, () =>
      listSends(db, caller.accountId, query),
    )
    return {
      requestId,
      messages: sends.map((send) => summaryOf(send, 'whole')),
      next: next ? writeCursor(next) : null,
    }
  })
}
