import type { Context } from 'hono'
import { z } from 'zod'
import { holdChannel, resumeChannel } from '../../../db/accounts/channels.ts'
import { pageOfAudit } from '../../../db/audit/list.ts'
import { audited } from '../../../db/audit/record.ts'
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
import { heldByOperator } from '../../core/sends/own-reasons.ts'
import { knownNames } from '../../providers/known.ts'
import { changesShown } from '../audit/history.tsx'
import { pageActor } from '../audit/page-actor.ts'
import { type AdminApp, type AdminEnv, type AdminRuntime, factory } from '../context.ts'
import { PageError } from '../errors.tsx'
import { formLimit } from '../http/form-limit.ts'
import { hoursCharted, hoursOf } from '../numbers/spans.ts'
import { reasonOf } from '../page/reason.tsx'
import { allow } from '../people/allow.ts'
import { ChannelPage } from './channel-page.tsx'
import { ChannelListPage } from './list-page.tsx'

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
export function channels({ db, log }: AdminRuntime): AdminApp {
  const app: AdminApp = factory.createApp()

  app.use(formLimit)
  app.get('/', allow('support'), async (c) => {
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
      <ChannelListPage channels={found.channels} {...{ filter, total, counts, lastFailures, next }} />,
    )
  })

  app.get('/:channelId', allow('support'), async (c) => {
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

  app.post('/:channelId/hold', allow('operator'), async (c) => {
    const channelId = idOf(c)
    const reason = await reasonOf(c)
    const isHeld = await audited(
      db,
      (transaction) => holdChannel(transaction, channelId, heldByOperator(reason)),
      (isThere) =>
        isThere && { ...pageActor(c), action: 'channel.hold', target: channelId, details: { reason } },
    )
    if (!isHeld) throw noChannel()
    log.info({ event: 'channel_hold_changed', channelId, to: 'held', by: c.get('person').name })
    return c.redirect(`/channels/${channelId}`, 303)
  })

  app.post('/:channelId/resume', allow('operator'), async (c) => {
    const channelId = idOf(c)
    const reason = await reasonOf(c)
    const isResumed = await audited(
      db,
      (transaction) => resumeChannel(transaction, channelId),
      (isThere) =>
        isThere && { ...pageActor(c), action: 'channel.resume', target: channelId, details: { reason } },
    )
    if (!isResumed) throw noChannel()
    log.info({ event: 'channel_hold_changed', channelId, to: 'resumed', by: c.get('person').name })
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
