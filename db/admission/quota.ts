import { isUnfinished } from '../lanes.ts'
import { sqlText } from '../statement.ts'

/** An account's unfinished sends in the ordinary queue; what a channel has beyond them takes turns with other channels' overflow. */
export const quotaPerChannel = 16
export const quotaPerAccount = 100

const isInQuota = `${isUnfinished('sends')} and not sends.overflow`

/** SQL of the places that the accounts of the rows `given` have taken. */
export const quotaUsed = sqlText`
  select "accountId" as account_id, channel_id, places
  from (select distinct "accountId" from given) one cross join lateral (
    select channel_id, count(*) as places from sends
    where account_id = "accountId" and ${isInQuota}
    group by channel_id) taken`

/** SQL that joins rows of `given` with the places their channel has taken, and with those of their account. */
export const withQuotaUsed = sqlText`
  left join taken of_channel on of_channel.channel_id = "channelId"
  left join (select account_id, sum(places) as places from taken group by account_id) of_account
    on of_account.account_id = "accountId"`

/** SQL that is true of a row of `given`, `withQuotaUsed`, for which its channel has no place left. */
export const isBeyondChannel = sqlText`
  (row_number() over (partition by "channelId" order by ordinality) >
     ${quotaPerChannel} - coalesce(of_channel.places, 0))`

/**
 * SQL that is true of a row of `given` for which there is no place left, told by `isBeyondChannel` and the places its
 * account has taken in its columns of these names: those beyond their channel's take none of their account's.
 */
export const isOverflow = sqlText`
  ("isBeyondChannel"
   or row_number() over (partition by "accountId", "isBeyondChannel" order by ordinality) >
     ${quotaPerAccount} - coalesce("usedByAccount", 0))`

/** SQL that is true of the only row of an insert where there is no place left; it counts no further than to the last. */
export const isLoneOverflow = sqlText`
  (exists (select from sends
           where account_id = "accountId" and channel_id = "channelId" and ${isInQuota} offset ${quotaPerChannel - 1})
   or exists (select from sends where account_id = "accountId" and ${isInQuota} offset ${quotaPerAccount - 1}))`

/** SQL of the channel in whose overflow the wake-up of a send belongs; null: it belongs in the ordinary queue. */
export const overflowOf = (send: string) => `case when ${send}.overflow then ${send}.channel_id end`
