import { and, asc, eq, sql } from 'drizzle-orm'
import { type EventType, maxEndpointsOfAccount } from '../../src/core/callbacks/callback.ts'
import { isKeyTaken, type KeyToTake, takeIdempotencyKey } from '../admission/idempotency-keys.ts'
import { toBeCommittedBy } from '../admission/record-by.ts'
import type { RecordIn } from '../audit/record.ts'
import { type Database, inTransaction, type Transaction } from '../connection/client.ts'
import { isAfter, type PageAsked, pageOf, placeOf, type RunPage } from '../page.ts'
import { accounts, callbacks, endpoints } from '../schema.ts'

export interface NewEndpoint {
  id: string
  accountId: string
  url: string
  /** Null for all changes of sends. */
  events: EventType[] | null
  sealedSecret: string
}

export type Creation = 'created' | 'too_many' | 'repeated'

interface Recording {
  /** When the change has to be committed at the latest. */
  recordBy?: Date
  /** Called in the transaction that makes the change. */
  record?: RecordIn
}

interface CreationOptions extends Recording {
  /** An Idempotency-Key, stored with the endpoint as with a send; its request has the endpoint's id. */
  idempotency?: KeyToTake | undefined
}

/** @returns `too_many` if the account has as many as it may have, `repeated` if the Idempotency-Key was used before. */
export async function createEndpoint(
  db: Database | Transaction,
  endpoint: NewEndpoint,
  { idempotency, recordBy, record }: CreationOptions = {},
): Promise<Creation> {
  return await inTransaction(db, async (transaction) => {
    const { id, accountId } = endpoint
    // Otherwise two at the same moment could be one too many.
    await transaction.select().from(accounts).where(eq(accounts.id, accountId)).for('no key update')
    if (idempotency && (await isKeyTaken(transaction, idempotency.hash))) return 'repeated'
    const count = await transaction.$count(endpoints, eq(endpoints.accountId, accountId))
    if (count >= maxEndpointsOfAccount) return 'too_many'
    // A send may have taken the key at this moment.
    if (idempotency && !(await takeIdempotencyKey(transaction, idempotency, id))) return 'repeated'
    await transaction.insert(endpoints).values(endpoint)
    await record?.(transaction)
    if (recordBy) await toBeCommittedBy(transaction, recordBy)
    return 'created'
  })
}

const pageSize = 5000

const atOnce: RunPage = (page) => page()

interface PagedChange extends Pick<Recording, 'record'> {
  /** Runs each page, within what its process has for it. */
  runPage?: RunPage
}

/** The shown fields of an endpoint. @param countedAtMost of those that wait; null for all, which may take seconds. */
const shown = (countedAtMost: number | null) => ({
  endpointId: endpoints.id,
  url: endpoints.url,
  events: endpoints.events,
  createdAt: endpoints.createdAt,
  disabledAt: endpoints.disabledAt,
  disabledReason: endpoints.disabledReason,
  failingSince: endpoints.failingSince,
  answeredAt: endpoints.answeredAt,
  breakerOpenUntil: endpoints.breakerOpenUntil,
  waiting: sql<number>`(
    select count(*)::int from (
      select 1 from ${callbacks} c where c.endpoint_id = ${endpoints.id} and c.finished_at is null
      limit ${countedAtMost}::int) waiting)`,
})

export function listEndpoints(db: Database, accountId: string) {
  return db
    .select(shown(null))
    .from(endpoints)
    .where(eq(endpoints.accountId, accountId))
    .orderBy(asc(endpoints.id))
}

export async function findEndpoint(db: Database | Transaction, id: string) {
  const [endpoint] = await db
    .select({ accountId: endpoints.accountId, ...shown(null) })
    .from(endpoints)
    .where(eq(endpoints.id, id))
  return endpoint
}

/** For clients `waiting` counts to this number, so that an answer takes no longer with more. */
export const countedWaiting = 10_000

/** A page of the endpoints of an account, the oldest first. */
export async function pageOfEndpoints(db: Database, accountId: string, { limit, after }: PageAsked) {
  const { createdAt, id } = endpoints
  const rows = await db
    .select({ ...shown(countedWaiting), place: placeOf(createdAt, id) })
    .from(endpoints)
    .where(and(eq(endpoints.accountId, accountId), isAfter(createdAt, id, after)))
    .orderBy(asc(createdAt), asc(id))
    .limit(limit + 1)
  return pageOf(rows, limit)
}

