import type { Child } from 'hono/jsx'
import type { SendContext } from '../../../db/support/send-context.ts'
import type { Advice, Explanation, ExplanationEntry, SendFacts } from '../../core/explanation.ts'
import type { Timeline } from '../../core/timeline.ts'
import { Layout } from '../layout.tsx'
import { MessageContent } from '../message-content.tsx'
import { Moment, State, stateWords } from '../words.tsx'
import { FindBox } from './find-box.tsx'

interface SendPageProps {
  timeline: Timeline
  explanation: Explanation
  channel: SendFacts['channel']
  context: SendContext
  showsContent: boolean
  refreshSeconds: number | undefined
}

/** A send's page: its explanation, timeline and details. */
export function SendPage(props: SendPageProps) {
  const { timeline, explanation, channel, refreshSeconds } = props
  const { requestId, status } = timeline
  return (
    <Layout title={`${status} ${requestId}`} at="/support" refreshSeconds={refreshSeconds}>
      <FindBox />
      <section class={`verdict ${explanation.tone}`} aria-live="polite">
        <p class="kicker">
          <State status={status} /> <span class="muted">{stateWords[status]}</span>
        </p>
        <h1>{explanation.summary}</h1>
        {explanation.next && <Next next={explanation.next} />}
        {explanation.advice && <Advised advice={explanation.advice} />}
        <Updates
          isMoving={explanation.tone === 'waiting'}
          requestId={requestId}
          refreshSeconds={refreshSeconds}
        />
        {(status === 'failed' || status === 'uncertain') && channel.deletedAt === null && (
          <p>
            <a class="button quiet" href={`/support/${requestId}/replay`}>
              Replay…
            </a>
          </p>
        )}
      </section>
      <section aria-labelledby="customer">
        <h2 id="customer">For the customer</h2>
        <p class="copy">{explanation.forCustomer}</p>
      </section>
      <section aria-labelledby="timeline">
        <h2 id="timeline">Timeline</h2>
        <ol class="timeline">
          {explanation.entries.map((entry) => (
            <Entry {...entry} />
          ))}
        </ol>
      </section>
      <Facts {...props} />
      <Content {...props} />
    </Layout>
  )
}

function Next({ next }: { next: NonNullable<Explanation['next']> }) {
  return (
    <p>
      <strong>Next: </strong>
      {next.text}
      {next.at !== null && (
        <span class="muted">
          {' '}
          (<Moment at={next.at} />)
        </span>
      )}
    </p>
  )
}

/** The command `replay` isn't shown, because the page has a button for it. */
function Advised({ advice: { text, command } }: { advice: Advice }) {
  return (
    <p>
      {text}
      {command !== undefined && !command.startsWith('replay ') && (
        <>
          {' '}
          Run: <code>{command}</code>
        </>
      )}
    </p>
  )
}

interface UpdatesProps {
  isMoving: boolean
  requestId: string
  refreshSeconds: number | undefined
}

function Updates({ isMoving, requestId, refreshSeconds }: UpdatesProps) {
  if (!isMoving) return null
  const link = `/support/${requestId}`
  return refreshSeconds === undefined ? (
    <p class="muted">
      This page does not update. <a href={link}>Turn updates on</a>
    </p>
  ) : (
    <p class="muted">
      Updates every {refreshSeconds} s. <a href={`${link}?updates=off`}>Turn updates off</a>
    </p>
  )
}

function Entry({ at, event, wait, text, answer }: ExplanationEntry) {
  return (
    <>
      {wait && <li class="wait">{wait.text}</li>}
      <li class={`entry ${event}`}>
        <Moment at={at} precise />
        <p>{text}</p>
        {answer && (
          <dl class="answer">
            {answer.status !== null && <Fact name="Provider status">{answer.status}</Fact>}
            {answer.code !== null && <Fact name="Code">{answer.code}</Fact>}
            {answer.meaning !== null && <Fact name="Meaning">{answer.meaning}</Fact>}
            {answer.messageId !== null && <Fact name="Provider message id">{answer.messageId}</Fact>}
          </dl>
        )}
      </li>
    </>
  )
}

function Facts({ timeline, channel, context }: SendPageProps) {
  const { conversation } = context
  const closing = timeline.events.find(({ event }) => event === 'conversation_closed')
  return (
    <section aria-labelledby="facts">
      <h2 id="facts">Details</h2>
      <dl class="facts">
        <Fact name="requestId">
          <span class="id">{timeline.requestId}</span>
        </Fact>
        <Fact name="Account">{context.accountName}</Fact>
        <Fact name="Channel">
          {channel.name}{' '}
          <span class="muted">
            {channel.provider}
            {channel.deletedAt && ', deleted'}
          </span>{' '}
          <span class="id">{timeline.channelId}</span>
        </Fact>
        <Fact name="Contact">
          {timeline.contact.value} <span class="muted">{timeline.contact.type}</span>
        </Fact>
        <Fact name="Message">{timeline.messageType}</Fact>
        {timeline.flowId !== null && (
          <Fact name="Flow">
            {context.flowName} <span class="id">{timeline.flowId}</span>
          </Fact>
        )}
        <Fact name="Conversation">
          {timeline.conversationId === null ? (
            <span class="muted">none yet: the send joins one before its first attempt</span>
          ) : (
            <>
              <span class="id">{timeline.conversationId}</span>{' '}
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
        {timeline.providerMessageId !== null && (
          <Fact name="Provider message id">
            <span class="id">{timeline.providerMessageId}</span>
          </Fact>
        )}
      </dl>
    </section>
  )
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

function Content({ showsContent, context }: SendPageProps) {
  return (
    <section aria-labelledby="content">
      <h2 id="content">Content</h2>
      {showsContent ? (
        <MessageContent message={context.message} />
      ) : (
        <p class="muted">Not shown. To show it, set SUPPORT_SHOW_CONTENT to true.</p>
      )}
    </section>
  )
}

function Fact({ name, children }: { name: string; children?: Child }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  )
}
