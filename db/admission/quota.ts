import { isUnfinished } from '../delivery/lane-rule.ts'
import { sqlText } from '../statement.ts'

/**
 * Limits of an account's unfinished sends in the ordinary queue, for its urgent ones apart from the others. Further ones go to the
 * overflow queue, where channels take turns.
 */
export const quotaPerChannel = 16
export const quotaPerAccount = 100

const isInQuota = `${isUnfinished('sends')} and not sends.overflow`

/** SQL of which of an account's two quotas a send uses, from its priority. */
export const isUrgent = (priority: string) => `${priority} = 'urgent'`

/** SQL of the used quotas of the accounts of the rows `given`: the number of sends, by channel. */
export const quotaUsed = sqlText`
  select "accountId" as account_id, channel_id, is_urgent, sends
  from (select distinct "accountId" from given) accounts cross join lateral (
    select channel_id, ${isUrgent('priority')} as is_urgent, count(*) as sends from sends
    where account_id = "accountId" and ${isInQuota}
    group by channel_id, is_urgent) by_channel`

/** SQL that joins the rows of `given` with the used quota of their channel and of their account. */
export const withQuotaUsed = sqlText`
  left join used of_channel on of_channel.channel_id = "channelId" and of_channel.is_urgent = "isUrgent"
  left join (select account_id, is_urgent, sum(sends) as sends from used group by account_id, is_urgent) of_account
    on of_account.account_id = "accountId" and of_account.is_urgent = "isUrgent"`

/** SQL that is true for a row of `given`, joined `withQuotaUsed`, beyond its channel's quota. */
export const isBeyondChannel = sqlText`
  row_number() over (partition by "channelId", "isUrgent" order by ordinality)
    > ${quotaPerChannel} - coalesce(of_channel.sends, 0)`

/**
 * SQL that is true for a row beyond its account's quota, by its columns "isBeyondChannel" and "usedByAccount". Rows beyond their
 * channel's quota don't count for their account's.
 */
export const isBeyondAccount = sqlText`
  row_number() over (
      partition by "accountId", "isUrgent", "isBeyondChannel" order by ordinality)
    > ${quotaPerAccount} - coalesce("usedByAccount", 0)`

/** SQL that is true for the only row of an insert if it is beyond its channel's or account's quota. Counts no further than the quota. */
export const isLoneOverflow = sqlText`
  (exists (select from sends
           where account_id = "accountId" and channel_id = "channelId"
             and ${isInQuota}
             and (${isUrgent('sends.priority')}) = "isUrgent"
           offset ${quotaPerChannel - 1})
   or exists (select from sends
              where account_id = "accountId"
                and ${isInQuota}
                and (${isUrgent('sends.priority')}) = "isUrgent"
              offset ${quotaPerAccount - 1}))`

/** SQL of the channel if the wake-up of a send belongs in the overflow queue; null for the ordinary queue. */
export const overflowOf = (send: string) => `case when ${send}.overflow then ${send}.channel_id end`
