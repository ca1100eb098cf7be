import type { Context } from 'hono'
import { auditedInPages } from '../../../db/audit/record.ts'
import { eraseContactWholly } from '../../../db/upkeep/erase-wholly.ts'
import { suppressionKey } from '../../core/suppression/suppression.ts'
import { pageActor } from '../audit/page-actor.ts'
import type { AdminEnv, AdminRuntime } from '../context.ts'
import { PageError } from '../errors.tsx'
import { contactsSeen } from '../page/masking.ts'
import { ErasedPage, EraseQuestion } from './erase-pages.tsx'
import { type FoundContact, isOpaque } from './find-contact.ts'

/** Erases a contact, after a question. */
export function erasure({ db, settings, log }: AdminRuntime) {
  function requireKey(): Buffer {
    const { API_KEY_PEPPER } = settings
    if (API_KEY_PEPPER !== undefined) return suppressionKey(API_KEY_PEPPER)
    throw new PageError(
      409,
      'This process has no API_KEY_PEPPER, with which an erased contact stays on the suppression list. Set it to that of the API, and start the process again; or run: outbound contact erase.',
    )
  }

  function askToErase(c: Context<AdminEnv>, found: FoundContact) {
    requireKey()
    const contacts = contactsSeen(c, settings, isOpaque(found.ref) ? found.ref : {})
    return c.html(<EraseQuestion found={found} contacts={contacts} />)
  }

  async function erase(c: Context<AdminEnv>, { accountId, contact }: FoundContact) {
    const key = requireKey()
    const row = { ...pageActor(c), action: 'contact.erase', target: accountId } as const
    const counts = await auditedInPages(db, row, {
      change: () => eraseContactWholly(db, { accountId, contact }, key),
      resultOf: (counts) => counts,
    })
    log.info({ event: 'contact_erased', accountId, ...counts, by: c.get('person').name })
    return c.html(<ErasedPage {...counts} />)
  }
  return { askToErase, erase }
}