/** Takes the same statement for an absent endpoint and one of another account. */
export async function findOwnEndpoint(db: Database, id: string, accountId: string) {
  const [endpoint] = await db
    .select(shown(countedWaiting))
    .from(endpoints)
    .where(and(eq(endpoints.id, id), eq(endpoints.accountId, accountId)))
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

/** An endpoint with another URL counts as a new one. */
export async function updateEndpoint(
  db: Database | Transaction,
  id: string,
  fields: { [Name in 'url' | 'events']?: NewEndpoint[Name] | undefined },
): Promise<boolean> {
  const { rowCount } = await db
    .update(endpoints)
    .set({ ...fields, ...(fields.url !== undefined && asNew) })
    .where(eq(endpoints.id, id))
  return rowCount === 1
}

/** Its callbacks go on at once, in order, also those that would be tried again much later. */
export async function enableEndpoint(
  db: Database | Transaction,
  id: string,
  { runPage = atOnce, record }: PagedChange = {},
): Promise<boolean> {
  const promotePage = () =>
    db.execute(sql`
      update callbacks set next_try_at = clock_timestamp()
      where endpoint_id = ${id} and ctid = any(array(
        select ctid from callbacks
        where endpoint_id = ${id} and finished_at is null and next_try_at > now()
        order by next_try_at limit ${pageSize} for no key update))`)
  for (let promoted = pageSize; promoted === pageSize; ) {
    const { rowCount } = await runPage(promotePage)
    promoted = rowCount ?? 0
  }
  const enableIn = async (transaction: Transaction) => {
    const { rowCount } = await transaction
      .update(endpoints)
      .set({ disabledAt: null, disabledReason: null, ...asNew })
      .where(eq(endpoints.id, id))
    if (rowCount === 1) await record?.(transaction)
    return rowCount === 1
  }
  return await runPage(() => inTransaction(db, enableIn))
}

/** Its callbacks are kept, also those to come. An endpoint that is disabled keeps its reason. */
export async function disableEndpoint(
  db: Database | Transaction,
  id: string,
  reason: string,
): Promise<boolean> {
  const { rowCount } = await db
    .update(endpoints)
    .set({
      disabledAt: sql`coalesce(${endpoints.disabledAt}, clock_timestamp())`,
      disabledReason: sql`coalesce(${endpoints.disabledReason}, ${reason})`,
    })
    .where(eq(endpoints.id, id))
  return rowCount === 1
}

/** Deletes an endpoint, then its callbacks, by pages. Callbacks that are inserted at this moment go with retention. */
export async function deleteEndpoint(
  db: Database | Transaction,
  id: string,
  { runPage = atOnce, record }: PagedChange = {},
): Promise<boolean> {
  const deleteIn = async (transaction: Transaction) => {
    const { rowCount } = await transaction.delete(endpoints).where(eq(endpoints.id, id))
    if (rowCount === 1) await record?.(transaction)
    return rowCount === 1
  }
  if (!(await runPage(() => inTransaction(db, deleteIn)))) return false
  const deletePage = () =>
    db.execute(sql`
      delete from callbacks where ctid = any(array(
        select ctid from callbacks where endpoint_id = ${id} limit ${pageSize}))`)
  // Not until a page that isn't full: a row that a worker changes at this moment is missed.
  for (let deleted = -1; deleted !== 0; ) deleted = (await runPage(deletePage)).rowCount ?? 0
  return true
}

/**
 * Replaces the secret. Until the end of the overlap, calls are signed with both secrets. Older secrets stop at once.
 *
 * @returns until when both sign; undefined if there is no such endpoint.
 */
export async function rotateSecret(
  db: Database | Transaction,
  { id, sealedSecret, overlapSeconds }: { id: string; sealedSecret: string; overlapSeconds: number },
  { recordBy, record }: Recording = {},
): Promise<Date | undefined> {
  return await inTransaction(db, async (transaction) => {
    const [rotated] = await transaction
      .update(endpoints)
      .set({
        sealedSecret,
        sealedFormerSecret: sql`${endpoints.sealedSecret}`,
        formerUntil: sql`clock_timestamp() + ${overlapSeconds} * interval '1 s'`,
      })
      .where(eq(endpoints.id, id))
      .returning({ formerUntil: endpoints.formerUntil })
    if (rotated) await record?.(transaction)
    if (recordBy) await toBeCommittedBy(transaction, recordBy)
    return rotated?.formerUntil ?? undefined
  })
}
