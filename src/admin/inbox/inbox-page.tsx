import type { Count } from '../../../db/sends/list-count.ts'
import type { ReceivedMessage } from '../../../db/sends/sandbox-messages.ts'
import { foldContactValue } from '../../core/contacts/contact.ts'
import type { KeptMessage } from '../../core/messages/kept-message.ts'
import { totalOf } from '../numbers/spans.ts'
import { eachShown } from '../page/each-shown.tsx'
import { Moment } from '../page/inline-elements.tsx'
import { Layout } from '../page/layout.tsx'
import { type Contacts, showContact } from '../page/masking.ts'
import { MessageContent } from '../page/message-content.tsx'
import { PageHead } from '../page/page-head.tsx'
import type { ShownType } from './media.ts'

export type ShownMessage = Omit<ReceivedMessage, 'mediaHead' | 'message'> & {
  /** Undefined if it can't be read. */
  message: KeptMessage | undefined
  /** Absent if the message has no media, or its media is no longer kept. */
  media?: ShownType | 'download'
  /** Whether the bytes of its files are kept. */
  hasFiles: boolean
}

interface InboxPageProps {
  messages: ShownMessage[]
  total: Count
  contacts: Contacts
  isFirst: boolean
  olderThan: string | undefined
}

/** The messages that the sandbox received, shown like a chat: consecutive messages to one contact form a group. */
export function InboxPage({ messages, total, contacts, isFirst, olderThan }: InboxPageProps) {
  return (
    <Layout title="Inbox" at="/inbox">
      <PageHead
        title="Inbox"
        about={`${totalOf(total, 'message')} that the sandbox received, the newest first. Channels of the provider sandbox deliver to nobody: their messages are shown here.`}
      />
      {messages.length === 0 && (
        <section aria-label="Messages">
          <p class="empty">
            {isFirst
              ? 'Nothing yet. A message sent by a channel of the sandbox would be here.'
              : 'Nothing older.'}
          </p>
        </section>
      )}
      {eachShown({
        rows: byThread(messages),
        idOf: (thread) => thread.map(({ id }) => id).join(', '),
        render: (thread) => <Thread messages={thread} contacts={contacts} />,
      })}
      {(!isFirst || olderThan !== undefined) && (
        <p class="row">
          {!isFirst && (
            <a class="button" href="/inbox">
              Newest
            </a>
          )}
          {olderThan !== undefined && (
            <a class="button" href={`/inbox?before=${olderThan}`}>
              Older
            </a>
          )}
        </p>
      )}
    </Layout>
  )
}

function byThread(messages: ShownMessage[]): ShownMessage[][] {
  const threads: ShownMessage[][] = []
  for (const message of messages) {
    const last = threads.at(-1)
    if (last?.[0] && threadOf(last[0]) === threadOf(message)) last.push(message)
    else threads.push([message])
  }
  return threads
}

const threadOf = ({ channelName, contactType, contactValue }: ShownMessage) =>
  [contactType, foldContactValue(contactValue), channelName].join('\n')

function Thread({ messages, contacts }: Pick<InboxPageProps, 'messages' | 'contacts'>) {
  const [first] = messages
  if (!first) return null
  const { contactName, channelName } = first
  const contact = showContact(first, contacts)
  return (
    <section class="thread">
      <h2>
        {contactName ?? contact}{' '}
        <small>
          {contactName !== null && contact} by {channelName}
        </small>
      </h2>
      {eachShown({
        rows: messages,
        idOf: ({ id }) => id,
        render: (message) => <Bubble message={message} />,
      })}
    </section>
  )
}

function Bubble({ message: received }: { message: ShownMessage }) {
  const { id, requestId, message, media, hasFiles, receivedAt } = received
  const fileAddress = (index: number) => `/inbox/${id}/attachments/${index}`
  const cameWithContent = message?.type === 'media' && message.media.sizeBytes !== undefined
  return (
    <article class="bubble">
      {media !== undefined && <Media id={id} media={media} message={message} />}
      <MessageContent
        message={message}
        htmlAddress={`/inbox/${id}/html`}
        {...(hasFiles && { fileAddress })}
      />
      {cameWithContent && media === undefined && <p class="muted">The file is no longer kept.</p>}
      <footer>
        <Moment at={receivedAt} /> <a href={`/support/${requestId}`}>Timeline</a>
      </footer>
    </article>
  )
}

interface MediaProps {
  id: string
  media: ShownType | 'download'
  message: ShownMessage['message']
}

function Media({ id, media, message }: MediaProps) {
  const source = `/inbox/${id}/media`
  const description = message?.type === 'media' ? message.media : undefined
  const label = description?.caption ?? description?.filename ?? 'Media without a caption'
  switch (media === 'download' ? media : media.kind) {
    case 'image':
      return <img src={source} alt={label} loading="lazy" />
    case 'video':
      // biome-ignore lint/a11y/useMediaCaption: the media that was sent has none
      return <video src={source} controls preload="none" aria-label={label} />
    case 'audio':
      // biome-ignore lint/a11y/useMediaCaption: the media that was sent has none
      return <audio src={source} controls preload="none" aria-label={label} />
    case 'download':
      return (
        <p>
          <a class="button" href={source} download>
            Download the file
          </a>
        </p>
      )
  }
}
