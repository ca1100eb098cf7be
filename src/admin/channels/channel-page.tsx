import type { RecordedChange } from '../../../db/audit/list.ts'
import type { Counts, FailureCount } from '../../../db/counters/read.ts'
import type { ChannelFacts, LastFailure, ListedChannel } from '../../../db/overview/channels.ts'
import type { Role } from '../../core/accounts/person.ts'
import { channelStatus } from '../../core/channels/channel-status.ts'
import { plainWarning } from '../../core/channels/plain-channel.ts'
import { quietHoursText } from '../../core/channels/quiet-hours.ts'
import { smsSizeOfTemplate } from '../../core/messages/segments.ts'
import { shownFallback } from '../../core/sends/fallback.ts'
import { autoCauses } from '../../core/suppression/suppression.ts'
import { findProvider } from '../../providers/known.ts'
import { unknownCodes } from '../../providers/unknown-codes.ts'
import { History } from '../audit/history.tsx'
import { HourChart } from '../numbers/chart.tsx'
import { FailureTable } from '../numbers/failure-table.tsx'
import { Figures, SpanNote } from '../numbers/figures.tsx'
import { firstHourOf, spanNames, sumOfSpan } from '../numbers/spans.ts'
import { Moment } from '../page/inline-elements.tsx'
import { Layout } from '../page/layout.tsx'
import { Fact } from '../support/send-details.tsx'
import { ChannelCount, ChannelState, LastFailedAnswer, Waiting } from './channel-state.tsx'
import { HoldForm } from './hold-form.tsx'

interface ChannelPageProps {
  channel: ListedChannel
  facts: ChannelFacts
  lastFailure: LastFailure | undefined
  byHour: readonly (Counts & { hour: Date })[]
  failures: readonly FailureCount[]
  countedSince: Date | undefined
  now: Date
  role: Role
  changes: readonly RecordedChange[]
}

/** A channel: whether its sends go, what its provider answers, the results of its sends, and how it is set up. */
export function ChannelPage({
  channel,
  facts,
  lastFailure,
  byHour,
  failures,
  role,
  changes,
  ...times
}: ChannelPageProps) {
  const { now, countedSince } = times
  const of = { channelId: channel.channelId }
  const columns = spanNames.map((span) => ({ span, counts: sumOfSpan(byHour, span, now) }))
  return (
    <Layout title={`Channel ${channel.name}`} at="/channels">
      <Condition channel={channel} facts={facts} lastFailure={lastFailure} />
      {role === 'operator' && !channel.deletedAt && (
        <>
          <SetupLinks channelId={channel.channelId} />
          <HoldForm channel={channel} />
        </>
      )}
      <section aria-labelledby="sums">
        <h2 id="sums">Sends</h2>
        <div class="beside">
          <Figures columns={columns} of={of} now={now} />
          <HourChart byHour={byHour} of={of} now={now} />
        </div>
        <SpanNote from={firstHourOf('week', now)} countedSince={countedSince} />
      </section>
      <FailureTable
        failures={failures}
        title="What went wrong, 24 hours"
        of={of}
        from={firstHourOf('day', now)}
      />
      <UnknownCodes provider={channel.provider} failures={failures} />
      <Setup channel={channel} facts={facts} />
      <History target={channel.channelId} changes={changes} />
    </Layout>
  )
}

const SetupLinks = ({ channelId }: { channelId: string }) => (
  <p class="row">
    <a class="button" href={`/channels/${channelId}/try`}>
      Try…
    </a>
    <a class="button" href={`/channels/${channelId}/change`}>
      Change…
    </a>
    <a class="button" href={`/channels/${channelId}/templates`}>
      Templates
    </a>
    <a class="button" href={`/channels/${channelId}/delete`}>
      Delete…
    </a>
  </p>
)

/** Codes whose decision is missing in the provider's tables, so that the status decided. */
function UnknownCodes({ provider, failures }: { provider: string; failures: readonly FailureCount[] }) {
  const unknown = unknownCodes(provider, failures)
  if (unknown.length === 0) return null
  return (
    <section aria-labelledby="unknown-codes">
      <h2 id="unknown-codes">Codes that no table knows, 24 hours</h2>
      <p>
        Their status decided. Add them to the provider's file: <code>docs/how-to/add-your-vendor.md</code>
      </p>
      <ul>
        {unknown.map(({ code, sends }) => (
          <li>
            <code>{code}</code>, {sends} {sends === 1 ? 'send' : 'sends'}
          </li>
        ))}
      </ul>
    </section>
  )
}

type ConditionProps = Pick<ChannelPageProps, 'channel' | 'facts' | 'lastFailure'>

