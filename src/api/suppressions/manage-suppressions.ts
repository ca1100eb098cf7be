import type { Context } from 'hono'
import { findOwnChannel } from '../../../db/accounts/own-channels.ts'
import { audited } from '../../../db/audit/record.ts'
import { addSuppression, pageOfSuppressions, removeSuppression } from '../../../db/suppression/entries.ts'
import { accountLists } from '../../core/accounts/account-lists.ts'
import { suppressionChanged } from '../../core/accounts/audit-details.ts'
import { noFields } from '../../core/callbacks/endpoint-request.ts'
import { canBeRecordId } from '../../core/requests/record-id.ts'
import { suppressionKey } from '../../core/suppression/suppression.ts'
import { suppressionSchema } from '../../core/suppression/suppression-request.ts'
import { shownSuppression } from '../../core/suppression/suppression-view.ts'
import type { Needs } from '../../runtime.ts'
import { type AccountSteps, queryOf } from '../account/steps.ts'
import { answerJson } from '../answer.ts'
import { type ApiEnv, factory } from '../context.ts'
import { ApiError } from '../errors.ts'
import { authorize } from '../keys/authenticate.ts'
import { channelNotFound } from '../send/find-own-channel.ts'

export const suppressionNotFound = () => new ApiError(404, 'Suppression not found')

/** The routes by which an account manages its list of contacts that get nothing (docs/reference/api.md#suppressions). */
export function suppressionRoutes(
  { db, settings }: Needs<'db', 'API_KEY_PEPPER'>,
  { authenticate, withConnection, bodies, limiter, rowOf }: AccountSteps,
) {
  const key = suppressionKey(settings.API_KEY_PEPPER)
  const authorized = [authenticate, authorize('suppressions:manage')] as const
  const withBody = [bodies.refuseDeclaredOversize, ...authorized] as const

  const list = factory.createHandlers(...authorized, async (c) => {
    const { readQuery, writeNext } = accountLists.suppressions
    const query = queryOf(c, readQuery)
    await limiter.rateLimit(c.var)
    const { requestId, caller } = c.var
    const { items, next } = await withConnection(c.var, () =>
      pageOfSuppressions(db, caller.accountId, query, key),
    )
    const suppressions = items.map((entry) => shownSuppression(entry, 'whole'))
    return answerJson(c, { requestId, suppressions, next: writeNext(next) })
  })

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

  // Repeating the request returns the existing entry, so it needs no Idempotency-Key.
  const add = factory.createHandlers(...withBody, async (c) => {
    const { contact, channelId: given, reason } = await bodies.read(c, suppressionSchema)
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
    return answerJson(c, { ...shownSuppression(entry, 'whole'), requestId }, 201)
  })

  const remove = factory.createHandlers(...withBody, async (c) => {
    await bodies.read(c, noFields, {})
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
    if (!removed) {
      // A 404 doesn't count.
      await limiter.refundRateLimit(c.var, 1)
      throw suppressionNotFound()
    }
    return new Response(null, { status: 204, headers: c.var.headers })
  })

  return { list, add, remove }
}
