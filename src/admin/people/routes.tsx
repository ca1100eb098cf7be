import { type ListedPerson, listPeople } from '../../../db/people/people.ts'
import { type AdminApp, type AdminRuntime, factory } from '../context.ts'
import { DataTable } from '../page/data-table.tsx'
import { Moment } from '../page/inline-elements.tsx'
import { Layout } from '../page/layout.tsx'
import { PageHead } from '../page/page-head.tsx'
import { allow } from './allow.ts'

/** The people who may sign in. They are added and removed by the command line. */
export function people({ db }: AdminRuntime): AdminApp {
  const app: AdminApp = factory.createApp()
  app.get('/', allow('operator'), async (c) => c.html(<PeoplePage people={await listPeople(db)} />))
  return app
}

function PeoplePage({ people }: { people: ListedPerson[] }) {
  return (
    <Layout title="People" at="/people">
      <PageHead
        title="People"
        about={
          <>
            They are added, removed and get a new password with the command <code>outbound admin-user</code>
          </>
        }
      />
      <section aria-label="People">
        {people.length === 0 ? (
          <p class="empty">Nobody can sign in by name. Add somebody with the command.</p>
        ) : (
          <DataTable
            label="People"
            rows={people}
            idOf={({ name }) => name}
            columns={[
              { name: 'Name', cell: ({ name }) => <b>{name}</b> },
              { name: 'Role', cell: ({ role }) => role },
              { name: 'Added', cell: ({ createdAt }) => <Moment at={createdAt} short /> },
              {
                name: 'Last sign-in',
                cell: ({ signedInAt }) => (signedInAt === null ? 'never' : <Moment at={signedInAt} short />),
              },
              { name: 'Signed in', cell: ({ sessions }) => sessionWords(sessions) },
            ]}
          />
        )}
      </section>
    </Layout>
  )
}

const sessionWords = (sessions: number) =>
  sessions === 0 ? 'no' : sessions === 1 ? 'in 1 browser' : `in ${sessions} browsers`
