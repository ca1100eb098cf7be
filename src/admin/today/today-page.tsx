import type { RecordedChange } from '../../../db/audit/list.ts'
import type { Counts, FailureCount } from '../../../db/counters/read.ts'
import type { Attention } from '../../../db/overview/attention.ts'
import type { ListedChannel } from '../../../db/overview/channels.ts'
import { History } from '../audit/history.tsx'
import { ChannelState, DueSince, Waiting } from '../channels/channel-state.tsx'
import { HourChart } from '../numbers/chart.tsx'
import { FailureTable } from '../numbers/failure-table.tsx'
import { FigureLink } from '../numbers/figure-link.tsx'
import { alarming, Figures, SpanNote } from '../numbers/figures.tsx'
import {
  type Figure,
  figuresOf,
  figureWords,
  firstHourOf,
  noCounts,
  type Span,
  spanNames,
  spans,
  sumOfSpan,
} from '../numbers/spans.ts'
import { Layout } from '../page/layout.tsx'
import { AttentionList } from './attention.tsx'

export interface TodayQuery {
  /** An account's id. */
  account: string | undefined
  span: Span
  /** How many channels are left out before those that are shown. */
  skip: number
}

interface TodayProps {
  query: TodayQuery
  accountName: string | undefined
  now: Date
  countedSince: Date | undefined
  attention: Attention
  /** Counts of all accounts, or of one. */
  byHour: readonly (Counts & { hour: Date })[]
  failures: readonly FailureCount[]
  channels: readonly ListedChannel[]
  counts: ReadonlyMap<string, Counts>
  isMore: boolean
  /** The account's changes; undefined where no account is chosen. */
  changes: readonly RecordedChange[] | undefined
}

export const channelsShown = 50

/** The start page: things that need a hand, and the results of the sends of the last hour, 24 hours and 7 days. */
export function TodayPage({ query, accountName, now, countedSince, ...shown }: TodayProps) {
  const { attention, byHour, failures, changes, ...listed } = shown
  const of = accountName === undefined ? 'All accounts' : `Account ${accountName}`
  const columns = spanNames.map((span) => ({ span, counts: sumOfSpan(byHour, span, now) }))
  const week = columns.find(({ span }) => span === 'week')?.counts ?? noCounts
  return (
    <Layout title="Today" at="/" isWide>
      <h1>Today</h1>
      {query.account === undefined && <AttentionList attention={attention} uncertain={week.uncertain} />}
      <section aria-labelledby="sums">
        <h2 id="sums">{of}</h2>
        <Figures columns={columns} of={{ accountId: query.account }} now={now} />
        <SpanNote from={firstHourOf('week', now)} countedSince={countedSince} />
        <HourChart byHour={byHour} of={{ accountId: query.account }} now={now} />
      </section>
      <AccountForm query={query} accountName={accountName} />
      <ByChannel query={query} now={now} {...listed} />
      <FailureTable
        failures={failures}
        title={`What went wrong, ${spans[query.span].name.toLowerCase()}`}
        of={{ accountId: query.account }}
        from={firstHourOf(query.span, now)}
      />
      {query.account !== undefined && changes && <History target={query.account} changes={changes} />}
    </Layout>
  )
}

function AccountForm({ query: { span }, accountName }: Pick<TodayProps, 'query' | 'accountName'>) {
  return (
    <form method="get" action="/" class="find">
      <label for="account">Account</label>
      <div class="row">
        <input
          id="account"
          name="account"
          type="search"
          value={accountName ?? ''}
          placeholder="Its name or id; empty for all"
          autocomplete="off"
        />
        <input type="hidden" name="span" value={span} />
        <button type="submit">Show</button>
      </div>
    </form>
  )
}

const linkTo = ({ account, span, skip }: TodayQuery): string =>
  `/?${new URLSearchParams({
    ...(account !== undefined && { account }),
    span,
    ...(skip > 0 && { skip: String(skip) }),
  })}`

const shownFigures: readonly Figure[] = [
  'Accepted',
  'Sent',
  'Delivered',
  'Read',
  'Undelivered',
  'Failed',
  'Uncertain',
  'Waiting',
]

interface ByChannelProps extends Pick<TodayProps, 'query' | 'now' | 'channels' | 'counts' | 'isMore'> {}

function ByChannel({ query, now, channels, counts, isMore }: ByChannelProps) {
  const { span, skip } = query
  return (
    <section aria-labelledby="channels">
      <h2 id="channels">By account and channel</h2>
      <nav class="tabs" aria-label="Time">
        {spanNames.map((name) => (
          <a href={linkTo({ ...query, span: name })} aria-current={name === span ? 'true' : undefined}>
            {spans[name].name}
          </a>
        ))}
      </nav>
      {channels.length === 0 ? (
        <p>No channel.</p>
      ) : (
        <div class="scroll">
          <table class="numbers">
            <thead>
              <tr>
                <th scope="col">Channel</th>
                <th scope="col">State</th>
                {shownFigures.map((name) => (
                  <th scope="col" title={figureWords[name]}>
                    {name}
                  </th>
                ))}
                <th scope="col">Waiting now</th>
                <th scope="col">Oldest due since</th>
              </tr>
            </thead>
            <tbody>
              {channels.map((channel) => (
                <ChannelRow
                  channel={channel}
                  from={firstHourOf(span, now)}
                  counts={counts.get(channel.channelId) ?? noCounts}
                />
              ))}
            </tbody>
          </table>
        </div>
      )}
      <p class="row">
        {skip > 0 && (
          <a class="button quiet" href={linkTo({ ...query, skip: Math.max(0, skip - channelsShown) })}>
            Before
          </a>
        )}
        {isMore && (
          <a class="button" href={linkTo({ ...query, skip: skip + channelsShown })}>
            More channels
          </a>
        )}
      </p>
    </section>
  )
}

interface ChannelRowProps {
  channel: ListedChannel
  counts: Counts
  from: Date
}

function ChannelRow({ channel, counts, from }: ChannelRowProps) {
  const of = { channelId: channel.channelId }
  const figures = figuresOf(counts)
  return (
    <tr>
      <td class="words">
        <a href={`/channels/${channel.channelId}`}>{channel.name}</a>{' '}
        <small>
          {channel.provider}, of {channel.accountName}
        </small>
      </td>
      <td data-label="State">
        <ChannelState channel={channel} />
      </td>
      {shownFigures.map((name) => (
        <td data-label={name} class={alarming(name, figures[name])}>
          <FigureLink {...{ of, from }} figure={name} count={figures[name]} />
        </td>
      ))}
      <td data-label="Waiting now">
        <Waiting channel={channel} />
      </td>
      <td data-label="Oldest due since">
        <DueSince at={channel.oldestDue} />
      </td>
    </tr>
  )
}
