import type { RecordedChange } from '../../../db/audit/list.ts'
import type { SameContent } from '../../../db/sends/same-content.ts'
import type { SendContext } from '../../../db/sends/send-context.ts'
import {
  type Advice,
  type Explanation,
  type ExplanationEntry,
  mayBeReplayed,
  type SendFacts,
} from '../../core/explanation/explain.ts'
import { readKeptMessage } from '../../core/messages/kept-message.ts'
import type { Timeline } from '../../core/sends/timeline.ts'
import { History } from '../audit/history.tsx'
import { ForRole } from '../page/for-role.tsx'
import { Moment, State, stateWords } from '../page/inline-elements.tsx'
import { Layout } from '../page/layout.tsx'
import { MessageContent } from '../page/message-content.tsx'
import { Answer } from './answer.tsx'
import { SendDetails } from './send-details.tsx'
import { SendTabs } from './send-tabs.tsx'
import { SentTwice } from './sent-twice.tsx'
import { Suppressed, type SuppressedSend } from './suppressed.tsx'

interface SendPageProps {
  timeline: Timeline
  explanation: Explanation
  channel: SendFacts['channel']
  channels: SendFacts['channels']
  context: SendContext
  showsContent: boolean
  same: SameContent
  suppressed: SuppressedSend
  /** Whether it waits for its time, and is shown to an operator. */
  canBeMoved: boolean
  changes: readonly RecordedChange[]
  refreshSeconds: number | undefined
}

/** A send's page: its explanation, timeline and details. */
export function SendPage(props: SendPageProps) {
  const { timeline, explanation, channel, canBeMoved, refreshSeconds } = props
  const { requestId, status } = timeline
  const canBeReplayed = mayBeReplayed(timeline) && channel.deletedAt === null
  const isReplayAdvised = explanation.advice?.command?.startsWith('replay ') ?? false
  return (
    <Layout title={`${status} ${requestId}`} at="/sends" refreshSeconds={refreshSeconds}>
      <SendTabs requestId={requestId} at="timeline" />
      <section class={`verdict ${explanation.tone}`} aria-live="polite">
        <p class="kicker">
          <State status={status} /> <span class="muted">{stateWords[status]}</span>
          {timeline.delivery !== null && <span class="muted">, {timeline.delivery}</span>}
        </p>
        <h1>{explanation.summary}</h1>
        {explanation.next && <Next next={explanation.next} />}
        {explanation.advice && <Advised advice={explanation.advice} />}
        <Updates
          isMoving={explanation.tone === 'waiting'}
          requestId={requestId}
          refreshSeconds={refreshSeconds}
        />
        <Actions requestId={requestId} status={status} {...{ canBeReplayed, isReplayAdvised, canBeMoved }} />
      </section>
      <section aria-labelledby="customer">
        <h2 id="customer">For the customer</h2>
        <p class="copy">{explanation.forCustomer}</p>
      </section>
      <Suppressed {...props.suppressed} />
      <section aria-labelledby="timeline">
        <h2 id="timeline">Timeline</h2>
        <ol class="timeline">
          {explanation.entries.map((entry) => (
            <Entry {...entry} />
          ))}
        </ol>
      </section>
      <SentTwice same={props.same} requestId={requestId} />
      <SendDetails {...props} />
      <Content {...props} />
      <History target={requestId} changes={props.changes} />
    </Layout>
  )
}

interface ActionsProps extends Pick<Timeline, 'requestId' | 'status'> {
  canBeReplayed: boolean
  /** Otherwise the provider would refuse it again, or nobody knows. */
  isReplayAdvised: boolean
  /** Whether it waits for its time, and is shown to an operator. */
  canBeMoved: boolean
}

/** What can be done with a send in its state. */
function Actions({ requestId, status, canBeReplayed, isReplayAdvised, canBeMoved }: ActionsProps) {
  const link = `/support/${requestId}`
  return (
    <p class="row">
      {canBeReplayed && (
        <ForRole who="support">
          <a
            class={isReplayAdvised && status !== 'uncertain' ? 'button main' : 'button'}
            href={`${link}/replay`}
          >
            Replay…
          </a>
        </ForRole>
      )}
      {status === 'uncertain' && (
        <ForRole who="support">
          <a class="button main" href={`${link}/settle`}>
            Settle…
          </a>
        </ForRole>
      )}
      {canBeMoved && (
        <a class="button" href={`${link}/move`}>
          Another contact…
        </a>
      )}
      {status === 'queued' && (
        <ForRole who="support">
          <a class="button danger" href={`${link}/cancel`}>
            Cancel…
          </a>
        </ForRole>
      )}
    </p>
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
          Run: <code>outbound {command}</code>
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
        {answer && <Answer answer={answer} />}
      </li>
    </>
  )
}

function Content({ showsContent, context, timeline }: SendPageProps) {
  return (
    <section aria-labelledby="content">
      <h2 id="content">Content</h2>
      {showsContent ? (
        <MessageContent
          message={readKeptMessage(context.message)}
          htmlAddress={`/support/${timeline.requestId}/html`}
        />
      ) : (
        <p class="muted">Not shown. To show it, set SUPPORT_SHOW_CONTENT to true.</p>
      )}
    </section>
  )
}
