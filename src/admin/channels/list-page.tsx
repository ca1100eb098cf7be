import type { Counts } from '../../../db/counters/read.ts'
import type { ChannelFilter, LastFailure, ListedChannel } from '../../../db/overview/channels.ts'
import type { Count } from '../../../db/sends/list-count.ts'
import { channelStatuses } from '../../core/channels/channel-status.ts'
import { plainWarning } from '../../core/channels/plain-channel.ts'
import { knownNames } from '../../providers/known.ts'
import { type Figure, firstHourOf, totalOf } from '../numbers/spans.ts'
import { type Column, DataTable } from '../page/data-table.tsx'
import { Choice, TextField } from '../page/fields.tsx'
import { FilterForm } from '../page/filter-form.tsx'
import { Layout } from '../page/layout.tsx'
import { PageHead } from '../page/page-head.tsx'
import { ChannelName, ChannelState, LastFailedAnswer, Waiting } from './channel-state.tsx'
import { figureColumn } from './figure-column.tsx'

interface ListPageProps {
  filter: ChannelFilter
  isOperator: boolean
  channels: readonly ListedChannel[]
  total: Count
  /** Counts of the last hour. */
  counts: ReadonlyMap<string, Counts>
  lastFailures: ReadonlyMap<string, LastFailure>
  /** The link to the next page. */
  next: string | undefined
}

/** All channels; those that are held or fail come first. */
export function ChannelListPage({
  filter,
  isOperator,
  channels,
  total,
  counts,
  lastFailures,
  next,
}: ListPageProps) {
  const { account: _, ...filters } = filter
  const isFiltered = Object.values(filters).some(Boolean)
  return (
    <Layout title="Channels" at="/channels">
      <PageHead
        title="Channels"
        about={`${totalOf(total, 'channel')}; those that are held or fail come first`}
      >
        {isOperator && (
          <a class="button main" href="/channels/new">
            New channel
          </a>
        )}
      </PageHead>
      <FilterForm action="/channels" isOpen={isFiltered}>
        <TextField name="name" label="Name" value={filter.name} hint="A part of it, or the whole id" />
        <Choice name="provider" label="Provider" value={filter.provider} options={knownNames()} />
        <Choice name="state" label="State" value={filter.state} options={channelStatuses} />
      </FilterForm>
      <section aria-label="Channels">
        {channels.length > 0 ? (
          <List {...{ channels, counts, lastFailures }} />
        ) : (
          <p class="empty">
            {isFiltered || filter.account !== undefined ? 'No channel found.' : 'No channel yet.'} An operator
            creates one here.
          </p>
        )}
        {next !== undefined && (
          <p>
            <a class="button" href={next}>
              More channels
            </a>
          </p>
        )}
      </section>
    </Layout>
  )
}

function List({
  channels,
  counts,
  lastFailures,
}: Pick<ListPageProps, 'channels' | 'counts' | 'lastFailures'>) {
  const from = firstHourOf('hour', new Date())
  const lastHour = (figure: Figure): Column<ListedChannel> => ({
    ...figureColumn(figure, counts, from),
    name: `${figure}, last hour`,
  })
  return (
    <DataTable
      label="Channels"
      rows={channels}
      idOf={({ channelId }) => channelId}
      columns={[
        { name: 'Channel', cell: (channel) => <NameAndWarning channel={channel} /> },
        { name: 'State', cell: (channel) => <ChannelState channel={channel} /> },
        {
          name: 'Last failed answer',
          cell: ({ channelId }) => <LastAnswer {...lastFailures.get(channelId)} />,
        },
        { name: 'Waiting', isNumber: true, cell: (channel) => <Waiting channel={channel} /> },
        lastHour('Accepted'),
        lastHour('Failed'),
      ]}
    />
  )
}

function NameAndWarning({ channel }: { channel: ListedChannel }) {
  const warning = plainWarning(channel.shownConfig)
  return (
    <>
      <ChannelName channel={channel} />
      {warning !== undefined && <small class="below">Warning: {warning}</small>}
    </>
  )
}

const LastAnswer = ({ requestId, at, record }: Partial<LastFailure>) =>
  requestId && at && record ? <LastFailedAnswer {...{ requestId, at, record }} /> : <>–</>
