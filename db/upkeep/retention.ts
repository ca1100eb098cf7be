import { mediaLinkMs } from '../../src/core/messages/media-link.ts'
import { findProvider, knownNames } from '../../src/providers/known.ts'
import { idempotencyKeptHours } from '../admission/idempotency-keys.ts'
import { refusedKeptHours } from '../audit/refused.ts'
import type { Database } from '../connection/client.ts'
import { firstIdSql } from '../sends/id-time.ts'
import { prepared, sqlText } from '../statement.ts'

/**
 * SQL that is true for an id made before the retention time. No index on the end of a send is needed: a send ends after its id was
 * made. Each statement deletes one page of the oldest rows.
 */
const madeBefore = (id: string) => sqlText`
  ${id} < ${firstIdSql('now() - $1::interval')}`

const trimSendsStatement = prepared<{ trimmed: number }>(
  'trim_sends',
  'Deletes a page of finished sends past their retention, with all that belongs to them.',
  sqlText`
    with old as materialized (
      select request_id, account_id from sends
      where ${madeBefore('request_id')} and finished_at < now() - $1::interval
      order by request_id limit $2
      for update skip locked),
    old_events as (delete from send_events e using old where e.request_id = old.request_id),
    old_media as (delete from media m using old where m.request_id = old.request_id),
    old_permits as (delete from permits p using old where p.request_id = old.request_id),
    old_messages as (delete from sandbox_messages m using old where m.request_id = old.request_id),
    old_callbacks as (
      delete from callbacks c using old, endpoints e
      where e.account_id = old.account_id and c.endpoint_id = e.id and c.request_id = old.request_id),
    trimmed as (delete from sends s using old where s.request_id = old.request_id returning 1)
    select count(*)::int as trimmed from trimmed`,
)

/** @param oldest SQL that selects the primary keys of a page of rows to delete. */
const trimPage = (table: string, key: string, oldest: string) =>
  prepared<{ trimmed: number }>(
    `trim_${table}`,
    'Deletes a page of rows past their retention.',
    sqlText`
      with trimmed as (
        delete from ${table} t using (
          ${oldest} skip locked) old
        where t.${key} = old.${key} returning 1)
      select count(*)::int as trimmed from trimmed`,
  )

const trimMediaStatement = trimPage(
  'media',
  'request_id',
  sqlText`
    -- $1: the retention; $2: how many; $3: the providers that fetch media by links; $4: how long a link is valid.
    select m.request_id from media m join sends s on s.request_id = m.request_id
    join channels c on c.id = s.channel_id
    where ${madeBefore('m.request_id')} and s.finished_at < now() - $1::interval
      and (c.provider <> all($3::text[]) or s.finished_at < now() - $4::interval)
    order by m.request_id limit $2 for update of m, s`,
)

/** Providers that fetch media after accepting the message. Their media is kept while its links are valid. */
const fetchingProviders = () => knownNames().filter((name) => findProvider(name)?.fetchesMedia)

const trimConversationsStatement = trimPage(
  'conversations',
  'id',
  sqlText`
    select id from conversations where closed_at < now() - $1::interval
    order by closed_at limit $2 for update`,
)

const trimKeysStatement = trimPage(
  'idempotency_keys',
  'hash',
  sqlText`
    select hash from idempotency_keys where created_at < now() - $1::interval
    order by created_at limit $2 for update`,
)

/** By their end: one that has not ended, because its endpoint is disabled or fails, is kept as long as its send. */
const trimCallbacksStatement = prepared<{ trimmed: number }>(
  'trim_callbacks',
  'Deletes a page of callbacks past their retention.',
  sqlText`
    with trimmed as (
      delete from callbacks where ctid = any(array(
        select ctid from callbacks where finished_at < now() - $1::interval
        order by finished_at limit $2 for update skip locked)) returning 1)
    select count(*)::int as trimmed from trimmed`,
)

/**
 * Callbacks that no send takes along: tests, and those of deleted endpoints. Finds the endpoints one by one by the index. Few
 * callbacks are read without need, since most sends of that age are gone.
 */
