import { nameKey, type Person, type Role } from '../../src/core/accounts/person.ts'
import type { Database, Transaction } from '../connection/client.ts'
import { prepared, sqlText } from '../statement.ts'

export const sessionHours = 12
/** A session that isn't used for so long has ended. */
export const unusedHours = 8
export const unusedInterval = `interval '${unusedHours} hours'`
/** How far behind the recorded last use of a session may be. */
const useInterval = "interval '5 minutes'"
const keptAddresses = 10

/** SQL of whether a session `s` is valid. */
const isValid = `s.expires_at > now() and s.used_at > now() - ${unusedInterval}`

interface SessionRow {
  hadPeople: boolean
  name: string | null
  role: Role | null
  isUseDue: boolean | null
}

const readStatement = prepared<SessionRow>(
  'read_session',
  'Finds the person of a session, and whether there ever were people.',
  sqlText`
    -- $1: the hash of the token in the cookie; null if there is none.
    select exists (select from people_since) as "hadPeople", p.name, p.role,
           s.used_at < now() - ${useInterval} as "isUseDue"
    from (select) one
    left join (person_sessions s join people p on p.id = s.person_id)
      on s.token_hash = $1::bytea and ${isValid}`,
)

const useStatement = prepared(
  'use_session',
  'Records that a session was used, unless that was recorded in the last minutes.',
  sqlText`
    update person_sessions set used_at = now()
    where token_hash = $1 and used_at < now() - ${useInterval}`,
)

/** Records that a session is in use. */
export async function useSession(db: Database, tokenHash: Buffer): Promise<void> {
  await useStatement(db, [tokenHash])
}

/** The person of a session, if it is valid, and whether people sign in here: they do from the first one on, also after the last was removed. */
export async function readSession(
  db: Database,
  tokenHash: Buffer | undefined,
): Promise<{ hadPeople: boolean; person: Person | undefined; isUseDue: boolean }> {
  const [row] = await readStatement(db, [tokenHash])
  const { hadPeople = true, name = null, role = null, isUseDue } = row ?? {}
  return {
    hadPeople,
    person: name === null || role === null ? undefined : { name, role },
    isUseDue: isUseDue === true,
  }
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
    ended as (delete from person_sessions s where not (${isValid})),
    begun as (
      insert into person_sessions (token_hash, person_id, expires_at, address)
      select $3::bytea, id, now() + interval '${sessionHours} hours', $4 from person)
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

/** A browser in which a person is signed in. */
export interface ListedSession {
  id: string
  begunAt: Date
  /** Minutes behind. */
  usedAt: Date
  address: string | null
  isOwn: boolean
}

const listStatement = prepared<ListedSession>(
  'list_sessions',
  'Lists the sessions of a person, the last used first.',
  sqlText`
    -- $1: the key of the name; $2: the hash of the own token, null if there is none.
    select s.session_id as "id", s.begun_at as "begunAt", s.used_at as "usedAt", s.address,
           coalesce(s.token_hash = $2::bytea, false) as "isOwn"
    from person_sessions s join people p on p.id = s.person_id
    where p.name_key = $1 and ${isValid}
    order by s.used_at desc, s.session_id`,
)

export function listSessions(
  db: Database,
  name: string,
  ownHash: Buffer | undefined,
): Promise<ListedSession[]> {
  return listStatement(db, [nameKey(name), ownHash])
}

const endOfStatement = prepared<{ name: string; sessions: number }>(
  'end_sessions_of',
  'Ends all sessions of a person, or one of them.',
  sqlText`
    -- $1: the key of the name; $2: the session, null for all.
    with
    person as (select id, name from people where name_key = $1),
    ended as (
      delete from person_sessions s using person p
      where s.person_id = p.id and ($2::uuid is null or s.session_id = $2)
      returning 1)
    select name, (select count(*)::int from ended) as sessions from person`,
)

/** @returns undefined if there is no such person. */
export async function endSessionsOf(
  db: Database | Transaction,
  name: string,
  sessionId?: string,
): Promise<{ name: string; sessions: number } | undefined> {
  return (await endOfStatement(db, [nameKey(name), sessionId]))[0]
}
