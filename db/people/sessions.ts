import { nameKey, type Person, type Role } from '../../src/core/accounts/person.ts'
import type { Database, Transaction } from '../connection/client.ts'
import { prepared, sqlText } from '../statement.ts'

export const sessionHours = 12
const keptAddresses = 10

const readStatement = prepared<{ hadPeople: boolean; name: string | null; role: Role | null }>(
  'read_session',
  'Finds the person of a session, and whether there ever were people.',
  sqlText`
    -- $1: the hash of the token in the cookie; null if there is none.
    select exists (select from people_since) as "hadPeople", p.name, p.role
    from (select) one
    left join (person_sessions s join people p on p.id = s.person_id)
      on s.token_hash = $1::bytea and s.expires_at > now()`,
)

/** The person of a session, if it is valid, and whether people sign in here: they do from the first one on, also after the last was removed. */
export async function readSession(
  db: Database,
  tokenHash: Buffer | undefined,
): Promise<{ hadPeople: boolean; person: Person | undefined }> {
  const [{ hadPeople, name, role } = { hadPeople: true, name: null, role: null }] = await readStatement(db, [
    tokenHash,
  ])
  return { hadPeople, person: name === null || role === null ? undefined : { name, role } }
}

export interface Credentials {
  personId: string
  name: string
  passwordHash: string
  knownAddresses: string[]
}

const credentialsStatement = prepared<Credentials>(
  'person_credentials',
  'Finds what a sign-in is checked against.',
  sqlText`
    select id as "personId", name, password_hash as "passwordHash", known_addresses as "knownAddresses"
    from people where name_key = $1`,
)

export async function findCredentials(db: Database, name: string): Promise<Credentials | undefined> {
  return (await credentialsStatement(db, [nameKey(name)]))[0]
}

const beginStatement = prepared<{ name: string }>(
  'begin_session',
  'Begins the session of a person whose password was right, and removes sessions that have ended.',
  sqlText`
    -- $1: the person; $2: the hash of the password that was checked; $3: the hash of the token; $4: the address.
    with
    person as (
      update people
      set signed_in_at = now(),
          known_addresses = (array_prepend($4::text, array_remove(known_addresses, $4::text)))[:${keptAddresses}]
      where id = $1 and password_hash = $2
      returning id, name),
    ended as (delete from person_sessions where expires_at <= now()),
    begun as (
      insert into person_sessions (token_hash, person_id, expires_at)
      select $3::bytea, id, now() + interval '${sessionHours} hours' from person)
    select name from person`,
)

/** @returns false if the person was removed, or got another password, after theirs was checked. */
export async function beginSession(
  db: Database | Transaction,
  { personId, passwordHash }: Credentials,
  session: { tokenHash: Buffer; address: string },
): Promise<boolean> {
  const values = [personId, passwordHash, session.tokenHash, session.address]
  return (await beginStatement(db, values)).length === 1
}

const endStatement = prepared(
  'end_session',
  'Ends a session.',
  sqlText`delete from person_sessions where token_hash = $1`,
)

export async function endSession(db: Database | Transaction, tokenHash: Buffer): Promise<void> {
  await endStatement(db, [tokenHash])
}
