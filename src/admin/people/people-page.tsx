import type { ListedPerson } from '../../../db/people/people.ts'
import type { roles } from '../../core/accounts/person.ts'
import { DataTable } from '../page/data-table.tsx'
import { Choice, TextField } from '../page/fields.tsx'
import { Moment } from '../page/inline-elements.tsx'
import { Layout } from '../page/layout.tsx'
import { PageHead } from '../page/page-head.tsx'
import type { FieldIssues, Typed } from '../page/typed-form.ts'

export const personLink = (name: string) => `/people/person?${new URLSearchParams({ name })}`

/** Who may sign in. */
export function PeoplePage({ people }: { people: ListedPerson[] }) {
  return (
    <Layout title="People" at="/people">
      <PageHead title="People" about="They sign in by name, and each change that they make is in the audit">
        <a class="button main" href="/people/new">
          New person
        </a>
      </PageHead>
      <section aria-label="People">
        {people.length === 0 ? (
          <p class="empty">
            Nobody can sign in by name. From the first person on, ADMIN_PASSWORD opens no page any more.
          </p>
        ) : (
          <DataTable
            label="People"
            rows={people}
            idOf={({ name }) => name}
            columns={[
              {
                name: 'Name',
                cell: ({ name }) => (
                  <a class="name" href={personLink(name)}>
                    {name}
                  </a>
                ),
              },
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

export const roleOptions = [
  ['reader', 'reader: sees, masked; changes nothing'],
  ['support', 'support: replays, cancels, suppresses'],
  ['operator', 'operator: sets up, holds, erases'],
] as const satisfies readonly (readonly [(typeof roles)[number], string])[]

/** Asks for a new person, as `outbound admin-user add` does. */
export function NewPersonPage({ typed = {}, issues = {} }: { typed?: Typed; issues?: FieldIssues }) {
  return (
    <Layout title="New person" at="/people">
      <h1>New person</h1>
      <section aria-label="New person">
        <form method="post" action="/people/new" class="fields one" autocomplete="off">
          <TextField
            name="name"
            label="Name"
            value={typed.name}
            hint="To sign in with"
            issue={issues.name}
            required
          />
          <Choice
            name="role"
            label="Role"
            value={typed.role}
            options={roleOptions}
            none={null}
            issue={issues.role}
          />
          <TextField
            name="password"
            label="Password"
            type="password"
            hint="At least 12 characters, such as five words. They can change it on their own page"
            issue={issues.password}
            required
          />
          <p class="row">
            <button type="submit" class="main">
              Add person
            </button>
            <a class="button" href="/people">
              Leave it
            </a>
          </p>
        </form>
      </section>
    </Layout>
  )
}
