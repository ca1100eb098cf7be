import type { Database } from '../connection/client.ts'
import { prepared, sqlText } from '../statement.ts'

/** Something that happened on a channel, by PostgreSQL's clock. */
export interface ChannelMoment {
  channelId: string
  at: Date
}

/** SQL of a CTE of the given moments. Their channels are locked in the order of ids; otherwise two statements could deadlock. */
const given = sqlText`
  given as materialized (
    select c.id, given.at
    from json_to_recordset($1) as given ("channelId" uuid, at timestamptz) join channels c on c.id = given."channelId"
    order by c.id
    for no key update of c)`

const awaitStatement = prepared(
  'await_receipts',
  'Notes since when channels have sent messages without a receipt.',
  sqlText`
    with ${given}
    update channels c set awaits_receipt_since = given.at
    from given
    where c.id = given.id and c.expects_receipts and c.awaits_receipt_since is null
      and coalesce(c.receipt_at < given.at, true)`,
)

/** @param sent the first message that each channel has sent since this was last noted. */
export async function awaitReceipts(db: Database, sent: readonly ChannelMoment[]): Promise<void> {
  await awaitStatement(db, [JSON.stringify(sent)])
}

const noteStatement = prepared(
  'note_receipts',
  'Notes when channels last got a receipt.',
  sqlText`
    with ${given}
    update channels c
    set receipt_at = greatest(c.receipt_at, given.at),
        awaits_receipt_since = case when c.awaits_receipt_since > given.at then c.awaits_receipt_since end
    from given
    where c.id = given.id`,
)

/** @param received the last receipt of each channel. */
export async function noteReceipts(db: Database, received: readonly ChannelMoment[]): Promise<void> {
  await noteStatement(db, [JSON.stringify(received)])
}
