import { isUnfinished } from '../lanes.ts'
import { sqlText } from '../statement.ts'

/** An account's unfinished sends in the ordinary queue; what a channel has beyond them takes turns with other channels' overflow. */
export const quotaPerChannel = 16
export const quotaPerAccount = 100

const isInQuota = `${isUnfinished('sends')} and not sends.overflow`

/** SQL of what the accounts of the rows `given` have used of their quota: how many sends, by channel. */
export const quotaUsed = sqlText`
  select "accountId" as account_id, channel_id, sends
  from (select distinct "accountId" from given) accounts cross join lateral (
    select channel_id, count(*) as sends from sends
    where account_id = "accountId" and ${isInQuota}
    group by channel_id) by_channel`

/** SQL that joins rows of `given` with what their channel has used, and with what their account has. */
export const withQuotaUsed = sqlText`
  left join used of_channel on of_channel.channel_id = "channelId"
  left join (select account_id, sum(sends) as sends from used group by account_id) of_account
    on of_account.account_id = "accountId"`

/** SQL that is true of a row of `given`, `withQuotaUsed`, beyond its channel's quota. */
export const isBeyondChannel = `row_number() over (partition by "channelId" order by ordinality) > ${quotaPerChannel} - coalesce(of_channel.sends, 0)`

/**
 * SQL that is true of a row that is beyond its account's quota, by its columns "isBeyondChannel" and "usedByAccount": those
 * beyond their channel's use none of their account's.
 */
export const isBeyondAccount = sqlText`
  row_number() over (partition by "accountId", "isBeyondChannel" order by ordinality)
    > ${quotaPerAccount} - coalesce("usedByAccount", 0)`

/** SQL that is true of the only row of an insert beyond its channel's or account's quota; it counts no further than that. */
export const isLoneOverflow = sqlText`
  (exists (select from sends
           where account_id = "accountId" and channel_id = "channelId" and ${isInQuota} offset ${quotaPerChannel - 1})
   or exists (select from sends where account_id = "accountId" and ${isInQuota} offset ${quotaPerAccount - 1}))`

/** SQL of the channel in whose overflow the wake-up of a send belongs; null: it belongs in the ordinary queue. */
export const overflowOf = (send: string) => `case when ${send}.overflow then ${send}.channel_id end`
