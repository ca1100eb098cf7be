import type { ListedChannel } from '../../../db/overview/channels.ts'
import { Layout } from '../page/layout.tsx'
import { Waiting } from './channel-state.tsx'

/** Asks before a channel is deleted. */
export function DeletePage({ channel }: { channel: ListedChannel }) {
  const { channelId, name } = channel
  return (
    <Layout title="Delete channel" at="/channels">
      <section class="verdict bad">
        <h1>Delete the channel {name}?</h1>
        <p>
          Its waiting sends fail: <Waiting channel={channel} /> of them are due or wait for a retry, and the
          scheduled ones fail, too. Its templates and its config are removed. Its sends keep their timelines.
          This can't be undone.
        </p>
        <form method="post" action={`/channels/${channelId}/delete`}>
          <p class="row">
            <button type="submit" class="danger">
              Delete
            </button>
            <a class="button" href={`/channels/${channelId}`}>
              Leave it as it is
            </a>
          </p>
        </form>
      </section>
    </Layout>
  )
}
