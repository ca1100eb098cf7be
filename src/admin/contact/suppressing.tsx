import type { Context } from 'hono'
import { accountChannels } from '../../../db/accounts/names.ts'
import { pageOfAudit } from '../../../db/audit/list.ts'
import { audited } from '../../../db/audit/record.ts'
import { addSuppression, removeSuppression } from '../../../db/suppression/entries.ts'
import { suppressionChanged } from '../../core/accounts/audit-details.ts'
import { canBeRecordId } from '../../core/requests/record-id.ts'
import { notSuppressed } from '../../core/sends/left-out.ts'
import { operatorReason, operatorReasonForm } from '../../core/sends/own-reasons.ts'
import { removalFault } from '../../core/suppression/suppression.ts'
import { pageActor } from '../audit/page-actor.ts'
import type { AdminEnv, AdminRuntime } from '../context.ts'
import { PageError } from '../errors.tsx'
import { entryShown } from '../support/suppressed.tsx'
import { suppressionKeyOf } from '../suppressions/suppression-key.ts'
import { contactLink, type FoundContact, isOpaque } from './find-contact.ts'
import { SuppressedBeforePage } from './suppressed-before-page.tsx'

type Fields = Record<string, unknown>

/** Suppresses a contact, and lets it get messages again. */
export function suppressing({ db, settings, log }: AdminRuntime) {
  const key = suppressionKeyOf(settings)

  async function suppress(c: Context<AdminEnv>, { accountId, contact, ref }: FoundContact, fields: Fields) {
    const channelId =
      typeof fields.channelId === 'string' && fields.channelId !== '' ? fields.channelId : null
    const reason = reasonIn(fields)
    const channels = await accountChannels(db, accountId)
    if (channelId !== null && !channels.some(({ id }) => id === channelId))
      throw new PageError(400, 'Channel: the account has no such channel.')
    const { entry, isNew } = await audited(
      db,
      (transaction) => addSuppression(transaction, { accountId, contact, channelId }, reason, key),
      ({ entry, isNew }) =>
        isNew && {
          ...pageActor(c),
          ...suppressionChanged('suppression.add', entry, accountId, isOpaque(ref) ? ref : {}),
        },
    )
    const back = contactLink(isOpaque(ref) ? ref : { suppressionId: entry.suppressionId })
    if (!isNew)
      return c.html(<SuppressedBeforePage shown={await entryShown(db, entry, channels)} back={back} />)
    const by = c.get('person').name
    log.info({ event: 'suppression_added', suppressionId: entry.suppressionId, accountId, by })
    return c.redirect(back, 303)
  }

  async function unsuppress(c: Context<AdminEnv>, { accountId, ref }: FoundContact, fields: Fields) {
    const id = typeof fields.entry === 'string' && canBeRecordId(fields.entry) ? fields.entry : undefined
    const reason = reasonIn(fields) ?? undefined
    const more = { ...(isOpaque(ref) && ref), ...(reason !== undefined && { reason }) }
    const removed =
      id === undefined
        ? undefined
        : await audited(
            db,
            async (transaction) => {
              const entry = await removeSuppression(transaction, accountId, id)
              const fault = entry && removalFault(entry, reason)
              // Undoes the removal.
              if (fault !== undefined) throw new PageError(400, `${fault}.`)
              return entry
            },
            (entry) =>
              entry && {
                ...pageActor(c),
                ...suppressionChanged('suppression.remove', entry, accountId, more),
              },
          )
    if (!removed) throw new PageError(404, `${await whyNotRemoved(db, id)}.`)
    log.info({ event: 'suppression_removed', suppressionId: id, accountId, by: c.get('person').name })
    const isGone = ref.suppressionId === id || !isOpaque(ref)
    return c.redirect(isGone ? `/suppressions?accountId=${accountId}` : contactLink(ref), 303)
  }

  return { suppress, unsuppress }
}

async function whyNotRemoved(db: AdminRuntime['db'], id: string | undefined): Promise<string> {
  if (id === undefined) return notSuppressed.never
  const { items } = await pageOfAudit(db, { target: id, action: 'suppression.remove', limit: 1 })
  return items[0] ? notSuppressed.removed(items[0]) : notSuppressed.never
}

/** Null if none was typed. */
function reasonIn({ reason }: Fields): string | null {
  const text = typeof reason === 'string' ? reason.trim() : ''
  const read = text === '' ? null : operatorReason.safeParse(text).data
  if (read === undefined) throw new PageError(400, `Reason: enter ${operatorReasonForm}, or leave it out.`)
  return read
}
