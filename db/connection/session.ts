import type pg from 'pg'

/** A fault of the database that lasts until an operator changes something. Its message is one line that says what. */
export class DatabaseFault extends Error {}

/** CI starts this one, too: tests/system/processes/oldest-postgres.test.ts */
export const oldestPostgres = 13

/**
 * A prepared plan outlives the table that it was made for: a plan that reads a nearly empty table whole would still do so for
 * each accept and claim of a flood (docs/decisions/0036-steady-estimates.md). Statements without an index still read tables
 * whole; PostgreSQL before 18 considers that so expensive that it would compile each such statement, so jit is off.
 */
const steadyPlans = { enable_seqscan: 'off', jit: 'off' }
/** Other values make statements fail, or their results are read wrong. */
const readable = {
  datestyle: 'ISO, MDY',
  intervalstyle: 'postgres',
  extra_float_digits: '1',
  standard_conforming_strings: 'on',
  default_transaction_isolation: 'read committed',
}
/** The settings that a pooler has to make for the role, because it would pass a changed connection to its next client. */
const neededSettings = { ...steadyPlans, ...readable }
/** The service limits the time of its statements itself. */
const ownSettings = {
  ...neededSettings,
  timezone: 'UTC',
  bytea_output: 'hex',
  statement_timeout: '0',
  lock_timeout: '0',
}

type Name = keyof typeof ownSettings

interface Server {
  version: number
  encoding: string
  /** Null if no schema of the search_path exists. */
  schema: string | null
}

const serverColumns = `
  current_setting('server_version_num')::int / 10000 as "version", current_setting('server_encoding') as "encoding",
  current_schema() as "schema"`

/** A connection as it was found, and then set. */
export interface Session extends Server {
  /** Whether there is no pooler in between, which is recognised because it gives its clients process ids of its own. */
  isDirect: boolean
  isReadOnly: boolean
  settings: Record<Name, string>
}

/** Reads what a new connection is like. Sets what the service needs, whatever the database or the role has, if there is no pooler. */
export async function openSession(client: pg.ClientBase): Promise<Session> {
  const { processID } = client as unknown as { processID: number }
  const settings = Object.entries(ownSettings).map(
    ([name, value]) =>
      `'${name}', case when "isDirect" then set_config('${name}', '${value}', false) else current_setting('${name}') end`,
  )
  const { rows } = await client.query<Session>(`
    select "isDirect", current_setting('transaction_read_only') = 'on' as "isReadOnly", ${serverColumns},
           json_build_object(${settings.join(', ')}) as settings
    from (select pg_backend_pid() = ${processID} as "isDirect") backend`)
  return rows[0] as Session
}

/** @throws DatabaseFault if statements would fail on this connection, or their results be read wrong. */
export function checkSession({ settings, ...server }: Session): void {
  checkServer(server)
  const unfit = (Object.keys(readable) as (keyof typeof readable)[]).find(
    (name) => !isFit(name, settings[name]),
  )
  if (unfit === undefined) return
  throw new DatabaseFault(
    `DATABASE_URL: through this pooler ${unfit} is ${settings[unfit]}: run migrate as the user of DATABASE_URL, then RECONNECT the pooler`,
  )
}

export function hasSteadyPlans({ settings }: Session): boolean {
  return Object.entries(steadyPlans).every(([name, value]) => settings[name as Name] === value)
}

function isFit(name: keyof typeof readable, value: string): boolean {
  if (name === 'datestyle') return value.startsWith('ISO')
  if (name === 'extra_float_digits') return Number(value) >= 0
  return value === readable[name]
}

function checkServer({ version, encoding, schema }: Server): void {
  if (version < oldestPostgres)
    throw new DatabaseFault(
      `DATABASE_URL: PostgreSQL ${version} is too old; use PostgreSQL ${oldestPostgres} or later`,
    )
  if (encoding !== 'UTF8')
    throw new DatabaseFault(
      `DATABASE_URL: the database's encoding is ${encoding}; create one with encoding 'UTF8' template template0, and use that`,
    )
  if (schema !== 'public')
    throw new DatabaseFault(
      `DATABASE_URL: the tables have to be in the schema public, but search_path leads to ${schema ?? 'none'}; put public first in it, and grant its usage to the role`,
    )
}

/**
 * Checks a server before its migration, and sets for the role what a pooler's connections lack. If the role that migrates is not
 * the service's, or lacks the privilege, the service logs that or says it at its start.
 *
 * @throws DatabaseFault if the service can't use this database.
 */
export async function prepareForRole(client: pg.ClientBase): Promise<void> {
  const names = Object.keys(neededSettings) as (keyof typeof neededSettings)[]
  const columns = names.map((name) => `'${name}', current_setting('${name}')`)
  const { rows } = await client.query<Server & { settings: Record<string, string> }>(
    `select ${serverColumns}, json_build_object(${columns.join(', ')}) as settings`,
  )
  const [server] = rows
  if (!server) return
  checkServer(server)
  const missing = names.filter((name) => server.settings[name] !== neededSettings[name])
  const statements = missing.map(
    (name) =>
      `execute format('alter role %I in database %I set ${name} = %L', current_user, current_database(), '${neededSettings[name]}');`,
  )
  await client.query(
    `do $$ begin ${statements.join('\n')} exception when insufficient_privilege then null; end $$`,
  )
}
