import { countedCallbacks, type EndpointFilter, type ListedEndpoint } from '../../../db/overview/endpoints.ts'
import type { Count } from '../../../db/sends/list-count.ts'
import { Overdue } from '../channels/channel-state.tsx'
import { formatCount, totalOf } from '../numbers/spans.ts'
import { DataTable } from '../page/data-table.tsx'
import { Choice } from '../page/fields.tsx'
import { FilterForm } from '../page/filter-form.tsx'
import { Moment } from '../page/inline-elements.tsx'
import { Layout } from '../page/layout.tsx'
import { PageHead } from '../page/page-head.tsx'
import { callbacksLink } from './callback-list.tsx'
import { hostOf } from './callback-table.tsx'

export const endpointStates = ['disabled', 'failing', 'answering'] as const

interface ListPageProps {
  filter: EndpointFilter
  endpoints: readonly ListedEndpoint[]
  total: Count
  /** The account for which a new one can be created here. */
  addFor: string | undefined
  /** The link to the next page. */
  next: string | undefined
}

/** All endpoints of callbacks, those first that get none. */
export function EndpointListPage({
  filter: { account, state },
  endpoints,
  total,
  addFor,
  next,
}: ListPageProps) {
  return (
    <Layout title="Endpoints" at="/endpoints">
      <PageHead
        title="Endpoints"
        about={`${totalOf(total, 'endpoint')} of callbacks; those that are disabled or fail come first`}
      >
        {addFor !== undefined && (
          <a class="button main" href={`/endpoints/new?accountId=${addFor}`}>
            New endpoint
          </a>
        )}
      </PageHead>
      <FilterForm action="/endpoints" isOpen={state !== undefined}>
        <Choice name="state" label="State" value={state} options={endpointStates} />
      </FilterForm>
      <section aria-label="Endpoints">
        {endpoints.length > 0 ? (
          <List endpoints={endpoints} />
        ) : (
          <p class="empty">
            {state || account ? 'No endpoint found.' : 'No endpoint yet.'} A client registers its own with{' '}
            <code>POST /v1/endpoints</code>. An operator does it on the page of the account
          </p>
        )}
        {next !== undefined && (
          <p>
            <a class="button" href={next}>
              More endpoints
            </a>
          </p>
        )}
      </section>
    </Layout>
  )
}

function List({ endpoints }: { endpoints: readonly ListedEndpoint[] }) {
  return (
    <DataTable
      label="Endpoints"
      rows={endpoints}
      idOf={({ endpointId }) => endpointId}
      columns={[
        {
          name: 'Endpoint',
          cell: ({ endpointId, url, accountName }) => (
            <>
              <a class="name" href={`/endpoints/${endpointId}`}>
                {hostOf(url)}
              </a>
              <small class="below">{accountName}</small>
            </>
          ),
        },
        { name: 'State', cell: (endpoint) => <EndpointState endpoint={endpoint} /> },
        { name: 'Waiting', isNumber: true, cell: (endpoint) => <WaitingCallbacks {...endpoint} /> },
        {
          name: 'Last answered, about',
          cell: ({ answeredAt }) => (answeredAt ? <Moment at={answeredAt} short /> : 'never'),
        },
      ]}
    />
  )
}

function WaitingCallbacks({ endpointId, waiting, oldestDue }: ListedEndpoint) {
  if (waiting === 0) return <>0</>
  return (
    <>
      <a href={callbacksLink(endpointId, { state: 'waiting' })}>
        {waiting > countedCallbacks ? `more than ${formatCount(countedCallbacks)}` : formatCount(waiting)}
      </a>
      <Overdue at={oldestDue} />
    </>
  )
}

function EndpointState({ endpoint }: { endpoint: ListedEndpoint }) {
  const { disabledAt, disabledReason, failingSince, answeredAt } = endpoint
  const since = disabledAt ?? failingSince
  const word = disabledAt ? 'disabled' : failingSince ? 'failing' : answeredAt ? 'answering' : 'new'
  return (
    <>
      <span class={`state ${since ? 'failed' : 'sent'}`}>{word}</span>
      {since && (
        <small class="below">
          since <Moment at={since} short />
          {disabledReason !== null && `: ${disabledReason}`}
        </small>
      )}
    </>
  )
}
