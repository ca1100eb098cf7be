import type { RefusedOfKey } from '../../../db/audit/refused.ts'
import { tableRows } from '../page/each-shown.tsx'
import { Choice, TextField } from '../page/fields.tsx'
import { FilterForm, ScrollingTable } from '../page/filter-form.tsx'
import { Moment } from '../page/inline-elements.tsx'
import { Layout } from '../page/layout.tsx'

export interface RefusedInput {
  account?: string | undefined
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
  /** The request after which the next page begins. */
  next?: string | undefined
}

/** The requests that were answered 4xx in the last day, with a known key: the newest first. */
export function RefusedPage({ input, issue, requests, next }: RefusedPageProps) {
  const filters = Object.fromEntries(Object.entries(input).filter(([, value]) => value)) as Record<
    string,
    string
  >
  return (
    <Layout title="Refused requests" at="/refused">
      <h1>What was refused?</h1>
      <p>
        Requests that the API answered 4xx in the last 24 hours: the last 1,000 of each account. Of what was
        sent, only the names of the fields are kept.
      </p>
      <FilterForm action="/refused" isOpen={Object.keys(filters).length > 0}>
        <TextField name="account" label="Account" value={input.account} hint="Its id or its name" />
        <Choice name="status" label="Answer" value={input.status} options={statuses} />
      </FilterForm>
      {issue !== undefined && (
        <p class="fault" role="alert">
          {issue}
        </p>
      )}
      {requests && (requests.length > 0 ? <Requests requests={requests} /> : <p>No request found.</p>)}
      {next !== undefined && (
        <p>
          <a class="button" href={`/refused?${new URLSearchParams({ ...filters, before: next })}`}>
            Older
          </a>
        </p>
      )}
    </Layout>
  )
}

const columns = ['When', 'Account', 'Key', 'Request', 'Answer', 'Fields sent', 'requestId']

function Requests({ requests }: { requests: readonly RefusedOfKey[] }) {
  return (
    <ScrollingTable label="Refused requests" columns={columns}>
      {tableRows(columns.length, {
        rows: requests,
        idOf: ({ requestId }) => requestId,
        render: ({ requestId, at, accountId, accountName, keyPrefix, status, message, route, fields }) => (
          <tr>
            <td>
              <Moment at={at} />
            </td>
            <td>
              <a href={`/refused?${new URLSearchParams({ account: accountId })}`}>{accountName}</a>
            </td>
            <td class="id">{keyPrefix}…</td>
            <td>{route}</td>
            <td>
              {status} {message}
            </td>
            <td>{fields.join(', ')}</td>
            <td class="id">{requestId}</td>
          </tr>
        ),
      })}
    </ScrollingTable>
  )
}
