import type { RecordedChange } from '../../../db/audit/list.ts'
import type { lookAtTest } from '../../../db/callbacks/endpoint-tests.ts'
import type { findEndpoint } from '../../../db/callbacks/endpoints.ts'
import type { ResentCallbacks } from '../../../db/callbacks/resends.ts'
import type { Role } from '../../core/accounts/person.ts'
import { nothingThere, whatWasLeftOut } from '../../core/sends/left-out.ts'
import { History } from '../audit/history.tsx'
import { formatCount } from '../numbers/spans.ts'
import { ForRole } from '../page/for-role.tsx'
import { Moment } from '../page/inline-elements.tsx'
import { Layout } from '../page/layout.tsx'
import { Fact } from '../support/send-details.tsx'
import { CallbackList, type CallbackListProps, callbacksLink } from './callback-list.tsx'
import { hostOf } from './callback-table.tsx'
import { SwitchForm } from './switch-form.tsx'

type Endpoint = NonNullable<Awaited<ReturnType<typeof findEndpoint>>>

interface EndpointPageProps {
  endpoint: Endpoint
  accountName: string
  list: CallbackListProps
  /** The callbacks that were just made to wait again. */
  resent: ResentCallbacks | undefined
  role: Role
  changes: readonly RecordedChange[]
  /** The result of the test that the page follows. */
  test: Awaited<ReturnType<typeof lookAtTest>> | undefined
}

/** An endpoint: whether it answers, what waits for it, and its last answers. */
export function EndpointPage({
  endpoint,
  accountName,
  list,
  resent,
  role,
  changes,
  test,
}: EndpointPageProps) {
  const { endpointId, disabledAt, failingSince } = endpoint
  return (
    <Layout
      title={`Endpoint ${hostOf(endpoint.url)}`}
      at="/endpoints"
      refreshSeconds={test === 'not_called' ? testLookSeconds : undefined}
    >
      <section class={`verdict ${disabledAt || failingSince ? 'bad' : 'good'}`}>
        <p class="kicker">
          Endpoint of <a href={`/?account=${endpoint.accountId}`}>{accountName}</a>
        </p>
        <h1>{hostOf(endpoint.url)}</h1>
        <p>{headline(endpoint)}</p>
        {test !== undefined && <TestResult test={test} />}
        {resent && (
          <p>
            {resent.resent} {resent.resent === 1 ? 'callback is' : 'callbacks are'} being sent again.{' '}
            {whatWasLeftOut(resent.resent, resent.leftOut, nothingThere.callbacks)}
          </p>
        )}
        {disabledAt && role !== 'operator' && <p>An operator can enable it on this page.</p>}
      </section>
      {role === 'operator' && (
        <>
          <SetupLinks endpoint={endpoint} />
          <SwitchForm endpointId={endpointId} disabledAt={disabledAt} />
        </>
      )}
      <Details endpoint={endpoint} accountName={accountName} />
      <ForRole who="support">
        <section aria-labelledby="resend">
          <h2 id="resend">Send again</h2>
          <form class="inline" method="post" action={`/endpoints/${endpointId}/resend`}>
            <p class="field">
              <label for="since">Changes since (UTC)</label>
              <input id="since" name="since" type="datetime-local" required />
            </p>
            <p class="choice">
              <input id="onlyGivenUp" name="onlyGivenUp" type="checkbox" value="yes" />
              <label for="onlyGivenUp">Only those that were given up</label>
            </p>
            <button type="submit">Send again</button>
          </form>
        </section>
      </ForRole>
      <CallbackList endpointId={endpointId} {...list} />
      <History target={endpointId} changes={changes} />
    </Layout>
  )
}

const testLookSeconds = 2

function TestResult({ test }: { test: NonNullable<EndpointPageProps['test']> }) {
  if (test === 'deleted') return <p>The test is no longer kept.</p>
  if (test === 'not_called')
    return <p role="status">Its test waits for a worker. This page looks again every {testLookSeconds} s.</p>
  const { status, reason, durationMs, at } = test
  return (
    <p role="status">
      Its test at <Moment at={at} />:{' '}
      {status === null ? `no answer: ${reason}` : `it answered with the status ${status}`}, after {durationMs}{' '}
      ms.
    </p>
  )
}

function SetupLinks({ endpoint: { endpointId, disabledAt } }: Pick<EndpointPageProps, 'endpoint'>) {
  const link = `/endpoints/${endpointId}`
  return (
    <form class="row" method="post" action={`${link}/test`}>
      {disabledAt === null && <button type="submit">Send a test event</button>}
      <a class="button" href={`${link}/change`}>
        Change…
      </a>
      <a class="button" href={`${link}/rotate-secret`}>
        Replace the secret…
      </a>
      <a class="button" href={`${link}/delete`}>
        Delete…
      </a>
    </form>
  )
}

function headline({ disabledAt, disabledReason, failingSince, answeredAt }: Endpoint): string {
  if (disabledAt) return `It is disabled: ${disabledReason}.`
  if (failingSince) return 'Calls to it fail.'
  return answeredAt ? 'It answers.' : 'It has not answered yet.'
}

function Details({ endpoint, accountName }: Pick<EndpointPageProps, 'endpoint' | 'accountName'>) {
  const { endpointId, accountId, events, waiting, ...moments } = endpoint
  const { createdAt, disabledAt, failingSince, breakerOpenUntil, answeredAt } = moments
  const rows = [
    ['Created', createdAt],
    ['Disabled', disabledAt],
    ['Failing since', failingSince],
    ['Next call, not before', breakerOpenUntil],
    ['Last answered, about', answeredAt],
  ] as const
  return (
    <section aria-labelledby="facts">
      <h2 id="facts">Details</h2>
      <dl class="facts">
        <Fact name="endpointId">
          <span class="id">{endpointId}</span>
        </Fact>
        <Fact name="Account">
          <a href={`/?account=${accountId}`}>{accountName}</a> <span class="id">{accountId}</span>
        </Fact>
        <Fact name="Host">{hostOf(endpoint.url)}</Fact>
        <Fact name="Changes">{events?.join(', ') ?? 'all'}</Fact>
        <Fact name="Waiting">
          <a href={callbacksLink(endpointId, { state: 'waiting' })}>{formatCount(waiting)}</a>
        </Fact>
        {rows.map(
          ([name, at]) =>
            at && (
              <Fact name={name}>
                <Moment at={at} />
              </Fact>
            ),
        )}
      </dl>
    </section>
  )
}
