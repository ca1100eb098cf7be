import type { Context } from 'hono'
import { accountChannels } from '../../../db/accounts/names.ts'
import { audited } from '../../../db/audit/record.ts'
import { listConversations } from '../../../db/delivery/conversations.ts'
import { listSends } from '../../../db/sends/list.ts'
import { addSuppression, removeSuppression, suppressionsOfContact } from '../../../db/suppression/entries.ts'
import { suppressionChanged } from '../../core/audit-details.ts'
import { readCursor } from '../../core/list-query.ts'
import { canBeRecordId } from '../../core/record-id.ts'
import { suppressionReason } from '../../core/suppression.ts'
import { pageActor } from '../audit/page-actor.ts'
import { type AdminApp, type AdminEnv, type AdminRuntime, factory } from '../context.ts'
import { PageError } from '../errors.tsx'
import { formLimit } from '../form-limit.ts'
import { contactsFor } from '../masking.ts'
import { allow } from '../people/allow.ts'
import { namesIn } from '../sends/sends-table.tsx'
import { fieldsOf } from '../support/form-fields.ts'
import { suppressionKeyOf } from '../suppression-key.ts'
import { AskPage, ContactPage } from './contact-page.tsx'
import { erasure } from './erasure.tsx'
import { contactLink, type FoundContact, findContact, isOpaque } from './find-contact.ts'

const pageSize = 25

/** A contact of an account: its sends, its conversations, its suppressions, and its erasure. */
export function contact(runtime: AdminRuntime): AdminApp {
  const { db } = runtime
  const app: AdminApp = factory.createApp()
  const { show, suppress, unsuppress } = handlers(runtime)
  const { erase, askToErase } = erasure(runtime)
  const found = async (fields: Record<string, unknown>): Promise<FoundContact> => {
    const contact = await findContact(db, fields)
    if (contact) return contact
    throw new PageError(400, 'This form could not be read. Open the page of the contact again.')
  }
  const sent = async (c: Context) => {
    const fields = await fieldsOf(c)
    return [await found(fields), fields] as const
  }

  app.use(formLimit)
  app.get('/', allow('support'), (c) => show(c, c.req.query()))
  app.post('/', allow('support'), async (c) => show(c, await fieldsOf(c)))
  app.post('/suppress', allow('support'), async (c) => suppress(c, ...(await sent(c))))
  app.post('/unsuppress', allow('support'), async (c) => unsuppress(c, ...(await sent(c))))
  app.get('/erase', allow('operator'), async (c) => askToErase(c, await found(c.req.query())))
  app.post('/erase', allow('operator'), async (c) => {
    const [contact, fields] = await sent(c)
    return 'confirmed' in fields ? erase(c, contact) : askToErase(c, contact)
  })
  return app
}

type Fields = Record<string, unknown>

function handlers({ db, settings, log }: AdminRuntime) {
  const key = suppressionKeyOf(settings)

  async function show(c: Context<AdminEnv>, fields: Fields) {
    const found = await findContact(db, fields)
    if (!found) return c.html(<AskPage />)
    const { accountId, contact } = found
    const after = typeof fields.after === 'string' ? readCursor(fields.after) : undefined
    const [page, conversations, entries, channels] = await Promise.all([
      listSends(db, accountId, { limit: pageSize, contact, after }),
      listConversations(db, accountId, contact),
      suppressionsOfContact(db, found, key),
      accountChannels(db, accountId),
    ])
    const names = await namesIn(db, page.sends, [accountId])
    const contacts = contactsFor(c.get('person'), settings)
    const isOperator = c.get('person').role === 'operator'
    return c.html(
      <ContactPage {...{ found, page, conversations, entries, channels, names, contacts, isOperator }} />,
    )
  }

  async function suppress(c: Context<AdminEnv>, { accountId, contact, ref }: FoundContact, fields: Fields) {
    const channelId =
      typeof fields.channelId === 'string' && fields.channelId !== '' ? fields.channelId : null
    const text = typeof fields.reason === 'string' ? fields.reason.trim() : ''
    const reason = text === '' ? null : suppressionReason.safeParse(text).data
    if (reason === undefined) throw new PageError(400, 'Reason: enter at most 500 characters on one line.')
    const channels = await accountChannels(db, accountId)
    if (channelId !== null && !channels.some(({ id }) => id === channelId))
      throw new PageError(400, 'Channel: the account has no such channel.')
    const { entry } = await audited(
      db,
      (transaction) => addSuppression(transaction, { accountId, contact, channelId }, reason, key),
      ({ entry, isNew }) =>
        isNew && { ...pageActor(c), ...suppressionChanged('suppression.add', entry, accountId) },
    )
    const by = c.get('person').name
    log.info({ event: 'suppression_added', suppressionId: entry.suppressionId, accountId, by })
    return c.redirect(contactLink(isOpaque(ref) ? ref : { suppressionId: entry.suppressionId }), 303)
  }

  async function unsuppress(c: Context<AdminEnv>, { accountId, ref }: FoundContact, fields: Fields) {
    const id = typeof fields.entry === 'string' && canBeRecordId(fields.entry) ? fields.entry : undefined
    const removed =
      id === undefined
        ? undefined
        : await audited(
            db,
            (transaction) => removeSuppression(transaction, accountId, id),
            (entry) =>
              entry && { ...pageActor(c), ...suppressionChanged('suppression.remove', entry, accountId) },
          )
    if (!removed) throw new PageError(404, 'There is no such entry. It may have been removed meanwhile.')
    log.info({ event: 'suppression_removed', suppressionId: id, accountId, by: c.get('person').name })
    const isGone = ref.suppressionId === id || !isOpaque(ref)
    return c.redirect(isGone ? `/suppressions?accountId=${accountId}` : contactLink(ref), 303)
  }

  return { show, suppress, unsuppress }
}
