import { type ListedPerson, listPeople } from '../../../db/people/people.ts'
import { type AdminApp, type AdminRuntime, factory } from '../context.ts'
import { tableRows } from '../page/each-shown.tsx'
import { Moment } from '../page/inline-elements.tsx'
import { Layout } from '../page/layout.tsx'
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
      <h1>People</h1>
      <p class="muted">
        They are added, removed and get a new password with the command <code>outbound admin-user</code>
      </p>
      <section>
        {people.length === 0 ? (
          <p>Nobody can sign in by name. Add somebody with the command.</p>
        ) : (
          <Table people={people} />
        )}
      </section>
    </Layout>
  )
}

function Table({ people }: { people: ListedPerson[] }) {
  return (
    <div class="scroll">
      <table>
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col">Role</th>
            <th scope="col">Added</th>
            <th scope="col">Last sign-in</th>
            <th scope="col">Signed in</th>
          </tr>
        </thead>
        <tbody>
          {tableRows(5, {
            rows: people,
            idOf: ({ name }) => name,
            render: ({ name, role, createdAt, signedInAt, sessions }) => (
              <tr>
                <td>{name}</td>
                <td>{role}</td>
                <td>
                  <Moment at={createdAt} />
                </td>
                <td>{signedInAt === null ? 'never' : <Moment at={signedInAt} />}</td>
                <td>{sessions === 0 ? 'no' : sessions === 1 ? 'in 1 browser' : `in ${sessions} browsers`}</td>
              </tr>
            ),
          })}
        </tbody>
      </table>
    </div>
  )
}
