import type { Message } from '../../src/core/messages/message.ts'
import type { Database } from '../connection/client.ts'
import { prepared, sqlText } from '../statement.ts'
import { isErased } from '../upkeep/erase.ts'

const from = (table: string) => sqlText`
  select s.message from ${table} s
  where s.request_id = $1 and s.account_id = $2 and not ${isErased}`

const contentStatement = prepared<{ message: Message }>(
  'find_content',
  "Reads the content of an account's send, scheduled or not, unless it was erased.",
  sqlText`
    ${from('sends')}
    union all
    ${from('scheduled_sends')}`,
)

/** The content of a send. @returns undefined if it was erased. */
export async function findContent(
  db: Database,
  requestId: string,
  accountId: string,
): Promise<{ message: Message } | undefined> {
  const [content] = await contentStatement(db, [requestId, accountId])
  return content
}
