import type { Context } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { findChannelIds } from '../../../db/accounts/channels.ts'
import { findExplanation } from '../../../db/sends/explanation.ts'
import { searchSends } from '../../../db/sends/search.ts'
import { findSendContext } from '../../../db/sends/send-context.ts'
import { findSend } from '../../../db/sends/sends.ts'
import { explain } from '../../core/explanation/explain.ts'
import { explainUnknownId, findRequestId } from '../../core/request-id.ts'
import { buildTimeline } from '../../core/timeline.ts'
import { type AdminApp, type AdminEnv, type AdminRuntime, factory } from '../context.ts'
import { PageError } from '../errors.tsx'
import { contactsFor } from '../masking.ts'
import { allow } from '../people/allow.ts'
import { callbacksOfSend } from './callbacks-page.tsx'
import { cancel } from './cancel.tsx'
import { fieldsOf } from './form-fields.ts'
import { replay } from './replay.tsx'
import { replaySet } from './replay-set.tsx'
import {
  isPrivate,
  readSearchForm,
  type SearchInput,
  searchInputIn,
  searchLink,
  shareable,
} from './search-form.ts'
import { SearchPage } from './search-page.tsx'
import { SendPage } from './send-page.tsx'
import { type LookedUp, textLookUp } from './text-look-up.ts'
import { UnknownIdPage } from './unknown-id-page.tsx'

/** Enough for a long log line with a stack trace. */
const maxFormBytes = 256 * 1024
export const refreshSeconds = 3

/** The support pages: find a send and see its timeline (docs/how-to/find-a-send.md). */
export function support(runtime: AdminRuntime): AdminApp {
  const app: AdminApp = factory.createApp()
  const { find, search, show } = handlers(runtime)

  app.use(
    bodyLimit({
      maxSize: maxFormBytes,
      onError: () => {
        throw new PageError(413, 'This text is too long. Paste only the line with the requestId.')
      },
    }),
  )
  app.get('/', allow('support'), (c) => {
    const pasted = c.req.query('requestId')
    return pasted === undefined ? search(c, {}) : find(c, pasted)
  })
  app.post('/find', allow('support'), async (c) => find(c, String((await fieldsOf(c)).requestId ?? '')))
  app.get('/search', allow('support'), (c) => search(c, shareable(searchInputIn(c.req.query()))))
  app.post('/search', allow('support'), async (c) => {
    const input = searchInputIn(await fieldsOf(c))
    return isPrivate(input) ? search(c, input) : c.redirect(searchLink(input), 303)
  })
  app.route('/replays', replaySet(runtime))
  app.get('/:requestId', allow('support'), (c) => show(c, c.req.param('requestId')))
  app.route('/:requestId/replay', replay(runtime))
  app.route('/:requestId/cancel', cancel(runtime))
  app.route('/:requestId/callbacks', callbacksOfSend(runtime))
  return app
}

function handlers(runtime: AdminRuntime) {
  const { db, settings } = runtime
  const lookUp = textLookUp(db)
  const contactsOf = (c: Context<AdminEnv>) => contactsFor(c.get('person'), settings)

  /** The text is no send's requestId: it may be a contact or a provider's message id. */
  const otherwise = async (c: Context<AdminEnv>, pasted: string, lookedUp?: LookedUp) => {
    const found = lookedUp ?? (await lookUp(pasted))
    if (found?.only !== undefined) return c.redirect(`/support/${found.only}`, 303)
    if (found?.isAnswer)
      return c.html(<SearchPage input={found.input} found={{ page: found.page, contacts: contactsOf(c) }} />)
    const facts = { now: new Date(), retentionDays: settings.RETENTION_DAYS }
    const unknown = explainUnknownId(pasted, facts)
    return c.html(<UnknownIdPage {...{ pasted, unknown }} looked={found} />, 404)
  }

  return {
    async find(c: Context<AdminEnv>, pasted: string) {
      const requestId = findRequestId(pasted)
      if (requestId === undefined) return otherwise(c, pasted)
      // A provider's message id may contain a UUID, as those of Amazon SES do.
      const found = (await findSend(db, requestId)) ? undefined : await lookUp(pasted)
      if (found?.page.sends.length) return otherwise(c, pasted, found)
      return c.redirect(`/support/${requestId}`, 303)
    },

    search: (c: Context<AdminEnv>, input: SearchInput) => search(runtime, c, input),

    async show(c: Context<AdminEnv>, given: string) {
      const requestId = findRequestId(given)
      if (requestId !== undefined && requestId !== given) return c.redirect(`/support/${requestId}`, 303)
      const found = requestId === undefined ? undefined : await findExplanation(db, requestId)
      const context =
        found && (await findSendContext(db, found.send.requestId, settings.SUPPORT_SHOW_CONTENT))
      if (!found || !context) return otherwise(c, given)
      const timeline = buildTimeline(found.send, found.events, contactsOf(c))
      const explanation = explain(timeline, found.facts)
      const updates = c.req.query('updates') !== 'off'
      const refresh = explanation.tone === 'waiting' && updates ? refreshSeconds : undefined
      const { channel } = found.facts
      const showsContent = settings.SUPPORT_SHOW_CONTENT
      return c.html(
        <SendPage {...{ timeline, explanation, channel, context, showsContent }} refreshSeconds={refresh} />,
      )
    },
  }
}

async function search({ db, settings }: AdminRuntime, c: Context<AdminEnv>, input: SearchInput) {
  const read = readSearchForm(input)
  if ('issues' in read) return c.html(<SearchPage input={input} issues={read.issues} />, 400)
  const { channel, contact, messageId, reference, state, from, to, before } = read.form
  const channelIds = channel === undefined ? undefined : await findChannelIds(db, channel)
  if (channelIds?.length === 0) {
    return c.html(<SearchPage input={input} issues={['Channel: no channel has this id or name.']} />, 404)
  }
  const page = await searchSends(db, {
    channelIds,
    contactValue: contact,
    providerMessageIds: messageId,
    reference,
    status: state,
    from,
    to,
    before,
  })
  const contacts = contactsFor(c.get('person'), settings)
  return c.html(<SearchPage input={input} found={{ page, contacts }} />)
}
