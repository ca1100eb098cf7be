import type { Counts } from '../../../db/counters/read.ts'
import type { ListedChannel } from '../../../db/overview/channels.ts'
import { ChannelName, ChannelState, Waiting } from '../channels/channel-state.tsx'
import { figureColumn } from '../channels/figure-column.tsx'
import { type Figure, firstHourOf, type Span, spanNames, spans } from '../numbers/spans.ts'
import { Sparkline } from '../numbers/sparkline.tsx'
import { type Column, DataTable } from '../page/data-table.tsx'

export const channelsShown = 50

export interface TodayQuery {
  /** An account's id. */
  account: string | undefined
  span: Span
  /** How many channels are left out before those that are shown. */
  skip: number
}

export interface ListedChannels {
  channels: readonly ListedChannel[]
  counts: ReadonlyMap<string, Counts>
  /** Accepted sends of each channel by the hour. */
  trends: ReadonlyMap<string, readonly number[]>
  isMore: boolean
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
]

/** The channels, those first whose sends went wrong, with their counts. */
export function ByChannel({
  query,
  now,
  channels,
  isMore,
  ...numbers
}: ListedChannels & { query: TodayQuery; now: Date }) {
  const { span, skip } = query
  return (
    <section aria-labelledby="channels">
      <div class="head">
        <h2 id="channels">By channel</h2>
        <nav class="tabs" aria-label="Time">
          {spanNames.map((name) => (
            <a href={linkTo({ ...query, span: name })} aria-current={name === span ? 'true' : undefined}>
              {spans[name].name}
            </a>
          ))}
        </nav>
      </div>
      {channels.length === 0 ? (
        <p class="empty">
          No channel. An operator creates an <a href="/accounts">account</a> first, then its channel.
        </p>
      ) : (
        <DataTable
          label="Channels and their sends"
          rows={channels}
          idOf={({ channelId }) => channelId}
          columns={columnsOf(numbers, firstHourOf(span, now))}
        />
      )}
      <p class="row">
        {skip > 0 && (
          <a class="button" href={linkTo({ ...query, skip: Math.max(0, skip - channelsShown) })}>
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

function columnsOf(
  { counts, trends }: Pick<ListedChannels, 'counts' | 'trends'>,
  from: Date,
): Column<ListedChannel>[] {
  return [
    {
      name: 'Channel',
      cell: (channel) => (
        <>
          <ChannelName channel={channel} />
          <ChannelState channel={channel} />
        </>
      ),
    },
    {
      name: '24 hours',
      title: 'accepted sends by the hour',
      cell: ({ channelId }) => <Sparkline counts={trends.get(channelId) ?? []} />,
    },
    ...shownFigures.map((figure) => figureColumn(figure, counts, from)),
    {
      name: 'Waiting',
      title: 'queued, or being sent, at this moment',
      isNumber: true,
      cell: (channel) => <Waiting channel={channel} />,
    },
  ]
}
