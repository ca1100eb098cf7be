import type { Database } from '../connection/client.ts'
import { prepared, sqlText } from '../statement.ts'

const beatStatement = prepared<{ aliveUntil: Date }>(
  'beat',
  'Renews a worker’s lease, and thereby all its claims.',
  sqlText`
    insert into workers (name, alive_until) values ($1, clock_timestamp() + $2 * interval '1 ms')
    on conflict (name) do update set alive_until = excluded.alive_until
    returning alive_until as "aliveUntil"`,
)

/**
 * Renews the worker's lease, and thereby all its claims.
 *
 * @returns the end of the lease, by PostgreSQL's clock.
 */
export async function beat(db: Database, name: string, leaseMs: number): Promise<Date> {
  const [row] = await beatStatement(db, [name, leaseMs])
  if (!row) throw new Error('The beat was not recorded')
  return row.aliveUntil
}

const retireStatement = prepared(
  'retire_worker',
  'Ends the lease of a worker that has stopped.',
  `update workers set alive_until = '-infinity' where name = $1`,
)

/** Ends the lease of a worker that has stopped. Its unfinished claims count as lost at once. */
export async function retire(db: Database, name: string): Promise<void> {
  await retireStatement(db, [name])
}

const findDeadStatement = prepared<{ name: string }>(
  'find_dead_workers',
  'Lists the workers whose lease has run out.',
  'select name from workers where alive_until < clock_timestamp()',
)

/** The workers whose lease has run out. */
export async function findDeadWorkers(db: Database): Promise<string[]> {
  return (await findDeadStatement(db, [])).map(({ name }) => name)
}

const forgetStatement = prepared(
  'forget_dead_workers',
  'Removes dead workers whose claims have been given up.',
  'delete from workers where name = any($1) and alive_until < clock_timestamp()',
)

/** Removes those of the workers that are still dead. Their claims have to be given up before. */
export async function forgetDeadWorkers(db: Database, names: readonly string[]): Promise<void> {
  await forgetStatement(db, [names])
}

/**
 * For claims that no lease covers: of a worker without a row, or of one that has dropped the send by a bug. An attempt with large
 * content may take longer, but then its worker has a row, and the send in flight.
 */
const longestClaimMinutes = 1

const isOlder = (since: string) => `${since} < clock_timestamp() - interval '${longestClaimMinutes} minutes'`

/**
 * SQL that is true for a claim that no worker will end: its worker is dead or has no row, or it is a claim of the sweeping worker
 * $2 that is not among those in flight $3. (A dead worker's send may be in flight here too, while its repeated wake-up is
 * being refused.)
 *
 * @param claim SQL of its worker, of what $3 lists, and of when it was made. Its worker's row, if any, is `w`.
 */
export const isOrphaned = ({ worker, id, since }: { worker: string; id: string; since: string }) => sqlText`
  ((${worker} <> $2 and w.alive_until < clock_timestamp() and clock_timestamp() < $4) or
   (${worker} <> $2 and w.name is null and ${isOlder(since)}) or
   (${worker} = $2 and ${id} <> all($3::uuid[]) and ${isOlder(since)}))`

/** The worker that searches for lost claims. */
export interface Sweeper {
  worker: string
  /** Its sends in flight, and its claims of endpoints. */
  inFlight: readonly string[]
  /**
   * By PostgreSQL's clock. A statement that runs later, because PostgreSQL was down, considers no worker dead: the outage may have
   * prevented their heartbeats too.
   */
  sweepsUntil: Date
}
