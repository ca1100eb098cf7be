import { folded } from '../delivery/contact-rule.ts'
import { isUnfinished } from '../delivery/lane-rule.ts'
import { sqlText } from '../statement.ts'
import { idempotencyKeptHours } from './idempotency-keys.ts'
import { fieldsAndTypes } from './new-send.ts'
import { isBeyondAccount, isBeyondChannel, isUrgent, overflowOf, quotaUsed, withQuotaUsed } from './quota.ts'
import { isInTime } from './record-by.ts'

/* Parts of the statements that accept sends, each a whole expression or whole CTEs. */

/** SQL of the lane of a given send. An urgent one doesn't wait for the others of its contact, so those have another lane. */
export const lane = sqlText`
  case ordering when 'contact' then
    hashtextextended(concat(
      "channelId", ' ', contact->>'type', ' ',
      ${folded("(contact->>'value')")},
      case when ${isUrgent('priority')} then ' urgent' end), 0) end`

/** SQL of the column "isUrgent" of a given send. */
export const urgency = `coalesce(${isUrgent('priority')}, false) as "isUrgent"`

/** SQL of the last unfinished send of a lane. */
export const lastOf = (lane: string) => sqlText`
  (select request_id from sends s
   where s.lane = ${lane} and ${isUnfinished('s')}
   order by seq desc limit 1)`

/** SQL of what an accept returns of a row of `sends`. */
export const returned = sqlText`
  request_id as "requestId", ${overflowOf('sends')} as "overflowOf",
  behind is not null as "isBehind"`

/** The columns of the sends that the counters and a check of the deadline need. */
export const alsoReturned = 'account_id, channel_id, accepted_at, priority, segments'

/** SQL of the CTE `given`, of the sends in the parameter $1. */
export const given = sqlText`
  -- The sends that are in time.
  given as materialized (
    select fields.*
    from rows from (jsonb_to_recordset($1) as (
      ${fieldsAndTypes})) with ordinality as fields
    where ${isInTime})`

/** SQL of the CTE `used`, of the accounts in `given`. */
export const used = sqlText`
  -- The part of their quotas that their accounts have used, by channel.
  used as materialized (
    ${quotaUsed})`

/**
 * SQL of the CTEs `keyed` and `admitted`, of sends of `given`. Keys are inserted in the order of their hashes; otherwise two batches
 * could deadlock. The first one of several sends with one key in a batch counts. The key of a scheduled send is kept from its time on.
 */
export const admitted = sqlText`
  -- The keys that are unused, or whose last use has expired.
  keyed as (
    insert into idempotency_keys as kept (hash, fingerprint, request_id, created_at)
    select distinct on (idempotency->>'hash') decode(idempotency->>'hash', 'hex'),
           decode(idempotency->>'fingerprint', 'hex'), "requestId", greatest(clock_timestamp(), "sendAt")
    from given where idempotency is not null
    order by idempotency->>'hash', ordinality
    on conflict (hash) do update
      set fingerprint = excluded.fingerprint, request_id = excluded.request_id, batch = null,
          created_at = excluded.created_at
      where kept.created_at < clock_timestamp() - interval '${idempotencyKeptHours} hours'
    returning request_id),
  -- Sends without a key, and those that got theirs.
  admitted as (
    select * from given where idempotency is null or "requestId" in (select request_id from keyed))`

/** SQL of the CTE `ordered`, from sends of `given` and the CTE `used`. */
export const ordered = (source: string) => sqlText`
  -- The lane of each, and whether it is beyond its channel's quota.
  counted as (
    select given.*,
           ${lane} as lane,
           ${isBeyondChannel} as "isBeyondChannel",
           of_account.sends as "usedByAccount"
    from (select *, ${urgency} from ${source}) given
      ${withQuotaUsed}),
  -- The send before each in its lane, in this batch or earlier, and whether it goes to the overflow.
  ordered as (
    select counted.*,
           case when lane is not null then
             coalesce(lag("requestId") over (partition by lane order by ordinality),
                      ${lastOf('counted.lane')}) end as behind,
           "isBeyondChannel" or ${isBeyondAccount} as overflow
    from counted)`
