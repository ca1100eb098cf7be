import type { Receipt } from '../../src/core/receipts/receipt.ts'
import type { Database } from '../connection/client.ts'
import { prepared, sqlText } from '../statement.ts'

/*
 * The sends of providers whose receipts have no id of ours, by the provider's ids of their messages (ReceiptRules.foundById). Outcomes
 * write them. Only a hash is kept: an id may have the contact's number in it.
 */

/** SQL of the key of a message id. */
export const messageKey = (id: string) => `md5(${id})::uuid`

/** SQL of a CTE that keeps the ids of messages. @param accepted a relation with `request_id`, `channel_id` and `message_id`. */
export const keepMessageIds = (accepted: string) => sqlText`
  -- The ids by which receipts find them.
  kept_ids as (
    insert into message_ids (channel_id, message_key, request_id)
    select channel_id, ${messageKey('message_id')}, request_id
    from ${accepted} where message_id is not null
    on conflict do nothing)`

const findStatement = prepared<{ messageId: string; requestId: string }>(
  'sends_of_message_ids',
  "Finds a channel's sends by the provider's ids of their messages.",
  sqlText`
    select given.id as "messageId", m.request_id as "requestId"
    from unnest($2::text[]) as given (id)
      join message_ids m on m.channel_id = $1 and m.message_key = ${messageKey('given.id')}`,
)

/** The sends of messages, by the provider's ids of them. */
export async function findByMessageIds(
  db: Database,
  channelId: string,
  messageIds: readonly string[],
): Promise<Map<string, string>> {
  const rows = await findStatement(db, [channelId, messageIds])
  return new Map(rows.map(({ messageId, requestId }) => [messageId, requestId]))
}

const keepStatement = prepared(
  'keep_early_receipts',
  'Keeps receipts whose message no send is known for yet.',
  sqlText`
    insert into early_receipts (channel_id, message_key, receipt)
    select $1, ${messageKey("r.receipt->>'providerMessageId'")}, r.receipt
    from jsonb_array_elements($2::jsonb) as r (receipt)`,
)

/** Keeps receipts that came before the outcome of their call, until `takeEarlyReceipts` finds their sends. */
export async function keepEarlyReceipts(
  db: Database,
  channelId: string,
  receipts: readonly Receipt[],
): Promise<void> {
  await keepStatement(db, [channelId, JSON.stringify(receipts)])
}

/** A receipt whose send is known by now. */
export interface EarlyReceipt {
  id: string
  requestId: string
  channelId: string
  provider: string
  hasFallback: boolean
  receipt: Receipt
}

const dueStatement = prepared<EarlyReceipt>(
  'due_early_receipts',
  'Finds kept receipts whose sends are known by now.',
  sqlText`
    select e.id, m.request_id as "requestId", e.channel_id as "channelId", c.provider,
           c.fallback_channel_id is not null as "hasFallback", e.receipt
    from early_receipts e
      join message_ids m on m.channel_id = e.channel_id and m.message_key = e.message_key
      join channels c on c.id = e.channel_id
    order by e.id limit $1`,
)

export function findDueReceipts(db: Database, limit: number): Promise<EarlyReceipt[]> {
  return dueStatement(db, [limit])
}

const dropStatement = prepared(
  'drop_early_receipts',
  'Deletes kept receipts that were recorded.',
  sqlText`
    delete from early_receipts where id = any($1::bigint[])`,
)

export async function dropEarlyReceipts(db: Database, ids: readonly string[]): Promise<void> {
  await dropStatement(db, [ids])
}
