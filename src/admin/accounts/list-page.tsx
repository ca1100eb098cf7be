import type { ListedAccount } from '../../../db/overview/accounts.ts'
import { formatCount } from '../numbers/spans.ts'
import { DataTable } from '../page/data-table.tsx'
import { Moment } from '../page/inline-elements.tsx'
import { Layout } from '../page/layout.tsx'
import { PageHead } from '../page/page-head.tsx'

interface ListPageProps {
  accounts: readonly ListedAccount[]
  /** The link to the next page. */
  next: string | undefined
}

/** All accounts, the newest first. */
export function AccountListPage({ accounts, next }: ListPageProps) {
  return (
    <Layout title="Accounts" at="/accounts">
      <PageHead title="Accounts" about="Clients of this service; each has its own channels and keys">
        <a class="button main" href="/accounts/new">
          New account
        </a>
      </PageHead>
      <section aria-label="Accounts">
        {accounts.length > 0 ? (
          <DataTable
            label="Accounts"
            rows={accounts}
            idOf={({ accountId }) => accountId}
            columns={[
              {
                name: 'Account',
                cell: ({ accountId, name }) => (
                  <>
                    <a class="name" href={`/accounts/${accountId}`}>
                      {name}
                    </a>
                    <small class="below id">{accountId}</small>
                  </>
                ),
              },
              { name: 'Channels', isNumber: true, cell: ({ channels }) => formatCount(channels) },
              { name: 'Keys', isNumber: true, cell: ({ keys }) => formatCount(keys) },
              {
                name: 'Rate limit',
                cell: ({ rateLimitPoints, rateLimitSeconds }) =>
                  rateLimitPoints === null ? "the service's" : `${rateLimitPoints}/${rateLimitSeconds}`,
              },
              { name: 'Created', cell: ({ createdAt }) => <Moment at={createdAt} short /> },
            ]}
          />
        ) : (
          <p class="empty">
            No account yet. A new account leads through its channel, its key and its first send.
          </p>
        )}
        {next !== undefined && (
          <p>
            <a class="button" href={next}>
              Older accounts
            </a>
          </p>
        )}
      </section>
    </Layout>
  )
}
