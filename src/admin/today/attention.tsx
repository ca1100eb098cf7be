import type { Child } from 'hono/jsx'
import type { Attention } from '../../../db/overview/attention.ts'
import { ChannelCount } from '../channels/channel-state.tsx'
import { hostOf } from '../endpoints/callback-table.tsx'
import { formatCount } from '../numbers/spans.ts'
import { Moment } from '../page/inline-elements.tsx'
import { listLink, toMinute } from '../sends/list-form.ts'

/** A send that has been due for longer needs a hand, or more workers. */
const longWaitMs = 60_000

interface AttentionProps {
  attention: Attention
  /** Sends of the last 7 days that somebody has to look up. */
  uncertain: number
  of: { accountId: string | undefined }
}

/** The things that need a hand, the most urgent first. */
export function AttentionList({ attention, uncertain, of }: AttentionProps) {
  const { stopped, providers, endpoints, keys, oldest } = attention
  const waiting = oldest.filter(({ dueSince }) => Date.now() - dueSince.getTime() > longWaitMs)
  const lines = [
    ...providers.map(({ provider, channels, failing, since }) => (
      <>
        {provider} fails for <ChannelCount {...{ provider, count: failing, state: 'failing' }} /> of{' '}
        <ChannelCount {...{ provider, count: channels }} /> channels since <Moment at={since} />
      </>
    )),
    ...stopped.map(({ channelId, name, accountName, isHeld, since, reason }) => (
      <>
        <a href={`/channels/${channelId}`}>{name}</a> of {accountName} {isHeld ? 'is held' : 'fails'} since{' '}
        <Moment at={since} />
        {reason !== null && `: ${reason}`}
      </>
    )),
    more(stopped, 'channels', '/channels'),
    ...waiting.map(({ channelId, name, accountName, dueSince }) => (
      <>
        A send of <a href={`/channels/${channelId}`}>{name}</a> of {accountName} has been due since{' '}
        <Moment at={dueSince} />
      </>
    )),
    ...endpoints.map(({ endpointId, url, accountName, isDisabled, since, reason }) => (
      <>
        The endpoint <a href={`/endpoints/${endpointId}`}>{hostOf(url)}</a> of {accountName}{' '}
        {isDisabled ? 'is disabled' : 'fails'} since <Moment at={since} />
        {reason !== null && `: ${reason}`}
      </>
    )),
    more(endpoints, 'endpoints', '/endpoints'),
    uncertain > 0 && (
      <>
        <a href={uncertainLink(of)}>{formatCount(uncertain)} uncertain</a>: the providers may or may not have
        these sends of the last 7 days. Look each up, then replay it or leave it
      </>
    ),
    ...keys.map(({ displayPrefix, accountName, expiresAt, lastUsedAt }) => (
      <>
        The key <code>{displayPrefix}…</code> of {accountName}{' '}
        {expiresAt.getTime() < Date.now() ? 'has expired at' : 'expires at'} <Moment at={expiresAt} />
        {lastUsedAt && (
          <>
            . It was last used at <Moment at={lastUsedAt} />
          </>
        )}
      </>
    )),
    more(keys, 'keys'),
  ].filter((line) => line !== false)
  const isCalm = stopped.length + waiting.length + endpoints.length + keys.length + uncertain === 0
  return (
    <section class={`verdict ${isCalm ? 'good' : 'bad'}`} aria-labelledby="attention">
      <h2 id="attention">{isCalm ? 'Nothing needs a hand' : 'Needs a hand'}</h2>
      {!isCalm && (
        <ul>
          {lines.map((line) => (
            <Line>{line}</Line>
          ))}
        </ul>
      )}
    </section>
  )
}

const Line = ({ children }: { children?: Child }) => <li>{children}</li>

/** How many more there are than are shown. */
function more(all: readonly { total: number }[], what: string, href?: string) {
  const others = (all[0]?.total ?? 0) - all.length
  if (others <= 0) return false
  const words = `${formatCount(others)} more ${what}`
  return href === undefined ? <span>{words}</span> : <a href={href}>{words}</a>
}

/** The sends of the 7 days that are counted: their first hour is whole. */
const uncertainLink = ({ accountId }: AttentionProps['of']) =>
  listLink({
    ...(accountId !== undefined && { accountId }),
    status: 'uncertain',
    acceptedFrom: toMinute(Date.now() - 7 * 86_400_000 - 3_600_000),
  })
