import { countedWaiting, type LastFailure, type ListedChannel } from '../../../db/overview/channels.ts'
import { channelStatus } from '../../core/channels/channel-status.ts'
import { priorities } from '../../core/sends/priority.ts'
import { formatCount } from '../numbers/spans.ts'
import { Moment } from '../page/inline-elements.tsx'
import { listLink } from '../sends/list-form.ts'

const stateClass = { ready: 'sent', failing: 'failed', held: 'failed' } as const

/** A channel's name, which leads to its page, and whose it is. */
export const ChannelName = ({ channel }: { channel: ListedChannel }) => (
  <>
    <a class="name" href={`/channels/${channel.channelId}`}>
      {channel.name}
    </a>
    <small class="below">
      {channel.provider} · {channel.accountName}
    </small>
  </>
)

/** Whether a channel's sends go, since when not, and why. */
export function ChannelState({ channel }: { channel: ListedChannel }) {
  const { status, statusSince, statusReason } = channelStatus(channel)
  if (channel.deletedAt) return <span class="state canceled">deleted</span>
  return (
    <>
      <span class={`state ${stateClass[status]}`}>{status}</span>
      {statusSince && (
        <small class="below">
          since <Moment at={statusSince} short />
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
      <a href={`/support/${requestId}`}>{words.join(' · ') || 'a call without an answer'}</a>
      <small class="below">
        at <Moment at={at} short />
      </small>
    </>
  )
}

const counted = (number: number) =>
  number > countedWaiting ? `more than ${formatCount(countedWaiting)}` : formatCount(number)

/** How many sends wait, by priority if not all are normal, and since when the first has been due. Beyond a number they are not counted. */
export function Waiting({
  channel: { channelId, waiting, waitingBy, oldestDue },
}: {
  channel: Pick<ListedChannel, 'channelId' | 'waiting' | 'waitingBy' | 'oldestDue'>
}) {
  if (waiting === 0) return <>0</>
  const kinds = priorities.filter((priority) => waitingBy[priority] > 0)
  return (
    <>
      <a href={listLink({ channelId, status: 'waiting_now' })}>{counted(waiting)}</a>
      {kinds.some((kind) => kind !== 'normal') && (
        <small class="below">
          {kinds.map((priority, place) => (
            <>
              {place > 0 && ', '}
              <a href={listLink({ channelId, status: 'waiting_now', priority })}>
                {counted(waitingBy[priority])} {priority}
              </a>
            </>
          ))}
        </small>
      )}
      <Overdue at={oldestDue} />
    </>
  )
}

/** Since when the first has been due; nothing if it isn't due yet. */
export function Overdue({ at }: { at: Date | null }) {
  if (!at || at.getTime() > Date.now()) return null
  return (
    <small class="below">
      due since <Moment at={at} short />
    </small>
  )
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
