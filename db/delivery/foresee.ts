import { type FallbackCause, maxChannelsOfChain } from '../../src/core/sends/fallback.ts'
import type { ForeseenFacts } from '../../src/core/sends/foresee.ts'
import { hasLimits, isQueued, isSuppressed, moreUrgent, permitInMs } from '../claim-rule.ts'
import type { Transaction } from '../connection/client.ts'
import { reasonsAt, reasonsNow } from '../sends/wait-now.ts'
import { isGiven, prepared, sqlText } from '../statement.ts'

/*
 * What would become of a send: it is recorded as by an accept, looked at as by a worker, and undone, all in one transaction
 * (src/sends/dry-run.ts, docs/decisions/0064-dry-runs.md).
 */

/** A send in a transaction that will be undone: its state there, and what keeps it from being called. */
export interface ForeseenRow extends ForeseenFacts {
  requestId: string
  channelId: string
  /** The channel's provider; null unless it has a fallback. */
  fallsBackFrom: string | null
  /** The channels that had it before. */
  formerChannels: number
  /** Whether its contact is suppressed, so that it has to fail. */
  isSuppressed: boolean
}

const foreseeStatement = prepared<ForeseenRow>(
  'foresee_sends',
  'Reads what keeps sends from being called, and whether they have a permit.',
  sqlText`
    -- $1: the sends; $2: the key of the hashes of erased contacts.
    with
    -- The sends, and when they are due.
    asked as (
      select s.*, at.now, greatest(s.send_at, at.now) as due_at
      from sends s cross join lateral (
        select clock_timestamp() as now) at
      where ${isGiven('s.request_id')}),
    -- What each waits for: now, or at its later time.
    waiting as (
      select s.request_id,
             case when s.due_at > s.now then
               ${reasonsAt('s.due_at')}
             else
               ${reasonsNow}
             end as waits
      from asked s join channels on channels.id = s.channel_id)
    select s.request_id as "requestId", s.channel_id as "channelId", s.failure,
           coalesce(cardinality(s.former_channels), 0) as "formerChannels",
           case when channels.fallback_channel_id is not null then channels.provider end as "fallsBackFrom",
           ${isQueued} and ${isSuppressed('$2::bytea')} as "isSuppressed",
           s.now, s.due_at as "dueAt", s.due_at > s.now as "isLater", s.expires_at as "expiresAt",
           waiting.waits,
           ${permitInMs} as "permitInMs",
           case when not ${hasLimits} then exists (
             ${moreUrgent('mine')})
           else false end as "isAfterMoreUrgent"
    from asked s join channels on channels.id = s.channel_id join waiting using (request_id)
      cross join lateral (
        select s.channel_id, s.priority) mine`,
)

/** What the worker's statements find of sends of this transaction. */
export const foreseeSends = (
  transaction: Transaction,
  requestIds: readonly string[],
  suppressionKey: Buffer,
): Promise<ForeseenRow[]> => foreseeStatement(transaction, [requestIds, suppressionKey])

const countLaterStatement = prepared(
  'expire_later',
  'Lets sends that are scheduled wait as long from their time as others from their accept.',
  sqlText`
    update sends s set expires_at = s.expires_at + (s.send_at - s.accepted_at)
    where ${isGiven('s.request_id')} and s.send_at > s.accepted_at`,
)

export async function expireLater(transaction: Transaction, requestIds: readonly string[]): Promise<void> {
  await countLaterStatement(transaction, [requestIds])
}

/** A channel by which a send may go on, and how. */
export interface ChainedFallback {
  /** The channel that has the send, and the template that it sends. */
  from: string
  templateName: string | null
  channelId: string
  name: string
  provider: string
  sealedConfig: string
  isDeleted: boolean
  expireAfterSeconds: number | null
  countries: string[] | null
  /** Its template of that name. */
  template: object | null
  fallbackOn: FallbackCause[] | null
  fallbackWithinSeconds: number | null
}

const chainStatement = prepared<ChainedFallback>(
  'fallback_chains',
  'Finds the channels by which sends may go on, in their order.',
  sqlText`
    -- $1: the channels that have the sends, each with the name of a template.
    with recursive
    -- The channels.
    asked as (
      select * from json_to_recordset($1) as ("channelId" uuid, "templateName" text)),
    -- The fallback of each, and the fallback of that.
    chain as (
      select a."channelId" as start, a."templateName", 1 as place, c.fallback_channel_id as next,
             c.fallback_on as "on", c.fallback_within_seconds as within
      from asked a join channels c on c.id = a."channelId" and c.fallback_channel_id is not null
      union all
      select chain.start, chain."templateName", chain.place + 1, c.fallback_channel_id,
             c.fallback_on, c.fallback_within_seconds
      from chain join channels c on c.id = chain.next
      where chain.place < ${maxChannelsOfChain - 1} and c.fallback_channel_id is not null)
    select chain.start as from, chain."templateName", c.id as "channelId", c.name, c.provider,
           c.sealed_config as "sealedConfig", c.deleted_at is not null as "isDeleted",
           c.expire_after_seconds as "expireAfterSeconds", c.countries,
           (select t.definition from templates t where t.channel_id = c.id and t.name = chain."templateName") as template,
           chain."on" as "fallbackOn", chain.within as "fallbackWithinSeconds"
    from chain join channels c on c.id = chain.next
    order by chain.place`,
)

/** Finds the channels by which sends may go on, in their order. */
export const findChains = (
  transaction: Transaction,
  asked: readonly { channelId: string; templateName: string | null }[],
): Promise<ChainedFallback[]> => chainStatement(transaction, [JSON.stringify(asked)])
