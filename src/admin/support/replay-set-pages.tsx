import type { ReplayedSet, ReplaySet, Trial } from '../../../db/support/replay-sets.ts'
import { Layout } from '../layout.tsx'
import { type Asked, searchLink, shareable } from './search-form.ts'

export type Options = Pick<ReplaySet, 'includeExpired' | 'includeRefused' | 'reason'>

interface TrialProps {
  asked: Asked
  would: Trial
  set: ReplaySet
  /** What ended later is not in the set. */
  endedBy: Date
  limit: number
  replaysPerSecond: number
}

/** What a replay of the list would do: nothing has been done yet. */
export function TrialPage({ asked, would, set, endedBy, limit, replaysPerSecond }: TrialProps) {
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
        <p>{inWords(asked, set, replayed, replaysPerSecond)}</p>
        {replayed === limit && <p>These are the oldest {limit}. For the rest, replay the list once more.</p>}
        {status === 'uncertain' && replayed > 0 && (
          <p>
            <strong>The contacts may get them twice:</strong> nobody knows whether the provider has them
            already.
          </p>
        )}
        <LeftOut {...would} />
        {replayed > 0 && lastSeq !== undefined && (
          <form method="post" action="/support/replays" class="row">
            <Hidden
              fields={{ ...asked, ...options, endedBy: endedBy.toISOString(), lastSeq, confirmed: 'yes' }}
            />
            <button type="submit">Replay {replayed}</button>
            <BackToSearch asked={asked} words="Leave them as they are" />
          </form>
        )}
      </section>
      <Narrow asked={asked} set={set} />
    </Layout>
  )
}

function Narrow({ asked, set }: { asked: Asked; set: ReplaySet }) {
  return (
    <section aria-labelledby="narrow">
      <h2 id="narrow">Replay others</h2>
      <form method="post" action="/support/replays">
        <Hidden fields={asked} />
        <p class="field">
          <label for="reason">Reason contains</label>
          <input id="reason" name="reason" type="text" value={set.reason ?? ''} autocomplete="off" />
        </p>
        <Choice name="includeExpired" isChosen={set.includeExpired}>
          Also those that expired: they arrive late
        </Choice>
        <Choice name="includeRefused" isChosen={set.includeRefused}>
          Also those that were refused for good: once what was wrong is fixed
        </Choice>
        <button type="submit">Count again</button>
      </form>
    </section>
  )
}

/** What a replay of the list did. */
export function DonePage({ asked, done }: { asked: Asked; done: ReplayedSet }) {
  return (
    <Layout title="Replayed" at="/support">
      <section class="verdict waiting">
        <h1>{done.replayed === 0 ? 'Nothing was replayed' : `Queued again: ${messages(done.replayed)}`}</h1>
        {done.replayed > 0 && <p>Workers take them within some seconds of when each is due.</p>}
        <LeftOut {...done} />
        <p>
          <BackToSearch asked={asked} words="Back to the search" />
        </p>
      </section>
    </Layout>
  )
}

/** Of `DonePage`, without what is private. */
export function doneLink(asked: Asked, { replayed, skipped: { expired, refused } }: ReplayedSet): string {
  const counts = Object.entries({ replayed, expired, refused }).map(([name, count]) => [name, String(count)])
  return `/support/replays/done?${new URLSearchParams({ ...shareable(asked), ...Object.fromEntries(counts) })}`
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
        {expired > 0 && <li>{expired} expired: their time was over, or is by now</li>}
        {refused > 0 && <li>{refused} refused for good: the provider would refuse them again</li>}
      </ul>
    </>
  )
}

function inWords(asked: Asked, set: ReplaySet, replayed: number, perSecond: number): string {
  const { channel, state, contact, from, to } = asked
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
    ? `No send can be replayed among the ${what}.`
    : `The ${what} are queued again, the oldest first, ${perSecond} of them each second, each with a new series of attempts.`
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

/** Without what is private: the link holds no contact. */
function BackToSearch({ asked, words }: { asked: Asked; words: string }) {
  return (
    <a class="button quiet" href={searchLink(asked)}>
      {words}
    </a>
  )
}

/** Below the results of a search that can be replayed as a whole; says what it takes where one can't. */
export function ReplayList({ asked: { before: _, ...asked } }: { asked: Asked }) {
  if (asked.state !== 'failed' && asked.state !== 'uncertain') return null
  if (!asked.channel || asked.messageId) {
    return <p class="muted">To replay a list, search by one channel and this state.</p>
  }
  return (
    <form method="post" action="/support/replays">
      <Hidden fields={asked} />
      <button type="submit">Replay this list…</button>
    </form>
  )
}
