import { pageOfAudit } from '../../../db/audit/list.ts'
import { acceptedByHour, countByHour, countedSince, countFailures } from '../../../db/counters/read.ts'
import { readAttention } from '../../../db/overview/attention.ts'
import { busiestChannels, countChannels, readChannels } from '../../../db/overview/channels.ts'
import { changesShown } from '../audit/history.tsx'
import { type AdminApp, type AdminRuntime, factory } from '../context.ts'
import { hoursCharted, hoursOf, spanNames } from '../numbers/spans.ts'
import { allow } from '../people/allow.ts'
import { channelsShown, type TodayQuery } from './by-channel.tsx'
import { TodayPage } from './today-page.tsx'

const reasonsShown = 20

/** The first page: what is going on (docs/how-to/see-what-is-going-on.md). */
export function today({ db }: AdminRuntime): AdminApp {
  const app: AdminApp = factory.createApp()

  app.get('/', allow('reader'), async (c) => {
    const account = c.get('account')
    const query = queryOf(c.req.query(), account?.accountId)
    const now = new Date()
    const set = account ? ({ of: 'account', id: account.accountId } as const) : ({ of: 'all' } as const)
    const hours = hoursOf(query.span, now)
    const [attention, since, byHour, failures, listed, changes] = await Promise.all([
      readAttention(db, account?.accountId),
      countedSince(db),
      countByHour(db, set, hoursCharted(now)),
      countFailures(db, set, hours, reasonsShown),
      list(query.skip, hoursOf('day', now), hours, account?.accountId),
      account && pageOfAudit(db, { target: account.accountId, limit: changesShown }),
    ])
    return c.html(
      <TodayPage
        {...{ query, account, now, attention, byHour, failures }}
        countedSince={since}
        changes={changes?.items}
        {...listed}
      />,
    )
  })

  /** The channels of a page, in the order of their last day, with their counts in given hours. */
  const list = async (
    skip: number,
    day: readonly Date[],
    hours: readonly Date[],
    account: string | undefined,
  ) => {
    const ranked = await busiestChannels(db, day, { account, limit: channelsShown + 1, skip })
    const shown = ranked.slice(0, channelsShown)
    const [found, counts, trends] = await Promise.all([
      readChannels(db, shown),
      countChannels(db, shown, hours),
      acceptedByHour(db, shown, day),
    ])
    const byId = new Map(found.map((channel) => [channel.channelId, channel]))
    return {
      channels: shown.flatMap((id) => byId.get(id) ?? []),
      counts,
      trends,
      isMore: ranked.length > channelsShown,
    }
  }
  return app
}

function queryOf({ span, skip }: Record<string, string>, account: string | undefined): TodayQuery {
  return {
    account,
    span: spanNames.find((name) => name === span) ?? 'day',
    skip: /^\d{1,6}$/.test(skip ?? '') ? Number(skip) : 0,
  }
}
