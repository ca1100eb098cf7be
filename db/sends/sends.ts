import type { SendRecord, StoredEvent } from '../../src/core/sends/timeline.ts'
import type { Database } from '../connection/client.ts'
import { prepared, sqlText } from '../statement.ts'
import { recordsWhere } from './both-tables.ts'

/** A send with one of its events, if it has some. */
type FoundRow = SendRecord & {
  eventAt: Date | null
  event: string
  fields: Record<string, unknown>
}

const findStatement = prepared<FoundRow>(
  'find_send',
  'Reads a send, scheduled or not, with its stored events.',
  sqlText`
    select found.*, e.at as "eventAt", e.event, e.fields
    from (
      ${recordsWhere('s.request_id = $1 and ($2::uuid is null or s.account_id = $2)')}) found
      left join send_events e on e.request_id = found."requestId"
    order by e.id`,
)

/**
 * A send with its stored events, read by one statement, so that they are of the same moment. One statement serves an absent
 * send and one of another account, so that they can't be distinguished by timing.
 */
export async function findSend(
  db: Database,
  requestId: string,
  accountId?: string,
): Promise<{ send: SendRecord; events: StoredEvent[] } | undefined> {
  const rows = await findStatement(db, [requestId, accountId ?? null])
  const [first] = rows
  if (!first) return undefined
  const { eventAt: _at, event: _event, fields: _fields, ...send } = first
  const events = rows.flatMap(({ eventAt: at, event, fields }) => (at ? [{ at, event, fields }] : []))
  return { send, events }
}
