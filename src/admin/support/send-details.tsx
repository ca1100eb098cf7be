import type { Child } from 'hono/jsx'
import type { SameContent } from '../../../db/sends/same-content.ts'
import type { SendContext } from '../../../db/sends/send-context.ts'
import { erasedContactValue } from '../../core/contacts/contact.ts'
import type { SendFacts } from '../../core/explanation/explain.ts'
import { apiKeyWords, idempotencyKeyWords } from '../../core/sends/posted-by.ts'
import type { Timeline } from '../../core/sends/timeline.ts'
import { Moment } from '../page/inline-elements.tsx'

interface SendDetailsProps {
  timeline: Timeline
  channel: SendFacts['channel']
  channels: SendFacts['channels']
  context: SendContext
  showsContent: boolean
  same: SameContent
}

/** The facts of a send, beside its timeline. */
export function SendDetails(props: SendDetailsProps) {
  const { timeline, channel, channels, context, showsContent } = props
  const { itself } = props.same
  const posted = timeline.sentThrough === null ? channel : (channels[0] ?? channel)
  const { conversation } = context
  const closing = timeline.events.find(({ event }) => event === 'conversation_closed')
  return (
    <section aria-labelledby="facts">
      <h2 id="facts">Details</h2>
      <dl class="facts">
        <Fact name="requestId">
          <span class="id">{timeline.requestId}</span>
        </Fact>
        <Fact name="Account">
          <a href={`/sends?accountId=${context.accountId}`}>{context.accountName}</a>
        </Fact>
        <Fact name="Channel">
          <ChannelLink channel={posted} />
        </Fact>
        {timeline.sentThrough !== null && (
          <Fact name="Sent through">
            <ChannelLink channel={channel} />
          </Fact>
        )}
        <Fact name="Contact">
          <ContactLink timeline={timeline} /> <span class="muted">{timeline.contact.type}</span>
        </Fact>
        {timeline.reference !== null && (
          <Fact name="Reference">
            <a class="id" href={`/sends?${new URLSearchParams({ reference: timeline.reference })}`}>
              {timeline.reference}
            </a>
          </Fact>
        )}
        {timeline.segments !== null && (
          <Fact name="Segments">
            {timeline.segments} <span class="muted">{timeline.encoding}</span>
          </Fact>
        )}
        {timeline.metadata !== null && (
          <Fact name="Metadata">
            {showsContent ? (
              <span class="id">{JSON.stringify(timeline.metadata)}</span>
            ) : (
              <span class="muted">the client's own; contents are not shown here</span>
            )}
          </Fact>
        )}
        <Fact name="API key">
          {apiKeyWords(itself)} {itself.apiKeyPrefix !== null && <span class="id">{itself.apiKeyId}</span>}
        </Fact>
        <Fact name="Idempotency-Key">{idempotencyKeyWords(itself)}</Fact>
        {timeline.sendAt !== null && (
          <Fact name="Scheduled for">
            <Moment at={timeline.sendAt} />
          </Fact>
        )}
        {timeline.expiresInSeconds !== null && (
          <Fact name="Expires">after {timeline.expiresInSeconds} s, by the request</Fact>
        )}
        <Fact name="Message">{timeline.messageType}</Fact>
        {timeline.priority !== 'normal' && <Fact name="Priority">{timeline.priority}</Fact>}
        {timeline.flowId !== null && (
          <Fact name="Flow">
            <a href={`/sends?flowId=${timeline.flowId}`}>{context.flowName ?? 'flow'}</a>{' '}
            <span class="id">{timeline.flowId}</span>
          </Fact>
        )}
        <Fact name="Conversation">
          {timeline.conversationId === null ? (
            <span class="muted">
              {timeline.finishedAt === null
                ? 'none yet: the send joins one before its first attempt'
                : 'none'}
            </span>
          ) : (
            <>
              <a class="id" href={`/contact?conversationId=${timeline.conversationId}`}>
                {timeline.conversationId}
              </a>{' '}
              {conversation && <ConversationState {...conversation} />}
            </>
          )}
        </Fact>
        {closing && (
          <Fact name="Closed conversation">
            {closing.conversationId ? (
              <span class="id">{String(closing.conversationId)}</span>
            ) : (
              <span class="muted">no conversation was open</span>
            )}
          </Fact>
        )}
        <Fact name="Attempts">{timeline.attempts}</Fact>
        {timeline.delivery !== null && (
          <Fact name="Delivery">
            {timeline.delivery}
            {timeline.deliveryAt !== null && (
              <span class="muted">
                {' '}
                since <Moment at={timeline.deliveryAt} />
              </span>
            )}
          </Fact>
        )}
        {timeline.providerMessageId !== null && (
          <Fact name="Provider message id">
            <span class="id">{timeline.providerMessageId}</span>
          </Fact>
        )}
      </dl>
    </section>
  )
}

function ContactLink({ timeline: { requestId, contact } }: { timeline: Timeline }) {
  if (contact.value === erasedContactValue) return <>{contact.value}</>
  return <a href={`/contact?requestId=${requestId}`}>{contact.value}</a>
}

function ConversationState({ openedAt, closedAt, closedBy }: NonNullable<SendContext['conversation']>) {
  return (
    <span class="muted">
      opened <Moment at={openedAt} />
      {closedAt !== null && (
        <>
          , closed <Moment at={closedAt} />
        </>
      )}
      {closedBy !== null && (
        <>
          {' '}
          by <a href={`/support/${closedBy}`}>a later send</a>
        </>
      )}
    </span>
  )
}

/** An entry of a `<dl>`. */
export function Fact({ name, children }: { name: string; children?: Child }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  )
}

type ShownChannel = Pick<SendFacts['channel'], 'channelId' | 'name' | 'provider'> & {
  deletedAt?: Date | null
}

function ChannelLink({ channel: { channelId, name, provider, deletedAt } }: { channel: ShownChannel }) {
  return (
    <>
      <a href={`/channels/${channelId}`}>{name}</a>{' '}
      <span class="muted">
        {provider}
        {deletedAt && ', deleted'}
      </span>{' '}
      <span class="id">{channelId}</span>
    </>
  )
}
