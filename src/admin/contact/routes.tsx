import type { Context } from 'hono'
import { accountChannels } from '../../../db/accounts/names.ts'
import { auditOfContact } from '../../../db/audit/of-contact.ts'
import { listConversations } from '../../../db/delivery/conversations.ts'
import { listSends } from '../../../db/sends/list.ts'
import { suppressionsOfContact } from '../../../db/suppression/entries.ts'
import { readCursor } from '../../core/requests/list-query.ts'
import { type AdminApp, type AdminEnv, type AdminRuntime, factory } from '../context.ts'
import { PageError } from '../errors.tsx'
import { formLimit } from '../http/form-limit.ts'
import { contactsSeen } from '../page/masking.ts'
import { allow } from '../people/allow.ts'
import { namesIn } from '../sends/sends-table.tsx'
import { fieldsOf } from '../support/form-fields.ts'
import { suppressionKeyOf } from '../suppressions/suppression-key.ts'
import { AskPage, ContactPage, shownConversations } from './contact-page.tsx'
import { erasure } from './erasure.tsx'
import { type FoundContact, findContact, seenIds } from './find-contact.ts'
import { suppressing } from './suppressing.tsx'

const pageSize = 25
const rowsOfAudit = 25

/** A contact of an account: its sends, its conversations, its suppressions, and its erasure. */
export function contact(runtime: AdminRuntime): AdminApp {
  const { db } = runtime
  const app: AdminApp = factory.createApp()
  const show = page(runtime)
  const { suppress, unsuppress } = suppressing(runtime)
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
  app.get('/', allow('reader'), (c) => show(c, c.req.query()))
  app.post('/', allow('reader'), async (c) => show(c, await fieldsOf(c)))
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

function page({ db, settings }: AdminRuntime) {
  const key = suppressionKeyOf(settings)

  return async (c: Context<AdminEnv>, fields: Fields) => {
    const found = await findContact(db, fields)
    if (!found) return c.html(<AskPage accountName={c.get('account')?.name} />)
    const { accountId, contact } = found
    const after = typeof fields.after === 'string' ? readCursor(fields.after) : undefined
    const [page, conversations, entries, channels] = await Promise.all([
      listSends(db, accountId, { limit: pageSize, contact, after }),
      listConversations(db, accountId, contact),
      suppressionsOfContact(db, found, key),
      accountChannels(db, accountId),
    ])
    const ids = {
      conversationIds: conversations.slice(-shownConversations).map(({ conversationId }) => conversationId),
      requestIds: page.sends.map(({ requestId }) => requestId),
      suppressionIds: entries.map(({ suppressionId }) => suppressionId),
    }
    const [names, changes] = await Promise.all([
      namesIn(db, page.sends, [accountId]),
      auditOfContact(db, ids, rowsOfAudit),
    ])
    const contacts = contactsSeen(c, settings, seenIds(found.ref, ids))
    const isOperator = c.get('person').role === 'operator'
    const shown = { found, page, conversations, entries, channels, names, contacts, changes, isOperator }
    return c.html(<ContactPage {...shown} />)
  }
}
