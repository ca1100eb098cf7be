import { pageOfAudit } from '../../../db/audit/list.ts'
import { countByHour, countedSince, countFailures } from '../../../db/counters/read.ts'
import { findAccounts } from '../../../db/overview/accounts.ts'
import { readAttention } from '../../../db/overview/attention.ts'
import { busiestChannels, countChannels, readChannels } from '../../../db/overview/channels.ts'
import { isStorable } from '../../core/requests/characters.ts'
import { changesShown } from '../audit/history.tsx'
import { type AdminApp, type AdminRuntime, factory } from '../context.ts'
import { PageError } from '../errors.tsx'
import { hoursOf, spanNames } from '../numbers/spans.ts'
import { allow } from '../people/allow.ts'
import { channelsShown, TodayPage, type TodayQuery } from './today-page.tsx'

const reasonsShown = 20

/** The first page: what is going on (docs/how-to/see-what-is-going-on.md). */
export function today({ db }: AdminRuntime): AdminApp {
  const app: AdminApp = factory.createApp()

  app.get('/', allow('support'), async (c) => {
    const query = queryOf(c.req.query())
    const now = new Date()
    const [account, another] =
      query.account === undefined || !isStorable(query.account) ? [] : await findAccounts(db, query.account)
    if (query.account !== undefined && !account) throw new PageError(404, 'There is no such account.')
    if (another) throw new PageError(400, 'Several accounts have this name. Enter the id of one.')
    const set = account ? ({ of: 'account', id: account.accountId } as const) : ({ of: 'all' } as const)
    const hours = hoursOf(query.span, now)
    const [attention, since, byHour, failures, listed, changes] = await Promise.all([
      readAttention(db),
      countedSince(db),
      countByHour(db, set, hoursOf('week', now)),
      countFailures(db, set, hours, reasonsShown),
      list(query.skip, hoursOf('day', now), hours, account?.accountId),
      account && pageOfAudit(db, { target: account.accountId, limit: changesShown }),
    ])
    const shownQuery = { ...query, account: account?.accountId }
    return c.html(
      <TodayPage
        query={shownQuery}
        accountName={account?.name}
        countedSince={since}
        {...{ now, attention, byHour, failures }}
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
    const [found, counts] = await Promise.all([readChannels(db, shown), countChannels(db, shown, hours)])
    const byId = new Map(found.map((channel) => [channel.channelId, channel]))
    return {
      channels: shown.flatMap((id) => byId.get(id) ?? []),
      counts,
      isMore: ranked.length > channelsShown,
    }
  }
  return app
}

function queryOf({ account, span, skip }: Record<string, string>): TodayQuery {
  const typed = account?.trim()
  return {
    account: typed || undefined,
    span: spanNames.find((name) => name === span) ?? 'day',
    skip: /^\d{1,6}$/.test(skip ?? '') ? Number(skip) : 0,
  }
}
