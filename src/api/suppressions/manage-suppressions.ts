import type { Context } from 'hono'
import { findOwnChannel } from '../../../db/accounts/own-channels.ts'
import { audited } from '../../../db/audit/record.ts'
import { addSuppression, pageOfSuppressions, removeSuppression } from '../../../db/suppression/entries.ts'
import { accountLists } from '../../core/accounts/account-lists.ts'
import { suppressionChanged } from '../../core/accounts/audit-details.ts'
import { canBeRecordId } from '../../core/requests/record-id.ts'
import { suppressionKey } from '../../core/suppression/suppression.ts'
import { shownSuppression } from '../../core/suppression/suppression-view.ts'
import type { Needs } from '../../runtime.ts'
import type { AccountSteps } from '../account/steps.ts'
import type { ApiEnv } from '../context.ts'
import { suppressionNotFound } from '../routes/suppressions.ts'
import { routes } from '../routes.ts'
import { channelNotFound } from '../send/find-own-channel.ts'

/** The routes by which an account manages its suppression list (docs/reference/api.md#suppressions). */
export function serveSuppressions(
  { db, settings }: Needs<'db', 'API_KEY_PEPPER'>,
  { serve, withConnection, limiter, rowOf }: AccountSteps,
) {
  const key = suppressionKey(settings.API_KEY_PEPPER)

  /** @throws ApiError 404, the same for an absent channel and one of another account. */
  const ownChannel = async (c: Context<ApiEnv>, channelId: string | undefined) => {
    if (channelId === undefined) return null
    const { accountId } = c.var.caller
    const channel = canBeRecordId(channelId)
      ? await withConnection(c.var, () => findOwnChannel(db, { channelId, accountId }))
      : undefined
    if (!channel) throw channelNotFound()
    return channelId
  }

  return {
    listSuppressions: serve(routes.listSuppressions, async (c, { query }) => {
      await limiter.rateLimit(c.var)
      const { requestId, caller } = c.var
      const { items, next } = await withConnection(c.var, () =>
        pageOfSuppressions(db, caller.accountId, query, key),
      )
      const suppressions = items.map((entry) => shownSuppression(entry, 'whole'))
      return { requestId, suppressions, next: accountLists.suppressions.writeNext(next) }
    }),

    // Repeating the request returns the existing entry, so it needs no Idempotency-Key.
    addSuppression: serve(routes.addSuppression, async (c, { body }) => {
      const { contact, channelId: given, reason } = body
      const channelId = await ownChannel(c, given)
      await limiter.rateLimit(c.var)
      const { requestId, caller } = c.var
      const suppressed = { accountId: caller.accountId, contact, channelId }
      const { entry } = await withConnection(c.var, () =>
        audited(
          db,
          (transaction) => addSuppression(transaction, suppressed, reason ?? null, key),
          ({ entry, isNew }) => isNew && rowOf(c, suppressionChanged('suppression.add', entry)),
        ),
      )
      // `requestId` is that of the request, in each answer; the list has the send's.
      return { ...shownSuppression(entry, 'whole'), requestId }
    }),

    removeSuppression: serve(routes.removeSuppression, async (c) => {
      const id = c.req.param('suppressionId') ?? ''
      await limiter.rateLimit(c.var)
      const { accountId } = c.var.caller
      const removed = canBeRecordId(id)
        ? await withConnection(c.var, () =>
            audited(
              db,
              (transaction) => removeSuppression(transaction, accountId, id),
              (removed) => removed && rowOf(c, suppressionChanged('suppression.remove', removed)),
            ),
          )
        : undefined
      if (removed) return undefined
      // A 404 doesn't count.
      await limiter.refundRateLimit(c.var, 1)
      throw suppressionNotFound()
    }),
  }
}
