import type { ReplayedPart, ReplayList } from '../../../db/sends/replay-lists.ts'
import { leftOutReasons, nothingThere } from '../../core/sends/left-out.ts'
import { formatCount } from '../numbers/spans.ts'
import { Layout } from '../page/layout.tsx'
import { maxOfList } from './change-list.ts'
import { LeftOutByFilter, type LeftOut as LeftOutOfList } from './left-out.tsx'
import type { ListInput } from './list-form.ts'
import { Hidden, ListButton } from './list-page.tsx'
import { messages, Progress } from './progress.tsx'

export type ReplayOptions = Pick<ReplayList, 'includeExpired' | 'includeRefused'>

interface ReplayPageProps {
  input: ListInput
  options: ReplayOptions
  /** Sends that ended later are not in the list. */
  endedBy: Date
}

interface TrialPageProps extends ReplayPageProps {
  /** The list in words. */
  sentence: string
  would: ReplayedPart
  perSecond: number
  leftOut: readonly LeftOutOfList[]
}

/** Shows what a replay of the list would do. Nothing has been replayed yet. */
export function TrialPage(props: TrialPageProps) {
  const { input, options, would, endedBy, leftOut } = props
  const { replayed } = would
  const isMore = would.next !== undefined
  return (
    <Layout title="Replay a list?" at="/sends">
      <section class="verdict unsure">
        <h1>{replayed === 0 ? 'Nothing to replay' : `Send ${messages(replayed)} again?`}</h1>
        <p>{describe(props)}</p>
        {isMore && (
          <p>
            The list has more. These are the first {formatCount(maxOfList)}; replay the list once more after
            them.
          </p>
        )}
        {input.status === 'uncertain' && replayed > 0 && (
          <p>
            <strong>The contacts may get them twice:</strong> it is unknown whether the provider already has
            them.
          </p>
        )}
        <LeftOut done={replayed} skipped={would.skipped} />
        <LeftOutByFilter state={input.status} leftOut={leftOut} />
        {replayed > 0 && (
          <form method="post" action="/sends/replay" class="row">
            <Hidden fields={{ ...fieldsOf(input, options, endedBy), of: String(replayed) }} />
            <button type="submit" class="main">
              Replay {formatCount(replayed)}
            </button>
          </form>
        )}
        <ListButton input={input} words="Leave them as they are" />
      </section>
      <Narrow input={input} options={options} />
    </Layout>
  )
}

function Narrow({ input, options }: Pick<ReplayPageProps, 'input' | 'options'>) {
  return (
    <section aria-labelledby="narrow">
      <h2 id="narrow">Change which sends are replayed</h2>
      <form method="post" action="/sends/replay">
        <Hidden fields={{ ...input, reason: undefined }} />
        <p class="field">
          <label for="reason">Reason contains</label>
          <input id="reason" name="reason" type="text" value={input.reason ?? ''} autocomplete="off" />
        </p>
        <Choice name="includeExpired" isChosen={options.includeExpired}>
          Also those that expired: they would arrive late
        </Choice>
        <Choice name="includeRefused" isChosen={options.includeRefused}>
          Also those that were refused for good: only if the cause is fixed
        </Choice>
        <button type="submit">Count again</button>
      </form>
    </section>
  )
}

/** Shows what the replay of the list has done so far, and goes on with the next part. */
export function ReplayedPage({
  input,
  options,
  done,
  total,
  endedBy,
}: ReplayPageProps & { done: ReplayedPart; total: number }) {
  const { replayed, skipped, next } = done
  const isMore = next !== undefined && replayed < total
  return (
    <Layout title="Replayed" at="/sends">
      <section class="verdict waiting">
        <h1>{replayed === 0 ? 'Nothing was replayed' : `Queued again: ${messages(replayed)}`}</h1>
        {replayed > 0 && <p>Workers send each one within some seconds after it is due.</p>}
        {isMore && (
          <form method="post" action="/sends/replay">
            <Progress done={replayed} of={total} />
            <Hidden
              fields={{
                ...fieldsOf(input, options, endedBy),
                of: String(total),
                replayed: String(replayed),
                ...Object.fromEntries(Object.entries(skipped).map(([why, count]) => [why, String(count)])),
                from: `${next.channelId} ${next.afterSeq}`,
              }}
            />
            <button type="submit" autofocus>
              Go on with the next ones
            </button>
          </form>
        )}
        <LeftOut done={replayed} skipped={skipped} />
        <ListButton
          input={input}
          words={leftOutReasons(skipped).length > 0 ? 'Show those left out' : 'Back to the list'}
        />
      </section>
    </Layout>
  )
}

const fieldsOf = (input: ListInput, { includeExpired, includeRefused }: ReplayOptions, endedBy: Date) => ({
  ...input,
  ...(includeExpired && { includeExpired: 'yes' }),
  ...(includeRefused && { includeRefused: 'yes' }),
  endedBy: endedBy.toISOString(),
  confirmed: 'yes',
})

function LeftOut({ done, skipped }: { done: number } & Pick<ReplayedPart, 'skipped'>) {
  const reasons = leftOutReasons(skipped)
  if (reasons.length === 0) return done === 0 ? <p>{nothingThere.replay}</p> : null
  return (
    <>
      <p>Left out:</p>
      <ul>
        {reasons.map((reason) => (
          <li>{reason}</li>
        ))}
      </ul>
    </>
  )
}

function describe({ sentence, options, would, perSecond }: TrialPageProps): string {
  const what = [
    sentence,
    options.includeExpired && 'also those that expired',
    options.includeRefused && 'also those that were refused for good',
  ]
    .filter(Boolean)
    .join(', ')
  return would.replayed === 0
    ? `None of these can be replayed: ${what}.`
    : `${what}: they are queued again, oldest first in each channel, ${perSecond} a second, each with a new series of attempts.`
}

function Choice(props: { name: string; isChosen: boolean | undefined; children: string }) {
  const { name, isChosen = false, children } = props
  return (
    <p class="choice">
      <input id={name} name={name} type="checkbox" value="yes" checked={isChosen} />
      <label for={name}>{children}</label>
    </p>
  )
}
