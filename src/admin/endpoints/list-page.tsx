import { countedCallbacks, type EndpointFilter, type ListedEndpoint } from '../../../db/overview/endpoints.ts'
import { DueSince } from '../channels/channel-state.tsx'
import { formatCount } from '../numbers/spans.ts'
import { tableRows } from '../page/each-shown.tsx'
import { Choice, TextField } from '../page/fields.tsx'
import { Moment } from '../page/inline-elements.tsx'
import { Layout } from '../page/layout.tsx'
import { hostOf } from './callback-table.tsx'

export const endpointStates = ['disabled', 'failing', 'answering'] as const

interface ListPageProps {
  filter: EndpointFilter
  endpoints: readonly ListedEndpoint[]
  /** The link to the next page. */
  next: string | undefined
}

/** All endpoints of callbacks, those first that get none. */
export function EndpointListPage({ filter, endpoints, next }: ListPageProps) {
  const { account, state } = filter
  return (
    <Layout title="Endpoints" at="/endpoints">
      <h1>Endpoints of callbacks</h1>
      <details class="search" open={Boolean(account || state)}>
        <summary>Search by account or state</summary>
        <form method="get" action="/endpoints">
          <TextField name="account" label="Account" value={account} hint="Its whole name or id" />
          <Choice name="state" label="State" value={state} options={endpointStates} />
          <button type="submit">Search</button>
        </form>
      </details>
      <section aria-labelledby="list">
        <h2 id="list">{account || state ? 'Found' : 'All, those first that get no callbacks'}</h2>
        {endpoints.length === 0 ? <p>No endpoint found.</p> : <List endpoints={endpoints} />}
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
    <div class="scroll">
      <table class="numbers">
        <thead>
          <tr>
            <th scope="col">Endpoint</th>
            <th scope="col">Account</th>
            <th scope="col">State</th>
            <th scope="col">Waiting</th>
            <th scope="col">Oldest due since</th>
            <th scope="col">Last answered, about</th>
          </tr>
        </thead>
        <tbody>
          {tableRows(6, {
            rows: endpoints,
            idOf: ({ endpointId }) => endpointId,
            render: (endpoint) => (
              <tr>
                <td class="words">
                  <a href={`/endpoints/${endpoint.endpointId}`}>{hostOf(endpoint.url)}</a>{' '}
                  <small class="id">{endpoint.endpointId}</small>
                </td>
                <td data-label="Account" class="words">
                  {endpoint.accountName}
                </td>
                <td data-label="State">
                  <EndpointState endpoint={endpoint} />
                </td>
                <td data-label="Waiting">
                  {endpoint.waiting > countedCallbacks
                    ? `more than ${formatCount(countedCallbacks)}`
                    : formatCount(endpoint.waiting)}
                </td>
                <td data-label="Oldest due since">
                  <DueSince at={endpoint.oldestDue} />
                </td>
                <td data-label="Last answered, about">
                  {endpoint.answeredAt ? <Moment at={endpoint.answeredAt} /> : 'never'}
                </td>
              </tr>
            ),
          })}
        </tbody>
      </table>
    </div>
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
        <small class="reason">
          since <Moment at={since} />
          {disabledReason !== null && `: ${disabledReason}`}
        </small>
      )}
    </>
  )
}
