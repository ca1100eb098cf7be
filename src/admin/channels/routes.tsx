import type { Context } from 'hono'
import { z } from 'zod'
import { pageOfAudit } from '../../../db/audit/list.ts'
import { countByHour, countedSince, countFailures } from '../../../db/counters/read.ts'
import {
  type ChannelFilter,
  countChannels,
  countListedChannels,
  findLastFailures,
  listChannels,
  readChannelFacts,
  readChannels,
} from '../../../db/overview/channels.ts'
import { channelStatuses } from '../../core/channels/channel-status.ts'
import { isStorable } from '../../core/requests/characters.ts'
import { placeIn } from '../../core/requests/list-place.ts'
import { canBeRecordId } from '../../core/requests/record-id.ts'
import { knownNames } from '../../providers/known.ts'
import { endChannel, switchChannel } from '../../setup/channels/channels.ts'
import { changesShown } from '../audit/history.tsx'
import { makingOf, pageActor } from '../audit/page-actor.ts'
import { type AdminApp, type AdminEnv, type AdminRuntime, factory } from '../context.ts'
import { PageError } from '../errors.tsx'
import { formLimit } from '../http/form-limit.ts'
import { hoursCharted, hoursOf } from '../numbers/spans.ts'
import { reasonOf } from '../page/reason.tsx'
import { allow } from '../people/allow.ts'
import { ChannelPage } from './channel-page.tsx'
import { DeletePage } from './delete-page.tsx'
import { channelForms } from './form/routes.tsx'
import { ChannelListPage } from './list-page.tsx'
import { templates } from './templates/routes.tsx'
import { tries } from './try.tsx'

const pageSize = 50
const reasonsShown = 20

const places = placeIn(
  z.object({
    rank: z.int32(),
    name: z.string().refine(isStorable),
    channelId: z.string().refine(canBeRecordId),
  }),
)

/** The pages of channels. */
export function channels(runtime: AdminRuntime): AdminApp {
  const { db } = runtime
  const app: AdminApp = factory.createApp()

  app.use(formLimit)
  // Before the pages of one channel, of which `new` would be an id.
  app.route('/', channelForms(runtime))
  app.route('/', templates(runtime))
  app.route('/', tries(runtime))
  app.get('/', allow('reader'), async (c) => {
    const filter = { ...filterOf(c.req.query()), account: c.get('account')?.accountId }
    const after = places.read(c.req.query('after'))
    const found = await listChannels(db, filter, { after, limit: pageSize })
    const ids = found.channels.map(({ channelId }) => channelId)
    const [total, counts, lastFailures] = await Promise.all([
      countListedChannels(db, filter),
      countChannels(db, ids, hoursOf('hour', new Date())),
      findLastFailures(db, ids),
    ])
    const set = Object.entries(filter).filter(([, value]) => value !== undefined) as [string, string][]
    const next =
      found.next && `/channels?${new URLSearchParams([...set, ['after', places.write(found.next)]])}`
    return c.html(
      <ChannelListPage
        channels={found.channels}
        isOperator={c.get('person').role === 'operator'}
        {...{ filter, total, counts, lastFailures, next }}
      />,
    )
  })

  app.get('/:channelId', allow('reader'), async (c) => {
    const channelId = idOf(c)
    const now = new Date()
    const set = { of: 'channel', id: channelId } as const
    const [[channel], facts, lastFailures, byHour, failures, since, { items: changes }] = await Promise.all([
      readChannels(db, [channelId]),
      readChannelFacts(db, channelId),
      findLastFailures(db, [channelId]),
      countByHour(db, set, hoursCharted(now)),
      countFailures(db, set, hoursOf('day', now), reasonsShown),
      countedSince(db),
      pageOfAudit(db, { target: channelId, limit: changesShown }),
    ])
    if (!channel || !facts) throw noChannel()
    const shown = { channel, facts, lastFailure: lastFailures.get(channelId), byHour, failures, now, changes }
    return c.html(<ChannelPage {...shown} role={c.get('person').role} countedSince={since} />)
  })

  app.route('/', switches(runtime))
  return app
}

/** Holds, resumes and deletes channels, as the commands do. */
function switches(runtime: AdminRuntime): AdminApp {
  const app: AdminApp = factory.createApp()
  const { log } = runtime
  for (const verb of ['hold', 'resume'] as const) {
    app.post(`/:channelId/${verb}`, allow('operator'), async (c) => {
      const channelId = idOf(c)
      const reason = await reasonOf(c)
      const making = { db: runtime.db, actor: pageActor(c) }
      if (!(await switchChannel(making, verb, channelId, reason))) throw noChannel()
      const to = verb === 'hold' ? 'held' : 'resumed'
      log.info({ event: 'channel_hold_changed', channelId, to, by: c.get('person').name })
      return c.redirect(`/channels/${channelId}`, 303)
    })
  }

  app.get('/:channelId/delete', allow('operator'), async (c) => {
    const [channel] = await readChannels(runtime.db, [idOf(c)])
    if (!channel || channel.deletedAt) throw noChannel()
    return c.html(<DeletePage channel={channel} />)
  })

  app.post('/:channelId/delete', allow('operator'), async (c) => {
    const channelId = idOf(c)
    const deletion = await endChannel(makingOf(c, runtime), channelId)
    if (!deletion) throw noChannel()
    if ('sending' in deletion)
      throw new PageError(
        409,
        `${deletion.sending} of its sends ${deletion.sending === 1 ? 'is' : 'are'} being sent. Hold the channel, and delete it when they have ended.`,
      )
    return c.redirect(`/channels/${channelId}`, 303)
  })
  return app
}

const noChannel = () => new PageError(404, 'There is no such channel.')

function idOf(c: Context<AdminEnv>): string {
  const channelId = c.req.param('channelId') ?? ''
  if (!canBeRecordId(channelId)) throw noChannel()
  return channelId
}

function filterOf({ provider, state, name }: Record<string, string>): ChannelFilter {
  const text = (typed: string | undefined) => {
    const trimmed = typed?.trim()
    return trimmed && isStorable(trimmed) ? trimmed : undefined
  }
  return {
    provider: knownNames().find((known) => known === provider),
    state: channelStatuses.find((known) => known === state),
    name: text(name),
  }
}
