import type { RefusedOfKey } from '../../../db/audit/refused.ts'
import type { Count } from '../../../db/sends/list-count.ts'
import { totalOf } from '../numbers/spans.ts'
import { DataTable } from '../page/data-table.tsx'
import { Choice } from '../page/fields.tsx'
import { FilterForm } from '../page/filter-form.tsx'
import { Moment } from '../page/inline-elements.tsx'
import { Layout } from '../page/layout.tsx'
import { PageHead } from '../page/page-head.tsx'

export interface RefusedInput {
  status?: string | undefined
}

/** The meaning of each 4xx of the API. */
export const statuses = [
  ['400', '400: the body or the query is not valid'],
  ['401', '401: the key is revoked or has expired'],
  ['403', '403: the key lacks a permission'],
  ['404', '404: there is no such thing'],
  ['405', '405: the route takes another method'],
  ['409', '409: the send is in another state'],
  ['422', '422: the Idempotency-Key was used before'],
  ['429', '429: over a limit'],
] as const

interface RefusedPageProps {
  input: RefusedInput
  issue?: string
  requests?: readonly RefusedOfKey[]
  total?: Count
  /** The request after which the next page begins. */
  next?: string | undefined
}

/** The requests that were answered 4xx in the last day, with a known key: the newest first. */
export function RefusedPage({ input, issue, requests, total, next }: RefusedPageProps) {
  return (
    <Layout title="Refused" at="/refused">
      <PageHead
        title="Refused"
        about={`${total ? totalOf(total, 'request') : 'Requests'} that the API answered 4xx in the last 24 hours: the last 1,000 of each account. Of what was sent, only the names of the fields are kept.`}
      />
      <FilterForm action="/refused" isOpen={Boolean(input.status)}>
        <Choice name="status" label="Answer" value={input.status} options={statuses} />
      </FilterForm>
      {issue !== undefined && (
        <p class="fault" role="alert">
          {issue}
        </p>
      )}
      {requests && (
        <section aria-label="Refused requests">
          {requests.length > 0 ? (
            <Requests requests={requests} />
          ) : (
            <p class="empty">No request found. Those that a client has to correct would be here.</p>
          )}
          {next !== undefined && (
            <p>
              <a
                class="button"
                href={`/refused?${new URLSearchParams({ ...(input.status && { status: input.status }), before: next })}`}
              >
                Older
              </a>
            </p>
          )}
        </section>
      )}
    </Layout>
  )
}

function Requests({ requests }: { requests: readonly RefusedOfKey[] }) {
  return (
    <DataTable
      label="Refused requests"
      rows={requests}
      idOf={({ requestId }) => requestId}
      columns={[
        {
          name: 'Request',
          cell: ({ route, requestId }) => (
            <>
              <b>{route}</b>
              <small class="below id">{requestId}</small>
            </>
          ),
        },
        { name: 'Answer', cell: ({ status, message }) => `${status} ${message}` },
        { name: 'Fields sent', cell: ({ fields }) => fields.join(', ') },
        {
          name: 'Account',
          cell: ({ accountId, accountName, keyPrefix }) => (
            <>
              <a href={`/refused?${new URLSearchParams({ account: accountId })}`}>{accountName}</a>
              <small class="below id">{keyPrefix}…</small>
            </>
          ),
        },
        { name: 'When', cell: ({ at }) => <Moment at={at} short /> },
      ]}
    />
  )
}
