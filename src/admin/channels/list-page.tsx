import type { Counts } from '../../../db/counters/read.ts'
import type { ChannelFilter, LastFailure, ListedChannel } from '../../../db/overview/channels.ts'
import { channelStatuses } from '../../core/channels/channel-status.ts'
import { plainWarning } from '../../core/channels/plain-channel.ts'
import { providerNames } from '../../providers/index.ts'
import { FigureLink } from '../numbers/figure-link.tsx'
import { alarming } from '../numbers/figures.tsx'
import { figuresOf, firstHourOf, noCounts } from '../numbers/spans.ts'
import { tableRows } from '../page/each-shown.tsx'
import { Choice, TextField } from '../page/fields.tsx'
import { Layout } from '../page/layout.tsx'
import { ChannelState, DueSince, LastFailedAnswer, Waiting } from './channel-state.tsx'

interface ListPageProps {
  filter: ChannelFilter
  channels: readonly ListedChannel[]
  /** Counts of the last hour. */
  counts: ReadonlyMap<string, Counts>
  lastFailures: ReadonlyMap<string, LastFailure>
  /** The link to the next page. */
  next: string | undefined
}

/** All channels; those with waiting sends first. */
export function ChannelListPage({ filter, channels, counts, lastFailures, next }: ListPageProps) {
  return (
    <Layout title="Channels" at="/channels" isWide>
      <h1>Channels</h1>
      <Filters filter={filter} />
      <section aria-labelledby="list">
        <h2 id="list">
          {Object.values(filter).some(Boolean) ? 'Found' : 'All channels; those with waiting sends first'}
        </h2>
        {channels.length === 0 ? <p>No channel found.</p> : <List {...{ channels, counts, lastFailures }} />}
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

function Filters({ filter: { provider, state, account, name } }: { filter: ChannelFilter }) {
  const isOpen = [provider, state, account, name].some(Boolean)
  return (
    <details class="search" open={isOpen}>
      <summary>Search by name, account, provider or state</summary>
      <form method="get" action="/channels">
        <TextField name="name" label="Name" value={name} hint="A part of it, or the whole id" />
        <TextField name="account" label="Account" value={account} hint="Its whole name or id" />
        <Choice name="provider" label="Provider" value={provider} options={providerNames} />
        <Choice name="state" label="State" value={state} options={channelStatuses} />
        <button type="submit">Search</button>
      </form>
    </details>
  )
}

function List({
  channels,
  counts,
  lastFailures,
}: Pick<ListPageProps, 'channels' | 'counts' | 'lastFailures'>) {
  return (
    <div class="scroll">
      <table class="numbers">
        <thead>
          <tr>
            <th scope="col">Channel</th>
            <th scope="col">Account</th>
            <th scope="col">Provider</th>
            <th scope="col">State</th>
            <th scope="col">Last failed answer</th>
            <th scope="col">Waiting</th>
            <th scope="col">Oldest due since</th>
            <th scope="col">Accepted, last hour</th>
            <th scope="col">Failed, last hour</th>
          </tr>
        </thead>
        <tbody>
          {tableRows(9, {
            rows: channels,
            idOf: ({ channelId }) => channelId,
            render: (channel) => {
              const lastFailure = lastFailures.get(channel.channelId)
              const { Accepted, Failed } = figuresOf(counts.get(channel.channelId) ?? noCounts)
              const shown = { of: { channelId: channel.channelId }, from: firstHourOf('hour', new Date()) }
              const warning = plainWarning(channel.shownConfig)
              return (
                <tr>
                  <td class="words">
                    <a href={`/channels/${channel.channelId}`}>{channel.name}</a>
                    {warning !== undefined && <small class="reason">Warning: {warning}</small>}
                  </td>
                  <td data-label="Account" class="words">
                    {channel.accountName}
                  </td>
                  <td data-label="Provider">{channel.provider}</td>
                  <td data-label="State">
                    <ChannelState channel={channel} />
                  </td>
                  <td data-label="Last failed answer" class="words">
                    <span>{lastFailure ? <LastFailedAnswer {...lastFailure} /> : '–'}</span>
                  </td>
                  <td data-label="Waiting">
                    <Waiting channel={channel} />
                  </td>
                  <td data-label="Oldest due since">
                    <DueSince at={channel.oldestDue} />
                  </td>
                  <td data-label="Accepted, last hour">
                    <FigureLink {...shown} figure="Accepted" count={Accepted} />
                  </td>
                  <td data-label="Failed, last hour" class={alarming('Failed', Failed)}>
                    <FigureLink {...shown} figure="Failed" count={Failed} />
                  </td>
                </tr>
              )
            },
          })}
        </tbody>
      </table>
    </div>
  )
}
