import type { Database, Transaction } from '../connection/client.ts'
import { prepared, sqlText } from '../statement.ts'
import { eventOf } from './event-sql.ts'

const statement = prepared(
  'mark_try',
  'Marks a send as the try of its channel by an operator.',
  sqlText`
    insert into send_events (request_id, at, event, fields)
    select $1::uuid, ${eventOf('clock_timestamp()', 'tried', {})}`,
)

/** In the transaction that accepts the send. */
export async function markTry(db: Database | Transaction, requestId: string): Promise<void> {
  await statement(db, [requestId])
}