function Condition({ channel, facts, lastFailure }: ConditionProps) {
  const { status } = channelStatus(channel)
  const warning = plainWarning(channel.shownConfig)
  const tone = channel.deletedAt ? 'over' : status === 'ready' ? 'good' : 'bad'
  return (
    <section class={`verdict ${tone}`}>
      <p class="kicker">
        {channel.provider} channel of <a href={`/?account=${channel.accountId}`}>{channel.accountName}</a>
      </p>
      <h1>{channel.name}</h1>
      <dl class="facts">
        <Fact name="State">
          <ChannelState channel={channel} />
        </Fact>
        {lastFailure && (
          <Fact name="Last failed answer">
            <LastFailedAnswer {...lastFailure} />
          </Fact>
        )}
        <Fact name="Waiting">
          <Waiting channel={channel} />
        </Fact>
        <OfProvider channel={channel} facts={facts} />
        {warning !== undefined && <Fact name="Warning">{warning}</Fact>}
      </dl>
    </section>
  )
}

/** By which channel sends go on that this one can't deliver. */
function Fallback(rule: ChannelFacts) {
  const { fallback } = shownFallback(rule)
  if (!fallback) return <>none</>
  return (
    <>
      <a href={`/channels/${fallback.channelId}`}>{fallback.channelId}</a>, for sends that are{' '}
      {fallback.on.join(' or ')}, within {fallback.withinSeconds} s of their accept
    </>
  )
}

/** Whether other channels of the provider fail too: then it is the provider, and not this channel. */
function OfProvider({
  channel: { provider },
  facts: { ofProvider },
}: Pick<ConditionProps, 'channel' | 'facts'>) {
  const { channels, failing, otherFailing, since } = ofProvider
  return (
    <Fact name="Other channels">
      {otherFailing === 0 || !since ? (
        <>No other channel of {provider} is failing</>
      ) : (
        <>
          {provider} fails for <ChannelCount {...{ provider, count: failing, state: 'failing' }} /> of{' '}
          <ChannelCount {...{ provider, count: channels }} /> channels since <Moment at={since} />
        </>
      )}
    </Fact>
  )
}

function Setup({ channel, facts }: Pick<ChannelPageProps, 'channel' | 'facts'>) {
  const { rateCalls, rateSeconds, maxInFlight, expireAfterSeconds, templates } = facts
  const { shownConfig } = channel
  return (
    <section aria-labelledby="setup">
      <h2 id="setup">Set-up</h2>
      <dl class="facts">
        <Fact name="channelId">
          <span class="id">{channel.channelId}</span>
        </Fact>
        <Fact name="Account">
          <a href={`/?account=${channel.accountId}`}>{channel.accountName}</a>{' '}
          <span class="id">{channel.accountId}</span>
        </Fact>
        <Fact name="Created">
          <Moment at={facts.createdAt} />
        </Fact>
        <Fact name="Rate">{rateCalls === null ? 'no limit' : `${rateCalls} calls in ${rateSeconds} s`}</Fact>
        <Fact name="In flight">{maxInFlight === null ? 'no limit' : `at most ${maxInFlight}`}</Fact>
        <Fact name="Sends expire">
          {expireAfterSeconds === null ? 'never' : `after ${expireAfterSeconds} s`}
        </Fact>
        <Fact name="Order">{facts.ordering === 'contact' ? 'by contact' : 'none'}</Fact>
        <Fact name="After an uncertain call">{facts.onUncertain}</Fact>
        <Fact name="Receipts">
          {facts.receiptAt ? (
            <>
              the last about <Moment at={facts.receiptAt} />
            </>
          ) : (
            'none so far'
          )}
        </Fact>
        <Fact name="Quiet hours">{facts.quietHours ? quietHoursText(facts.quietHours) : 'none'}</Fact>
        <Fact name="Ceilings">{facts.ceilings?.join(', ') ?? 'none'}</Fact>
        <Fact name="Countries">{facts.countries?.join(', ') ?? 'all'}</Fact>
        <Fact name="Auto-suppress">{(facts.autoSuppress ?? autoCauses).join(', ') || 'none'}</Fact>
        {facts.oneClick && <Fact name="Unsubscribe">with one click</Fact>}
        <Fact name="Fallback">
          <Fallback {...facts} />
        </Fact>
        {facts.fallsBackHere.length > 0 && (
          <Fact name="Fallback of">
            {facts.fallsBackHere.map(({ channelId, name }, index) => (
              <>
                {index > 0 && ', '}
                <a href={`/channels/${channelId}`}>{name}</a>
              </>
            ))}
          </Fact>
        )}
        <Fact name="Templates">{templateWords(channel.provider, templates)}</Fact>
        {shownConfig ? (
          Object.entries(shownConfig).map(([name, value]) => <Fact name={name}>{String(value)}</Fact>)
        ) : (
          <Fact name="Config">
            not kept for this page: an operator sets it again by{' '}
            <a href={`/channels/${channel.channelId}/change`}>Change…</a>
          </Fact>
        )}
      </dl>
    </section>
  )
}

/** Each with the segments of its fixed text, where the channel sends it as SMS. */
function templateWords(provider: string, templates: ChannelFacts['templates']): string {
  const rules = findProvider(provider)
  const words = templates.map(({ name, definition }) => {
    const size = rules && smsSizeOfTemplate(rules, definition)
    return size
      ? `${name} (${size.segments} ${size.segments === 1 ? 'segment' : 'segments'}, ${size.encoding})`
      : name
  })
  return words.join(', ') || 'none registered'
}
