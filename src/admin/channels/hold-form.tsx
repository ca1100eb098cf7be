import type { ListedChannel } from '../../../db/overview/channels.ts'
import { ReasonField } from '../page/reason.tsx'

/** Holds or resumes a channel, as `outbound channel hold` and `resume` do. */
export function HoldForm({ channel: { channelId, heldAt } }: { channel: ListedChannel }) {
  const verb = heldAt ? 'resume' : 'hold'
  return (
    <section aria-labelledby="change">
      <h2 id="change">{heldAt ? 'Resume the channel' : 'Hold the channel'}</h2>
      <p>
        {heldAt
          ? 'Its sends go again, at once.'
          : 'No further call is made for its sends. They wait, without using attempts, until it is resumed.'}
      </p>
      <form class="inline" method="post" action={`/channels/${channelId}/${verb}`}>
        <ReasonField />
        <button type="submit" class={heldAt ? 'main' : 'danger'}>
          {heldAt ? 'Resume' : 'Hold'}
        </button>
      </form>
    </section>
  )
}
