import type { findAccount } from '../../../db/accounts/accounts.ts'
import type { listApiKeys } from '../../../db/accounts/api-keys.ts'
import type { listChannels } from '../../../db/accounts/channels.ts'
import type { listFlows } from '../../../db/accounts/flows.ts'
import type { RecordedChange } from '../../../db/audit/list.ts'
import type { listEndpoints } from '../../../db/callbacks/endpoints.ts'
import type { SetUpProgress } from '../../../db/overview/accounts.ts'
import { rateLimitText } from '../../setup/accounts.ts'
import { History } from '../audit/history.tsx'
import { hostOf } from '../endpoints/callback-table.tsx'
import { DataTable } from '../page/data-table.tsx'
import { TextField } from '../page/fields.tsx'
import { Moment } from '../page/inline-elements.tsx'
import { Layout } from '../page/layout.tsx'
import { PageHead } from '../page/page-head.tsx'
import { ceilingHint } from '../page/setting-words.ts'
import type { FieldIssues, Typed } from '../page/typed-form.ts'
import { Fact } from '../support/send-details.tsx'
import { Keys } from './keys.tsx'
import { NextSteps } from './next-steps.tsx'

type Rows<List extends (...args: never[]) => Promise<unknown>> = Awaited<ReturnType<List>>

export interface AccountPageProps {
  account: NonNullable<Rows<typeof findAccount>>
  channels: Pick<
    Awaited<ReturnType<typeof listChannels>>[number],
    'channelId' | 'name' | 'provider' | 'heldAt'
  >[]
  keys: Awaited<ReturnType<typeof listApiKeys>>
  flows: Awaited<ReturnType<typeof listFlows>>
  endpoints: Rows<typeof listEndpoints>
  progress: SetUpProgress
  changes: readonly RecordedChange[]
  typed?: Typed
  issues?: FieldIssues
}

/** An account: what is next in its set-up, and what it has. */
export function AccountPage({ account, progress, typed = {}, issues = {}, ...has }: AccountPageProps) {
  const { accountId, name, rateLimit, createdAt } = account
  return (
    <Layout title={`Account ${name}`} at="/accounts">
      <PageHead title={name}>
        <a class="button" href={`/?account=${accountId}`}>
          Its sends of today
        </a>
      </PageHead>
      <NextSteps accountId={accountId} progress={progress} />
      <section aria-labelledby="facts">
        <h2 id="facts">Details</h2>
        <dl class="facts">
          <Fact name="accountId">
            <span class="id">{accountId}</span>
          </Fact>
          <Fact name="Ceilings">{account.ceilings?.join(', ') ?? 'none'}</Fact>
          <Fact name="Created">
            <Moment at={createdAt} />
          </Fact>
        </dl>
      </section>
      <section aria-labelledby="limit">
        <h2 id="limit">Limits</h2>
        <form method="post" action={`/accounts/${accountId}/limit`} class="inline">
          <TextField
            name="rateLimit"
            label="Rate limit"
            value={typed.rateLimit ?? (rateLimit && rateLimitText(rateLimit))}
            hint={`Requests in a number of seconds, such as 600/60. Empty: the limit of the service`}
            issue={issues.rateLimit}
          />
          <TextField
            name="ceiling"
            label="Ceilings"
            value={typed.ceiling ?? (account.ceilings ?? []).join(', ')}
            hint={ceilingHint}
            issue={issues.ceiling}
          />
          <button type="submit">Set limits</button>
        </form>
      </section>
      <Channels accountId={accountId} channels={has.channels} />
      <Keys accountId={accountId} keys={has.keys} />
      <Endpoints accountId={accountId} endpoints={has.endpoints} />
      <Flows accountId={accountId} flows={has.flows} typed={typed} issues={issues} />
      <History target={accountId} changes={has.changes} />
    </Layout>
  )
}

function Channels({ accountId, channels }: { accountId: string } & Pick<AccountPageProps, 'channels'>) {
  return (
    <section aria-labelledby="channels">
      <div class="head">
        <h2 id="channels">Channels</h2>
        <a class="button" href={`/channels/new?accountId=${accountId}`}>
          New channel
        </a>
      </div>
      {channels.length === 0 ? (
        <p class="muted">None yet. A channel sends by one provider.</p>
      ) : (
        <DataTable
          label="Channels"
          rows={channels}
          idOf={({ channelId }) => channelId}
          columns={[
            {
              name: 'Channel',
              cell: ({ channelId, name }) => (
                <a class="name" href={`/channels/${channelId}`}>
                  {name}
                </a>
              ),
            },
            { name: 'Provider', cell: ({ provider }) => provider },
            {
              name: 'State',
              cell: ({ heldAt }) =>
                heldAt ? <span class="state failed">held</span> : <span class="state sent">in use</span>,
            },
          ]}
        />
      )}
    </section>
  )
}

function Endpoints({ accountId, endpoints }: { accountId: string } & Pick<AccountPageProps, 'endpoints'>) {
  return (
    <section aria-labelledby="endpoints">
      <div class="head">
        <h2 id="endpoints">Endpoints</h2>
        <a class="button" href={`/endpoints/new?accountId=${accountId}`}>
          New endpoint
        </a>
      </div>
      {endpoints.length === 0 ? (
        <p class="muted">
          None yet. The client can register its own, too, with a key that has endpoints:manage.
        </p>
      ) : (
        <DataTable
          label="Endpoints"
          rows={endpoints}
          idOf={({ endpointId }) => endpointId}
          columns={[
            {
              name: 'Endpoint',
              cell: ({ endpointId, url }) => (
                <a class="name" href={`/endpoints/${endpointId}`}>
                  {hostOf(url)}
                </a>
              ),
            },
            { name: 'Changes', cell: ({ events }) => events?.join(', ') ?? 'all' },
            {
              name: 'State',
              cell: ({ disabledAt }) =>
                disabledAt ? (
                  <span class="state failed">disabled</span>
                ) : (
                  <span class="state sent">in use</span>
                ),
            },
          ]}
        />
      )}
    </section>
  )
}

function Flows({
  accountId,
  flows,
  typed,
  issues,
}: { accountId: string; typed: Typed; issues: FieldIssues } & Pick<AccountPageProps, 'flows'>) {
  return (
    <section aria-labelledby="flows">
      <h2 id="flows">Flows</h2>
      {flows.length > 0 && (
        <DataTable
          label="Flows"
          rows={flows}
          idOf={({ flowId }) => flowId}
          columns={[
            {
              name: 'Flow',
              cell: ({ flowId, name }) => (
                <>
                  <a class="name" href={`/sends?flowId=${flowId}`}>
                    {name}
                  </a>
                  <small class="below id">{flowId}</small>
                </>
              ),
            },
            { name: 'Created', cell: ({ createdAt }) => <Moment at={createdAt} short /> },
          ]}
        />
      )}
      <form method="post" action={`/accounts/${accountId}/flows`} class="inline">
        <TextField
          name="flow"
          label="Name of a new flow"
          value={typed.flow}
          hint="Sends name a flow by its id, to be listed and canceled together"
          issue={issues.flow}
          required
        />
        <button type="submit">Create flow</button>
      </form>
    </section>
  )
}
