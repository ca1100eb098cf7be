import { and, asc, eq, sql } from 'drizzle-orm'
import { maxEndpointsOfAccount, type SendChange, testType } from '../../src/core/callback.ts'
import { type Database, inTransaction } from '../client.ts'
import { accounts, callbacks, endpoints } from '../schema.ts'

export interface NewEndpoint {
  id: string
  accountId: string
  url: string
  /** Null for all types. */
  events: SendChange[] | null
  sealedSecret: string
}

/** @returns false if the account has as many as it may have. */
export async function createEndpoint(db: Database, endpoint: NewEndpoint): Promise<boolean> {
  return await inTransaction(db, async (transaction) => {
    const { accountId } = endpoint
    // Otherwise two at the same moment could be one too many.
    await transaction.select().from(accounts).where(eq(accounts.id, accountId)).for('no key update')
    const count = await transaction.$count(endpoints, eq(endpoints.accountId, accountId))
    if (count >= maxEndpointsOfAccount) return false
    await transaction.insert(endpoints).values(endpoint)
    return true
  })
}

const pageSize = 5000

const waiting = sql<number>`(
  select count(*)::int from ${callbacks} c where c.endpoint_id = ${endpoints.id} and c.finished_at is null)`

/** What operators see of an endpoint. */
const shown = {
  endpointId: endpoints.id,
  url: endpoints.url,
  events: endpoints.events,
  createdAt: endpoints.createdAt,
  disabledAt: endpoints.disabledAt,
  disabledReason: endpoints.disabledReason,
  failingSince: endpoints.failingSince,
  answeredAt: endpoints.answeredAt,
  breakerOpenUntil: endpoints.breakerOpenUntil,
  waiting,
}

export function listEndpoints(db: Database, accountId: string) {
  return db.select(shown).from(endpoints).where(eq(endpoints.accountId, accountId)).orderBy(asc(endpoints.id))
}

export async function findEndpoint(db: Database, id: string) {
  const [endpoint] = await db
    .select({ accountId: endpoints.accountId, ...shown })
    .from(endpoints)
    .where(eq(endpoints.id, id))
  return endpoint
}

/** Nothing is known of it, so its first call is made with care. */
const asNew = {
  answeredAt: null,
  failingSince: null,
  failedAt: null,
  breakerOpenUntil: null,
  breakerOpenedAt: null,
  breakerOpenings: 0,
}

/** With another URL, it counts as a new endpoint. */
export async function updateEndpoint(
  db: Database,
  id: string,
  fields: Partial<Pick<NewEndpoint, 'url' | 'events'>>,
): Promise<boolean> {
  const { rowCount } = await db
    .update(endpoints)
    .set({ ...fields, ...(fields.url !== undefined && asNew) })
    .where(eq(endpoints.id, id))
  return rowCount === 1
}

/** Its callbacks go on at once, in order, also those that would be tried again much later. */
export async function enableEndpoint(db: Database, id: string): Promise<boolean> {
  for (let promoted = pageSize; promoted === pageSize; ) {
    const { rowCount } = await db.execute(sql`
      update callbacks set next_try_at = clock_timestamp()
      where endpoint_id = ${id} and ctid = any(array(
        select ctid from callbacks
        where endpoint_id = ${id} and finished_at is null and next_try_at > now()
        order by next_try_at limit ${pageSize} for no key update))`)
    promoted = rowCount ?? 0
  }
  const { rowCount } = await db
    .update(endpoints)
    .set({ disabledAt: null, disabledReason: null, ...asNew })
    .where(eq(endpoints.id, id))
  return rowCount === 1
}

/** Its callbacks are kept, also those to come. An endpoint that is disabled keeps its reason. */
export async function disableEndpoint(db: Database, id: string, reason: string): Promise<boolean> {
  const { rowCount } = await db
    .update(endpoints)
    .set({
      disabledAt: sql`coalesce(${endpoints.disabledAt}, clock_timestamp())`,
      disabledReason: sql`coalesce(${endpoints.disabledReason}, ${reason})`,
    })
    .where(eq(endpoints.id, id))
  return rowCount === 1
}

/** Deletes an endpoint, then its callbacks. What is inserted at this moment goes with retention. */
export async function deleteEndpoint(db: Database, id: string): Promise<boolean> {
  const { rowCount } = await db.delete(endpoints).where(eq(endpoints.id, id))
  if (rowCount !== 1) return false
  for (;;) {
    const deleted = await db.execute(sql`
      delete from callbacks where ctid = any(array(
        select ctid from callbacks where endpoint_id = ${id} limit ${pageSize}))`)
    // Not at a page that isn't full: a row that a worker changes at this moment is missed.
    if (deleted.rowCount === 0) return true
  }
}

/**
 * Replaces the secret. The former one signs besides until the end of the overlap; one from before that no more.
 *
 * @returns until when both sign; undefined if there is no such endpoint.
 */
export async function rotateSecret(
  db: Database,
  { id, sealedSecret, overlapSeconds }: { id: string; sealedSecret: string; overlapSeconds: number },
): Promise<Date | undefined> {
  const [rotated] = await db
    .update(endpoints)
    .set({
      sealedSecret,
      sealedFormerSecret: sql`${endpoints.sealedSecret}`,
      formerUntil: sql`clock_timestamp() + ${overlapSeconds} * interval '1 s'`,
    })
    .where(eq(endpoints.id, id))
    .returning({ formerUntil: endpoints.formerUntil })
  return rotated?.formerUntil ?? undefined
}

/** Adds a test, whatever types the endpoint takes. @param id of the test. */
export async function addTest(db: Database, endpointId: string, id: string): Promise<void> {
  await db.insert(callbacks).values({ endpointId, requestId: id, sequence: 0, type: testType })
}

export async function findCallback(
  db: Database,
  { endpointId, requestId }: { endpointId: string; requestId: string },
) {
  const [found] = await db
    .select()
    .from(callbacks)
    .where(and(eq(callbacks.endpointId, endpointId), eq(callbacks.requestId, requestId)))
  return found
}
