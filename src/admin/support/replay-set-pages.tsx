import type { ReplayedSet, ReplaySet, Trial } from '../../../db/sends/replay-sets.ts'
import { Layout } from '../layout.tsx'
import { type SearchInput, searchLink, shareable } from './search-form.ts'

export type Options = Pick<ReplaySet, 'includeExpired' | 'includeRefused' | 'reason'>

interface TrialProps {
  input: SearchInput
  would: Trial
  set: ReplaySet
  /** Sends that ended later are not in the set. */
  endedBy: Date
  limit: number
  replaysPerSecond: number
}

/** Shows what a replay of the list would do. Nothing has been replayed yet. */
export function TrialPage({ input, would, set, endedBy, limit, replaysPerSecond }: TrialProps) {
  const { replayed, lastSeq } = would
  const { includeExpired, includeRefused, reason, status } = set
  const options: Fields = {
    ...(includeExpired && { includeExpired: 'yes' }),
    ...(includeRefused && { includeRefused: 'yes' }),
    ...(reason !== undefined && { reason }),
  }
  return (
    <Layout title="Replay a list?" at="/support">
      <section class="verdict unsure">
        <h1>{replayed === 0 ? 'Nothing to replay' : `Send ${messages(replayed)} again?`}</h1>
        <p>{describe(input, set, replayed, replaysPerSecond)}</p>
        {replayed === limit && <p>These are the oldest {limit}. For the rest, replay the list once more.</p>}
        {status === 'uncertain' && replayed > 0 && (
          <p>
            <strong>The contacts may get them twice:</strong> it is unknown whether the provider already has
            them.
          </p>
        )}
        <LeftOut {...would} />
        {replayed > 0 && lastSeq !== undefined && (
          <form method="post" action="/support/replays" class="row">
            <Hidden
              fields={{ ...input, ...options, endedBy: endedBy.toISOString(), lastSeq, confirmed: 'yes' }}
            />
            <button type="submit">Replay {replayed}</button>
            <BackToSearch input={input} words="Leave them as they are" />
          </form>
        )}
      </section>
      <Narrow input={input} set={set} />
    </Layout>
  )
}

function Narrow({ input, set }: { input: SearchInput; set: ReplaySet }) {
  return (
    <section aria-labelledby="narrow">
      <h2 id="narrow">Change which sends are replayed</h2>
      <form method="post" action="/support/replays">
        <Hidden fields={input} />
        <p class="field">
          <label for="reason">Reason contains</label>
          <input id="reason" name="reason" type="text" value={set.reason ?? ''} autocomplete="off" />
        </p>
        <Choice name="includeExpired" isChosen={set.includeExpired}>
          Also those that expired: they would arrive late
        </Choice>
        <Choice name="includeRefused" isChosen={set.includeRefused}>
          Also those that were refused for good: only if the cause is fixed
        </Choice>
        <button type="submit">Count again</button>
      </form>
    </section>
  )
}

/** Shows what a replay of the list did. */
export function DonePage({ input, done }: { input: SearchInput; done: ReplayedSet }) {
  return (
    <Layout title="Replayed" at="/support">
      <section class="verdict waiting">
        <h1>{done.replayed === 0 ? 'Nothing was replayed' : `Queued again: ${messages(done.replayed)}`}</h1>
        {done.replayed > 0 && <p>Workers send each one within some seconds after it is due.</p>}
        <LeftOut {...done} />
        <p>
          <BackToSearch input={input} words="Back to the search" />
        </p>
      </section>
    </Layout>
  )
}

/** The URL of `DonePage`, without the private search fields. */
export function doneLink(
  input: SearchInput,
  { replayed, skipped: { expired, refused } }: ReplayedSet,
): string {
  const counts = Object.entries({ replayed, expired, refused }).map(([name, count]) => [name, String(count)])
  return `/support/replays/done?${new URLSearchParams({ ...shareable(input), ...Object.fromEntries(counts) })}`
}

export function doneIn(fields: Record<string, string>): ReplayedSet {
  const count = (name: string) => (/^\d{1,9}$/.test(fields[name] ?? '') ? Number(fields[name]) : 0)
  return {
    replayed: count('replayed'),
    skipped: { expired: count('expired'), refused: count('refused') },
  }
}

function LeftOut({ skipped: { expired, refused } }: ReplayedSet) {
  if (expired + refused === 0) return null
  return (
    <>
      <p>Left out:</p>
      <ul>
        {expired > 0 && <li>{expired} expired, or would have expired by now</li>}
        {refused > 0 && <li>{refused} refused for good: the provider would refuse them again</li>}
      </ul>
    </>
  )
}

function describe(input: SearchInput, set: ReplaySet, replayed: number, perSecond: number): string {
  const { channel, state, contact, from, to } = input
  const { reason, includeExpired, includeRefused } = set
  const which = [
    `of the channel ${channel}`,
    contact && 'to the contact of your search',
    from && `accepted from ${from} UTC`,
    to && `accepted before ${to} UTC`,
    reason && `with “${reason}” in the reason`,
    includeExpired && 'also those that expired',
    includeRefused && 'also those that were refused for good',
  ].filter(Boolean)
  const what = `${state} messages ${which.join(', ')}`
  return replayed === 0
    ? `None of the ${what} can be replayed.`
    : `The ${what} are queued again: oldest first, ${perSecond} a second, each with a new series of attempts.`
}

const messages = (count: number) => (count === 1 ? '1 message' : `${count} messages`)

type Fields = Record<string, string>

function Hidden({ fields }: { fields: Fields }) {
  return (
    <>
      {Object.entries(fields).map(([name, value]) => (
        <input type="hidden" name={name} value={value} />
      ))}
    </>
  )
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

/** Links to the search without its private fields. */
function BackToSearch({ input, words }: { input: SearchInput; words: string }) {
  return (
    <a class="button quiet" href={searchLink(input)}>
      {words}
    </a>
  )
}

/** A button that replays the results of a search; for a search that can't be replayed, a hint which one can. */
export function ReplayList({ input: { before: _, ...input } }: { input: SearchInput }) {
  if (input.state !== 'failed' && input.state !== 'uncertain') return null
  if (!input.channel || input.messageId) {
    return <p class="muted">To replay a list, search by one channel and this state.</p>
  }
  return (
    <form method="post" action="/support/replays">
      <Hidden fields={input} />
      <button type="submit">Replay this list…</button>
    </form>
  )
}
