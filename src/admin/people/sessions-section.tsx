import { type ListedSession, unusedHours } from '../../../db/people/sessions.ts'
import { canBeRecordId } from '../../core/requests/record-id.ts'
import { PageError } from '../errors.tsx'
import { DataTable } from '../page/data-table.tsx'
import { Moment } from '../page/inline-elements.tsx'
import type { Typed } from '../page/typed-form.ts'

const allSessions = 'all'

/** Which session a form names; undefined for all. @throws PageError if it names none. */
export function sessionIn({ session }: Typed): string | undefined {
  if (session === allSessions) return undefined
  if (session !== undefined && canBeRecordId(session)) return session
  throw new PageError(404, 'There is no such session.')
}

interface SessionsProps {
  sessions: readonly ListedSession[]
  /** Where its forms are sent to. */
  action: string
  /** Whose sessions they are, where the path doesn't say it. */
  name?: string | undefined
}

/** The browsers in which a person is signed in, each to be ended. */
export function SessionsSection({ sessions, action, name }: SessionsProps) {
  return (
    <section aria-labelledby="sessions">
      <h2 id="sessions">Signed in</h2>
      {sessions.length === 0 ? (
        <p class="muted">In no browser.</p>
      ) : (
        <>
          <DataTable
            label="Sessions"
            rows={sessions}
            idOf={({ id }) => id}
            columns={[
              {
                name: 'From',
                cell: ({ address, isOwn }) => (
                  <>
                    {address ?? 'an unknown address'}
                    {isOwn && <small class="below">this browser</small>}
                  </>
                ),
              },
              { name: 'Since', cell: ({ begunAt }) => <Moment at={begunAt} short /> },
              { name: 'Last used, about', cell: ({ usedAt }) => <Moment at={usedAt} short /> },
              { name: 'End', cell: ({ id }) => <EndForm {...{ action, name }} session={id} words="End" /> },
            ]}
          />
          <EndForm {...{ action, name }} session={allSessions} words="End all" />
        </>
      )}
      <p class="muted">A session ends by itself after {unusedHours} hours without use.</p>
    </section>
  )
}

function EndForm({
  action,
  name,
  session,
  words,
}: Omit<SessionsProps, 'sessions'> & { session: string; words: string }) {
  return (
    <form method="post" action={action}>
      {name !== undefined && <input type="hidden" name="name" value={name} />}
      <input type="hidden" name="session" value={session} />
      <button type="submit" class="danger">
        {words}
      </button>
    </form>
  )
}
