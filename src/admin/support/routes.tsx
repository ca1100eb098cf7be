import type { Context } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { findChannelIds } from '../../../db/accounts/channels.ts'
import { findExplanation } from '../../../db/support/explanation.ts'
import { searchSends } from '../../../db/support/search.ts'
import { findSendContext } from '../../../db/support/send-context.ts'
import { explain } from '../../core/explanation.ts'
import { explainUnknownId, findRequestId } from '../../core/request-id.ts'
import { buildTimeline } from '../../core/timeline.ts'
import { type AdminApp, type AdminRuntime, factory } from '../context.ts'
import { PageError } from '../errors.tsx'
import { fieldsOf } from './form-fields.ts'
import { replay } from './replay.tsx'
import { replaySet } from './replay-set.tsx'
import { type Asked, askedIn, isPrivate, readSearchForm, searchLink, shareable } from './search-form.ts'
import { SearchPage } from './search-page.tsx'
import { SendPage } from './send-page.tsx'
import { UnknownIdPage } from './unknown-id-page.tsx'
import { wordsLookUp } from './words-look-up.ts'

/** A log line, however long, and its stack. */
const maxFormBytes = 256 * 1024
export const refreshSeconds = 3

/** Where is my message? (docs/how-to/find-a-send.md) */
export function support(runtime: AdminRuntime): AdminApp {
  const app: AdminApp = factory.createApp()
  const { find, search, show } = handlers(runtime)

  app.use(
    bodyLimit({
      maxSize: maxFormBytes,
      onError: () => {
        throw new PageError(413, 'That is too long. Paste the line that holds the requestId.')
      },
    }),
  )
  app.get('/', (c) => {
    const pasted = c.req.query('requestId')
    return pasted === undefined ? search(c, {}) : find(c, pasted)
  })
  app.post('/find', async (c) => find(c, String((await fieldsOf(c)).requestId ?? '')))
  app.get('/search', (c) => search(c, shareable(askedIn(c.req.query()))))
  app.post('/search', async (c) => {
    const asked = askedIn(await fieldsOf(c))
    return isPrivate(asked) ? search(c, asked) : c.redirect(searchLink(asked), 303)
  })
  app.route('/replays', replaySet(runtime))
  app.get('/:requestId', (c) => show(c, c.req.param('requestId')))
  app.route('/:requestId/replay', replay(runtime))
  return app
}

function handlers({ db, settings }: AdminRuntime) {
  const lookUp = wordsLookUp(db)

  /** What was given is the requestId of no send: it may be a contact, or what the provider calls the message. */
  const otherwise = async (c: Context, pasted: string) => {
    const found = await lookUp(pasted)
    if (found?.only !== undefined) return c.redirect(`/support/${found.only}`, 303)
    if (found?.isAnswer) return c.html(<SearchPage asked={found.asked} page={found.page} />)
    const facts = { now: new Date(), retentionDays: settings.RETENTION_DAYS }
    const unknown = explainUnknownId(pasted, facts)
    return c.html(<UnknownIdPage {...{ pasted, unknown }} looked={found} />, 404)
  }

  return {
    async find(c: Context, pasted: string) {
      const requestId = findRequestId(pasted)
      return requestId === undefined ? otherwise(c, pasted) : c.redirect(`/support/${requestId}`, 303)
    },

    async search(c: Context, asked: Asked) {
      const read = readSearchForm(asked)
      if ('faults' in read) return c.html(<SearchPage asked={asked} faults={read.faults} />, 400)
      const { channel, contact, messageId, state, from, to, before } = read.form
      const channelIds = channel === undefined ? undefined : await findChannelIds(db, channel)
      if (channelIds?.length === 0) {
        return c.html(<SearchPage asked={asked} faults={['Channel: none has this id or name.']} />, 404)
      }
      const page = await searchSends(db, {
        channelIds,
        contactValue: contact,
        providerMessageIds: messageId,
        status: state,
        from,
        to,
        before,
      })
      return c.html(<SearchPage asked={asked} page={page} />)
    },

    async show(c: Context, given: string) {
      const requestId = findRequestId(given)
      if (requestId !== undefined && requestId !== given) return c.redirect(`/support/${requestId}`, 303)
      const found = requestId === undefined ? undefined : await findExplanation(db, requestId)
      const context =
        found && (await findSendContext(db, found.send.requestId, settings.SUPPORT_SHOW_CONTENT))
      if (!found || !context) return otherwise(c, given)
      const timeline = buildTimeline(found.send, found.events, 'masked')
      const story = explain(timeline, found.facts)
      const isStill = c.req.query('updates') === 'off'
      const refresh = story.tone === 'waiting' && !isStill ? refreshSeconds : undefined
      const { channel } = found.facts
      const showsContent = settings.SUPPORT_SHOW_CONTENT
      return c.html(
        <SendPage {...{ timeline, story, channel, context, showsContent }} refreshSeconds={refresh} />,
      )
    },
  }
}
