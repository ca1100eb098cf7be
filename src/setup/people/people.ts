import { audited } from '../../../db/audit/record.ts'
import { addPerson, findRole, removePerson, setPassword, setRole } from '../../../db/people/people.ts'
import { endSessionsOf } from '../../../db/people/sessions.ts'
import { hashPassword, passwordIssue } from '../../core/accounts/password.ts'
import type { Person, Role } from '../../core/accounts/person.ts'
import type { Making } from '../making.ts'
import { SetupFault } from '../setup-fault.ts'
import { guessableIssue } from './guessable.ts'

/** The hash of a new password. @throws SetupFault if it is too short, or would be guessed. */
async function hashOfNew(password: string, name: string): Promise<string> {
  const issue = passwordIssue(password) ?? (await guessableIssue(password, name))
  if (issue !== undefined) throw new SetupFault('password', issue)
  return await hashPassword(password)
}

/** Adds a person who may sign in. @returns false if there is one of this name already. */
export async function makePerson({ db, actor }: Making, person: Person, password: string): Promise<boolean> {
  const { name: target, role } = person
  const hash = await hashOfNew(password, target)
  return await audited(
    db,
    (transaction) => addPerson(transaction, person, hash),
    (isAdded) => isAdded && { ...actor, action: 'person.add', target, details: { role } },
  )
}

/** Removes a person, with their sessions. @returns the name as it was added; undefined if there is no such person. */
export async function endPerson({ db, actor }: Making, name: string): Promise<string | undefined> {
  return await audited(
    db,
    (transaction) => removePerson(transaction, name),
    (target) => target !== undefined && { ...actor, action: 'person.remove', target },
  )
}

/** Sets another password, and ends the sessions. @returns as `endPerson`. */
export async function changePassword(
  { db, actor }: Making,
  name: string,
  password: string,
): Promise<string | undefined> {
  const hash = await hashOfNew(password, name)
  return await audited(
    db,
    (transaction) => setPassword(transaction, name, hash),
    (target) => target !== undefined && { ...actor, action: 'person.set_password', target },
  )
}

/** Sets another role, which counts from the next page on. @returns as `endPerson`. */
export async function changeRole(
  { db, actor }: Making,
  name: string,
  role: Role,
): Promise<string | undefined> {
  const changed = await audited(
    db,
    async (transaction) => {
      const before = await findRole(transaction, name)
      const target = await setRole(transaction, name, role)
      return target === undefined ? undefined : { before, target }
    },
    (changed) =>
      changed &&
      changed.before !== role && {
        ...actor,
        action: 'person.set_role',
        target: changed.target,
        details: { role, roleBefore: changed.before ?? null },
      },
  )
  return changed?.target
}

/** Ends all sessions of a person, or one of them. @returns as `endPerson`. */
export async function endSessions(
  { db, actor }: Making,
  name: string,
  sessionId?: string,
): Promise<string | undefined> {
  const ended = await audited(
    db,
    (transaction) => endSessionsOf(transaction, name, sessionId),
    (ended) =>
      ended &&
      ended.sessions > 0 && {
        ...actor,
        action: 'person.end_sessions',
        target: ended.name,
        details: { sessions: ended.sessions },
      },
  )
  return ended?.name
}
