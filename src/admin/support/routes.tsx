import type { Context } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { findChannelIds } from '../../../db/channels.ts'
import { searchSends } from '../../../db/search.ts'
import { findSendContext } from '../../../db/send-context.ts'
import { findStory } from '../../../db/story.ts'
import { explainUnknownId, findRequestId } from '../../core/request-id.ts'
import { tellStory } from '../../core/story.ts'
import { buildTimeline } from '../../core/timeline.ts'
import { type AdminApp, type AdminRuntime, factory } from '../context.ts'
import { PageError } from '../errors.tsx'
import { replay } from './replay.tsx'
import { type Asked, askedIn, readSearchForm, searchLink } from './search-form.ts'
import { SearchPage } from './search-page.tsx'
import { SendPage } from './send-page.tsx'
import { UnknownIdPage } from './unknown-id-page.tsx'

/** A log line, however long, and its stack. */
const maxFormBytes = 256 * 1024
const refreshSeconds = 3

/** Where is my message? (docs/support.md) */
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
  app.get('/search', (c) => search(c, { ...askedIn(c.req.query()), contact: '' }))
  app.post('/search', async (c) => {
    const asked = askedIn(await fieldsOf(c))
    return asked.contact ? search(c, asked) : c.redirect(searchLink(asked), 303)
  })
  app.get('/:requestId', (c) => show(c, c.req.param('requestId')))
  app.route('/:requestId/replay', replay(runtime))
  return app
}

function handlers({ db, settings }: AdminRuntime) {
  const unknown = (c: Context, pasted: string) => {
    const facts = { now: new Date(), retentionDays: settings.RETENTION_DAYS }
    return c.html(<UnknownIdPage pasted={pasted} unknown={explainUnknownId(pasted, facts)} />, 404)
  }

  return {
    find(c: Context, pasted: string) {
      const requestId = findRequestId(pasted)
      return requestId === undefined ? unknown(c, pasted) : c.redirect(`/support/${requestId}`, 303)
    },

    async search(c: Context, asked: Asked) {
      const read = readSearchForm(asked)
      if ('faults' in read) return c.html(<SearchPage asked={asked} faults={read.faults} />, 400)
      const { channel, contact, state, from, to, before } = read.form
      const channelIds = channel === undefined ? undefined : await findChannelIds(db, channel)
      if (channelIds?.length === 0) {
        return c.html(<SearchPage asked={asked} faults={['Channel: none has this id or name.']} />, 404)
      }
      const page = await searchSends(db, {
        channelIds,
        contactValue: contact,
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
      const found = requestId === undefined ? undefined : await findStory(db, requestId)
      const context =
        found && (await findSendContext(db, found.send.requestId, settings.SUPPORT_SHOW_CONTENT))
      if (!found || !context) return unknown(c, given)
      const timeline = buildTimeline(found.send, found.events, 'masked')
      const story = tellStory(timeline, found.facts)
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

async function fieldsOf(c: Context): Promise<Record<string, unknown>> {
  try {
    return await c.req.parseBody()
  } catch {
    throw new PageError(400, 'That form could not be read. Open the page again and send it once more.')
  }
}
