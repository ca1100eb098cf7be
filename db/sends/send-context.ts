import type { Message } from '../../src/core/messages/message.ts'
import type { Database } from '../connection/client.ts'
import { prepared, sqlText } from '../statement.ts'

/** The names and the conversation around a send. */
export interface SendContext {
  accountId: string
  accountName: string
  flowName: string | null
  /** The conversation that it joined. */
  conversation: { openedAt: string; closedAt: string | null; closedBy: string | null } | null
  /** Null unless requested. */
  message: Message | null
}

const contextStatement = prepared<SendContext>(
  'send_context',
  'Reads the names and the conversation around a send, for the support page.',
  sqlText`
    select a.id as "accountId", a.name as "accountName", f.name as "flowName",
           case when conv.id is not null then json_build_object(
             'openedAt', conv.opened_at, 'closedAt', conv.closed_at, 'closedBy', conv.closed_by) end as conversation,
           case when $2 then s.message end as message
    from (
      select account_id, flow_id, conversation_id, message from sends where request_id = $1
      union all
      select account_id, flow_id, null, message from scheduled_sends where request_id = $1) s
    join accounts a on a.id = s.account_id
    left join flows f on f.id = s.flow_id
    left join conversations conv on conv.id = s.conversation_id`,
)

export async function findSendContext(
  db: Database,
  requestId: string,
  withMessage: boolean,
): Promise<SendContext | undefined> {
  const [context] = await contextStatement(db, [requestId, withMessage])
  return context
}
