import type { RecordedChange } from '../../../db/audit/list.ts'
import type { ListedSession } from '../../../db/people/sessions.ts'
import type { Role } from '../../core/accounts/person.ts'
import { History } from '../audit/history.tsx'
import { Choice, TextField } from '../page/fields.tsx'
import { Layout } from '../page/layout.tsx'
import { PageHead } from '../page/page-head.tsx'
import type { FieldIssues } from '../page/typed-form.ts'
import { personLink, roleOptions } from './people-page.tsx'
import { SessionsSection } from './sessions-section.tsx'

interface PersonPageProps {
  name: string
  role: Role
  sessions: readonly ListedSession[]
  changes: readonly RecordedChange[]
  issues?: FieldIssues | undefined
}

/** A person: their role, their password and their sessions. */
export function PersonPage({ name, role, sessions, changes, issues = {} }: PersonPageProps) {
  const named = <input type="hidden" name="name" value={name} />
  return (
    <Layout title={`Person ${name}`} at="/people">
      <PageHead title={name}>
        <a class="button" href={`/people/remove?${new URLSearchParams({ name })}`}>
          Remove…
        </a>
      </PageHead>
      <section aria-labelledby="role-of">
        <h2 id="role-of">Role</h2>
        <form method="post" action="/people/role" class="inline">
          {named}
          <Choice
            name="role"
            label="Role"
            value={role}
            options={roleOptions}
            none={null}
            issue={issues.role}
          />
          <button type="submit">Set role</button>
        </form>
      </section>
      <section aria-labelledby="password-of">
        <h2 id="password-of">Password</h2>
        <form method="post" action="/people/password" class="inline" autocomplete="off">
          {named}
          <TextField
            name="password"
            label="New password"
            type="password"
            hint="For somebody who forgot theirs. It ends all their sessions"
            issue={issues.password}
            required
          />
          <button type="submit">Set password</button>
        </form>
      </section>
      <SessionsSection sessions={sessions} action="/people/sessions" name={name} />
      <History target={name} changes={changes} />
    </Layout>
  )
}

/** Asks before a person is removed. */
export function RemovePersonPage({ name }: { name: string }) {
  return (
    <Layout title="Remove person" at="/people">
      <section class="verdict bad">
        <h1>Remove {name}?</h1>
        <p>Their sessions end at once. What they did stays in the audit.</p>
        <form method="post" action="/people/remove">
          <input type="hidden" name="name" value={name} />
          <p class="row">
            <button type="submit" class="danger">
              Remove
            </button>
            <a class="button" href={personLink(name)}>
              Leave it as it is
            </a>
          </p>
        </form>
      </section>
    </Layout>
  )
}
