import { asc, eq, sql } from 'drizzle-orm'
import { v7 as uuidv7 } from 'uuid'
import { nameKey, type Person, type Role } from '../../src/core/accounts/person.ts'
import type { Database, Transaction } from '../connection/client.ts'
import { people, personSessions } from '../schema.ts'
import { unusedInterval } from './sessions.ts'

/** @returns false if there is a person of this name already. */
export async function addPerson(
  db: Database | Transaction,
  person: Person,
  passwordHash: string,
): Promise<boolean> {
  const added = await db
    .insert(people)
    .values({ id: uuidv7(), ...person, nameKey: nameKey(person.name), passwordHash })
    .onConflictDoNothing()
    .returning({ id: people.id })
  return added.length === 1
}

export interface ListedPerson extends Person {
  createdAt: Date
  signedInAt: Date | null
  /** Browsers in which they are signed in. */
  sessions: number
}

/** All people, by name. */
export function listPeople(db: Database): Promise<ListedPerson[]> {
  return db
    .select({
      name: people.name,
      role: people.role,
      createdAt: people.createdAt,
      signedInAt: people.signedInAt,
      sessions: sql<number>`(
        select count(*)::int from ${personSessions}
        where ${personSessions.personId} = ${people.id} and ${personSessions.expiresAt} > now()
          and ${personSessions.usedAt} > now() - ${sql.raw(unusedInterval)})`,
    })
    .from(people)
    .orderBy(asc(people.nameKey))
}

export async function findRole(db: Database | Transaction, name: string): Promise<Role | undefined> {
  const [person] = await db
    .select({ role: people.role })
    .from(people)
    .where(eq(people.nameKey, nameKey(name)))
  return person?.role
}

/** @returns the name as it was added; undefined if there is no such person. */
export async function setRole(
  db: Database | Transaction,
  name: string,
  role: Role,
): Promise<string | undefined> {
  const [changed] = await db
    .update(people)
    .set({ role })
    .where(eq(people.nameKey, nameKey(name)))
    .returning({ name: people.name })
  return changed?.name
}

/** Ends their sessions, too. @returns the name as it was added; undefined if there is no such person. */
export async function removePerson(db: Database | Transaction, name: string): Promise<string | undefined> {
  const [removed] = await db
    .delete(people)
    .where(eq(people.nameKey, nameKey(name)))
    .returning({ name: people.name })
  return removed?.name
}

/** Ends their sessions, too. @returns the name as it was added; undefined if there is no such person. */
export async function setPassword(
  transaction: Transaction,
  name: string,
  passwordHash: string,
): Promise<string | undefined> {
  const [changed] = await transaction
    .update(people)
    .set({ passwordHash })
    .where(eq(people.nameKey, nameKey(name)))
    .returning({ id: people.id, name: people.name })
  // A statement of its own: it also sees the session of a sign-in that held the row until now.
  if (changed) await transaction.delete(personSessions).where(eq(personSessions.personId, changed.id))
  return changed?.name
}
