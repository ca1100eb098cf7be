import { countedWaiting, type LastFailure, type ListedChannel } from '../../../db/overview/channels.ts'
import { channelStatus } from '../../core/channels/channel-status.ts'
import { formatCount } from '../numbers/spans.ts'
import { Moment } from '../page/inline-elements.tsx'
import { listLink } from '../sends/list-form.ts'

const stateClass = { ready: 'sent', failing: 'failed', held: 'failed' } as const

/** Whether a channel's sends go, since when not, and why. */
export function ChannelState({ channel }: { channel: ListedChannel }) {
  const { status, statusSince, statusReason } = channelStatus(channel)
  if (channel.deletedAt) return <span class="muted">deleted</span>
  return (
    <>
      <span class={`state ${stateClass[status]}`}>{status}</span>
      {statusSince && (
        <small class="reason">
          since <Moment at={statusSince} />
          {statusReason !== null && `: ${statusReason}`}
        </small>
      )}
    </>
  )
}

/** The provider's last answer to a failed call: when, and of which send. */
export function LastFailedAnswer({ requestId, at, record }: LastFailure) {
  const parts = [record.reason, record.providerStatus, record.providerCode]
  const words = parts.filter((part) => part !== undefined && part !== null && part !== '')
  return (
    <>
      {words.join(' · ')}, at <Moment at={at} />: <a href={`/support/${requestId}`}>the send</a>
    </>
  )
}

/** How many sends wait. Beyond a number they are not counted. */
export function Waiting({ channel: { channelId, waiting } }: { channel: ListedChannel }) {
  if (waiting === 0) return <>0</>
  return (
    <a href={listLink({ channelId, status: 'waiting_now' })}>
      {waiting > countedWaiting ? `more than ${formatCount(countedWaiting)}` : formatCount(waiting)}
    </a>
  )
}

/** Since when the first has been due; nothing if it isn't due yet. */
export function DueSince({ at }: { at: Date | null }) {
  if (!at || at.getTime() > Date.now()) return <>–</>
  return <Moment at={at} />
}

/** A number of channels of a provider, which leads to their list. */
export const ChannelCount = ({
  provider,
  state,
  count,
}: {
  provider: string
  state?: 'failing'
  count: number
}) => (
  <a href={`/channels?${new URLSearchParams({ provider, ...(state && { state }) })}`}>{formatCount(count)}</a>
)
