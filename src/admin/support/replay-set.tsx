import type { Context } from 'hono'
import { findChannelIds } from '../../../db/accounts/channels.ts'
import { databaseNow } from '../../../db/clock.ts'
import { type ReplaySet, replaySends, tryReplay } from '../../../db/support/replay-sets.ts'
import { replaysPerSecond } from '../../../db/support/replays.ts'
import { isStorable } from '../../core/characters.ts'
import { type AdminApp, type AdminRuntime, factory } from '../context.ts'
import { PageError } from '../errors.tsx'
import { fieldsOf } from './form-fields.ts'
import { DonePage, doneIn, doneLink, type Options, TrialPage } from './replay-set-pages.tsx'
import { type Asked, askedIn, readSearchForm } from './search-form.ts'

/** As many as the command `replay` takes unless told. */
const limit = 1000
const longestReason = 500

/**
 * Replays the sends of a search, as the command `replay` does a set, by the same rules (db/support/replay-sets.ts): shows first
 * what would be replayed and what left out, and then does exactly that, on a second form.
 */
export function replaySet({ db, log }: AdminRuntime): AdminApp {
  const app: AdminApp = factory.createApp()
  app.get('/', (c) => c.redirect('/support'))
  app.get('/done', (c) => {
    const fields = c.req.query()
    return c.html(<DonePage asked={askedIn(fields)} done={doneIn(fields)} />)
  })

  app.post('/', async (c) => {
    const fields = await fieldsOf(c)
    const asked = askedIn(fields)
    const set = { ...(await setOf(asked)), ...optionsIn(fields) }
    return 'confirmed' in fields ? carryOut(c, asked, { ...set, ...boundsIn(fields) }) : show(c, asked, set)
  })

  async function show(c: Context, asked: Asked, set: ReplaySet) {
    const endedBy = await databaseNow(db)
    const would = await tryReplay(db, { ...set, endedBy })
    return c.html(<TrialPage {...{ asked, would, set, endedBy, limit, replaysPerSecond }} />)
  }

  async function carryOut(c: Context, asked: Asked, set: ReplaySet) {
    const done = await replaySends(db, set)
    const { channelId, status, includeExpired, includeRefused } = set
    const what = { channelId, status, includeExpired, includeRefused, ...done }
    log.info({ event: 'set_replayed', by: 'support page', ...what })
    // A page of its own: loading it anew sends no form again.
    return c.redirect(doneLink(asked, done), 303)
  }

  async function setOf(asked: Asked): Promise<ReplaySet> {
    const read = readSearchForm(asked)
    if ('faults' in read) throw new PageError(400, read.faults.join(' '))
    const { channel, contact, messageId, state, from, to } = read.form
    if (channel === undefined || messageId !== undefined || (state !== 'failed' && state !== 'uncertain')) {
      throw new PageError(
        400,
        'To replay a list, search by one channel and by the state failed or uncertain.',
      )
    }
    const [channelId, another] = await findChannelIds(db, channel)
    if (channelId === undefined) throw new PageError(404, 'Channel: none has this id or name.')
    if (another !== undefined) {
      throw new PageError(409, 'Several channels have this name. Search by the id of one of them.')
    }
    return { channelId, status: state, contactValue: contact, since: from, until: to, limit }
  }
  return app
}

function optionsIn({ includeExpired, includeRefused, reason }: Record<string, unknown>): Options {
  const text = typeof reason === 'string' ? reason.trim() : ''
  if (text.length > longestReason || !isStorable(text)) {
    throw new PageError(400, `Reason: at most ${longestReason} characters of it.`)
  }
  return {
    includeExpired: includeExpired === 'yes',
    includeRefused: includeRefused === 'yes',
    ...(text !== '' && { reason: text }),
  }
}

/**
 * Of the trial. Without `endedBy` the form would replay what failed since, or what it replayed itself and failed again; without
 * `lastSeq`, sent a second time, the sends after the limit, which nobody has confirmed.
 */
function boundsIn({ endedBy, lastSeq }: Record<string, unknown>): { endedBy: Date; lastSeq: string } {
  const moment = new Date(typeof endedBy === 'string' ? endedBy : '')
  if (!Number.isNaN(moment.getTime()) && typeof lastSeq === 'string' && /^\d{1,18}$/.test(lastSeq))
    return { endedBy: moment, lastSeq }
  throw new PageError(400, 'That form could not be read. Search again.')
}
