import type { FailureCount } from '../../../db/counters/read.ts'
import { withoutCode } from '../../../db/sends/both-tables.ts'
import { DataTable } from '../page/data-table.tsx'
import { State } from '../page/inline-elements.tsx'
import { faultWords } from './fault-words.ts'
import { type CountedOf, CountLink } from './figure-link.tsx'
import { formatCount } from './spans.ts'

interface FailureTableProps {
  failures: readonly FailureCount[]
  title: string
  of: CountedOf
  /** Sends that were accepted since then count. */
  from: Date
}

/** Failures by reason and code, the most frequent first. */
export function FailureTable({ failures, title, of, from }: FailureTableProps) {
  return (
    <section aria-labelledby="reasons">
      <h2 id="reasons">{title}</h2>
      {failures.length === 0 ? (
        <p class="muted">Nothing went wrong. Sends that fail would be here, by their reason and code.</p>
      ) : (
        <DataTable
          label={title}
          rows={failures}
          idOf={({ state, reason, code }) => [state, reason, code].join(' ')}
          columns={[
            { name: 'State', cell: ({ state }) => <FailureState state={state} /> },
            {
              name: 'Reason',
              cell: ({ reason }) => faultWords(reason) || 'as the provider reported',
            },
            { name: 'Code', cell: ({ code }) => code || '–' },
            { name: 'Sends', isNumber: true, cell: (failure) => <Sends {...{ failure, of, from }} /> },
          ]}
        />
      )}
    </section>
  )
}

const FailureState = ({ state }: Pick<FailureCount, 'state'>) =>
  state === 'undelivered' ? <span class="state failed">undelivered</span> : <State status={state} />

/** Leads to these very sends. */
function Sends({
  failure: { state, reason, code, sends },
  ...shown
}: Pick<FailureTableProps, 'of' | 'from'> & { failure: FailureCount }) {
  // An unknown reason is no filter.
  if (reason === '' && state !== 'undelivered') return <>{formatCount(sends)}</>
  const ofState = state === 'undelivered' ? ({ status: 'sent', delivery: state } as const) : { status: state }
  const filter = { ...ofState, ...(reason !== '' && { fault: reason }), providerCode: code || withoutCode }
  return <CountLink {...shown} filter={filter} count={sends} />
}
