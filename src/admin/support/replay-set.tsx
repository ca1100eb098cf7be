import type { Context } from 'hono'
import { findChannelIds } from '../../../db/accounts/channels.ts'
import { auditedInPages } from '../../../db/audit/record.ts'
import { databaseNow } from '../../../db/clock.ts'
import { type ReplaySet, replaySends, tryReplay } from '../../../db/sends/replay-sets.ts'
import { defaultReplayLimit as limit, replaysPerSecond } from '../../../db/sends/replays.ts'
import { replayResult, sendsReplayed } from '../../core/audit-details.ts'
import { isStorable } from '../../core/characters.ts'
import { pageActor } from '../audit/page-actor.ts'
import { type AdminApp, type AdminEnv, type AdminRuntime, factory } from '../context.ts'
import { PageError } from '../errors.tsx'
import { allow } from '../people/allow.ts'
import { fieldsOf } from './form-fields.ts'
import { DonePage, doneIn, doneLink, type Options, TrialPage } from './replay-set-pages.tsx'
import { readSearchForm, type SearchInput, searchInputIn } from './search-form.ts'

const longestReason = 500

/**
 * Replays the sends of a search, by the rules of the command `replay` (db/sends/replay-sets.ts). The first form shows which
 * sends would be replayed and which left out; the second one replays exactly those.
 */
export function replaySet({ db, log }: AdminRuntime): AdminApp {
  const app: AdminApp = factory.createApp()
  app.get('/', allow('support'), (c) => c.redirect('/support'))
  app.get('/done', allow('support'), (c) => {
    const fields = c.req.query()
    return c.html(<DonePage input={searchInputIn(fields)} done={doneIn(fields)} />)
  })

  app.post('/', allow('support'), async (c) => {
    const fields = await fieldsOf(c)
    const input = searchInputIn(fields)
    const set = { ...(await setOf(input)), ...optionsIn(fields) }
    return 'confirmed' in fields ? carryOut(c, input, { ...set, ...boundsIn(fields) }) : show(c, input, set)
  })

  async function show(c: Context, input: SearchInput, set: ReplaySet) {
    const endedBy = await databaseNow(db)
    const would = await tryReplay(db, { ...set, endedBy })
    return c.html(<TrialPage {...{ input, would, set, endedBy, limit, replaysPerSecond }} />)
  }

  async function carryOut(c: Context<AdminEnv>, input: SearchInput, set: ReplaySet) {
    const row = { ...pageActor(c), ...sendsReplayed(set) }
    const done = await auditedInPages(db, row, {
      change: () => replaySends(db, set),
      resultOf: replayResult,
    })
    const { channelId, status, includeExpired, includeRefused } = set
    const what = { channelId, status, includeExpired, includeRefused, ...done }
    log.info({ event: 'set_replayed', by: 'support page', ...what })
    // Redirects to a page of its own, because reloading a form's response would submit the form again.
    return c.redirect(doneLink(input, done), 303)
  }

  async function setOf(input: SearchInput): Promise<ReplaySet> {
    const read = readSearchForm(input)
    if ('issues' in read) throw new PageError(400, read.issues.join(' '))
    const { channel, contact, messageId, state, from, to } = read.form
    if (channel === undefined || messageId !== undefined || (state !== 'failed' && state !== 'uncertain')) {
      throw new PageError(
        400,
        'To replay a list, search by one channel and by the state failed or uncertain.',
      )
    }
    const [channelId, another] = await findChannelIds(db, channel)
    if (channelId === undefined) throw new PageError(404, 'Channel: no channel has this id or name.')
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
    throw new PageError(400, `Reason: enter at most ${longestReason} characters.`)
  }
  return {
    includeExpired: includeExpired === 'yes',
    includeRefused: includeRefused === 'yes',
    ...(text !== '' && { reason: text }),
  }
}

/**
 * The bounds of the set that the user confirmed. Without `endedBy`, the form would also replay sends that failed since then,
 * even those that it replayed itself. Without `lastSeq`, submitting the form twice would replay sends beyond the limit.
 */
function boundsIn({ endedBy, lastSeq }: Record<string, unknown>): { endedBy: Date; lastSeq: string } {
  const moment = new Date(typeof endedBy === 'string' ? endedBy : '')
  if (!Number.isNaN(moment.getTime()) && typeof lastSeq === 'string' && /^\d{1,18}$/.test(lastSeq))
    return { endedBy: moment, lastSeq }
  throw new PageError(400, 'This form could not be read. Search again.')
}
