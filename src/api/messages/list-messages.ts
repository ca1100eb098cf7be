import { listSends } from '../../../db/sends/list.ts'
import { readListQuery, writeCursor } from '../../core/requests/list-query.ts'
import { summaryOf } from '../../core/sends/timeline.ts'
import type { Needs } from '../../runtime.ts'
import { type AccountSteps, queryOf } from '../account/steps.ts'
import { answerJson } from '../answer.ts'
import { factory } from '../context.ts'
import { authorize } from '../keys/authenticate.ts'

/** Lists the account's sends, newest first (docs/reference/api.md#list). */
export function listMessages(
  { db }: Needs<'db'>,
  { authenticate, withConnection, limitReads }: AccountSteps,
) {
  return factory.createHandlers(authenticate, authorize('messages:read'), limitReads, async (c) => {
    const query = queryOf(c, readListQuery)
    const { caller, deadline, requestId } = c.var
    const { sends, next } = await withConnection({ caller, deadline }, () =>
      listSends(db, caller.accountId, query),
    )
    return answerJson(c, {
      requestId,
      messages: sends.map((send) => summaryOf(send, 'whole')),
      next: next ? writeCursor(next) : null,
    })
  })
}
