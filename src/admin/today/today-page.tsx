import type { RecordedChange } from '../../../db/audit/list.ts'
import type { Counts, FailureCount } from '../../../db/counters/read.ts'
import type { FoundAccount } from '../../../db/overview/accounts.ts'
import type { Attention } from '../../../db/overview/attention.ts'
import { History } from '../audit/history.tsx'
import { HourChart } from '../numbers/chart.tsx'
import { FailureTable } from '../numbers/failure-table.tsx'
import { Figures, SpanNote } from '../numbers/figures.tsx'
import { firstHourOf, noCounts, spanNames, spans, sumOfSpan } from '../numbers/spans.ts'
import { Layout } from '../page/layout.tsx'
import { PageHead } from '../page/page-head.tsx'
import { AttentionList } from './attention.tsx'
import { ByChannel, type ListedChannels, type TodayQuery } from './by-channel.tsx'

interface TodayProps extends ListedChannels {
  query: TodayQuery
  account: FoundAccount | undefined
  now: Date
  countedSince: Date | undefined
  attention: Attention
  /** Counts of all accounts, or of one. */
  byHour: readonly (Counts & { hour: Date })[]
  failures: readonly FailureCount[]
  /** The account's changes; undefined where no account is chosen. */
  changes: readonly RecordedChange[] | undefined
}

/** The start page: things that need a hand, and the results of the sends of the last hour, 24 hours and 7 days. */
export function TodayPage({ query, account, now, countedSince, ...shown }: TodayProps) {
  const { attention, byHour, failures, changes, ...listed } = shown
  const of = { accountId: account?.accountId }
  const columns = spanNames.map((span) => ({ span, counts: sumOfSpan(byHour, span, now) }))
  const week = columns.find(({ span }) => span === 'week')?.counts ?? noCounts
  return (
    <Layout title="Today" at="/">
      <PageHead title="Today" />
      <AttentionList attention={attention} uncertain={week.uncertain} of={of} />
      <section aria-labelledby="sums">
        <h2 id="sums">{account ? `Account ${account.name}` : 'All accounts'}</h2>
        <div class="beside">
          <Figures columns={columns} of={of} now={now} />
          <HourChart byHour={byHour} of={of} now={now} />
        </div>
        <SpanNote from={firstHourOf('week', now)} countedSince={countedSince} />
      </section>
      <ByChannel query={query} now={now} {...listed} />
      <FailureTable
        failures={failures}
        title={`What went wrong, ${spans[query.span].name.toLowerCase()}`}
        of={of}
        from={firstHourOf(query.span, now)}
      />
      {account && changes && <History target={account.accountId} changes={changes} />}
    </Layout>
  )
}
