import { firstIdSql } from '../sends/id-time.ts'
import { prepared, sqlText } from '../statement.ts'

/** A sent message whose delivery is unknown. */
export interface UnreportedSend {
  requestId: string
  providerMessageId: string
}

/** The sends of a channel, accepted since a time, of whose delivery nothing is known; page by page. */
export const findUnreported = prepared<UnreportedSend>(
  'unreported_sends',
  'Lists sent messages whose delivery is unknown, page by page.',
  sqlText`
    -- $1: the channel; $2: since when accepted; $3: the last send of the previous page; $4: how many.
    select s.request_id as "requestId", s.provider_message_id as "providerMessageId"
    from sends s
    where s.request_id >= ${firstIdSql('$2::timestamptz')} and s.request_id > $3
      and s.channel_id = $1 and s.status = 'sent' and s.delivery is null and s.provider_message_id is not null
    order by s.request_id
    limit $4`,
)