const trimOrphanedCallbacksStatement = prepared<{ trimmed: number }>(
  'trim_orphaned_callbacks',
  'Deletes a page of callbacks without a send past the retention of sends.',
  sqlText`
    with recursive called as (
      (select endpoint_id as id from callbacks order by endpoint_id limit 1)
      union all
      select (select endpoint_id from callbacks where endpoint_id > called.id order by endpoint_id limit 1)
      from called where called.id is not null),
    old as materialized (
      select c.endpoint_id, c.request_id, c.sequence
      from called cross join lateral (
        select c.endpoint_id, c.request_id, c.sequence from callbacks c
        where c.endpoint_id = called.id and c.created_at < now() - $1::interval
          and ${madeBefore('c.request_id')}
          and coalesce((select false from sends s where s.request_id = c.request_id), true)
        order by c.request_id limit $2
        for update skip locked) c
      limit $2),
    trimmed as (
      delete from callbacks c using old
      where c.endpoint_id = old.endpoint_id and c.request_id = old.request_id and c.sequence = old.sequence
      returning 1)
    select count(*)::int as trimmed from trimmed`,
)

/** By a function, which works for a role that may only add to the audit (migration 0033). */
const trimAuditStatement = prepared<{ trimmed: number }>(
  'trim_audit',
  'Deletes a page of rows of the audit past their retention.',
  sqlText`select trim_audit($1::interval, $2::int) as trimmed`,
)

const trimRefusedStatement = trimPage(
  'refused_requests',
  'request_id',
  sqlText`
    select request_id from refused_requests
    where ${madeBefore('request_id')}
    order by request_id limit $2 for update`,
)
/** So long after their hour counters are kept: they hold nothing personal. */
const countersKept = '400 days'

const trimByTime = (table: string, column: string) =>
  prepared<{ trimmed: number }>(
    `trim_${table}`,
    `Deletes a page of ${table} past their retention.`,
    sqlText`
      with trimmed as (
        delete from ${table} where ctid = any(array(
          select ctid from ${table} where ${column} < now() - $1::interval
          order by ${column} limit $2 for update skip locked)) returning 1)
      select count(*)::int as trimmed from trimmed`,
  )

const trimCountsStatement = trimByTime('send_counts', 'hour')
const trimFailuresStatement = trimByTime('failure_counts', 'hour')
const trimMessageIdsStatement = trimByTime('message_ids', 'recorded_at')
const trimEarlyStatement = trimByTime('early_receipts', 'received_at')
/** A call takes minutes at most: a receipt that finds no send within this time is of none. */
const earlyKept = '1 hour'

const trimUsage = (table: string) =>
  prepared<{ trimmed: number }>(
    `trim_${table}`,
    'Deletes a page of the usage of months past its retention.',
    sqlText`
      with trimmed as (
        delete from ${table} where ctid = any(array(
          select ctid from ${table} where day < date_trunc('month', (now() - $1::interval) at time zone 'UTC')::date
          limit $2 for update skip locked)) returning 1)
      select count(*)::int as trimmed from trimmed`,
  )

const trimUsageStatement = trimUsage('usage_counts')
const trimUsageCostsStatement = trimUsage('usage_costs')

type Trim = (db: Database, limit: number) => Promise<number>

const trim =
  (statement: typeof trimSendsStatement, interval: string, ...more: unknown[]): Trim =>
  async (db, limit) =>
    (await statement(db, [interval, limit, ...more]))[0]?.trimmed ?? 0

/** The statements that enforce retention: each deletes a page of rows that are too old, and returns their number. */
export function retentionTrims(kept: {
  days: number
  mediaHours: number
  callbackDays: number
  auditDays: number
  usageMonths: number
}): Record<string, Trim> {
  return {
    sends: trim(trimSendsStatement, `${kept.days} days`),
    media: trim(
      trimMediaStatement,
      `${kept.mediaHours} hours`,
      fetchingProviders(),
      `${mediaLinkMs} milliseconds`,
    ),
    conversations: trim(trimConversationsStatement, `${kept.days} days`),
    callbacks: trim(trimCallbacksStatement, `${kept.callbackDays} days`),
    orphanedCallbacks: trim(trimOrphanedCallbacksStatement, `${kept.days} days`),
    audit: trim(trimAuditStatement, `${kept.auditDays} days`),
    refusedRequests: trim(trimRefusedStatement, `${refusedKeptHours} hours`),
    counters: trim(trimCountsStatement, countersKept),
    usage: trim(trimUsageStatement, `${kept.usageMonths} months`),
    usageCosts: trim(trimUsageCostsStatement, `${kept.usageMonths} months`),
    messageIds: trim(trimMessageIdsStatement, `${kept.days} days`),
    earlyReceipts: trim(trimEarlyStatement, earlyKept),
    failureCounters: trim(trimFailuresStatement, countersKept),
    idempotencyKeys: trim(trimKeysStatement, `${idempotencyKeptHours} hours`),
  }
}
