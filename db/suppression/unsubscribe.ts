import { v7 as uuidv7 } from 'uuid'
import type { Unsubscription } from '../../src/core/messages/unsubscribe.ts'
import { announceBeside, columnsOfChange, theirEndpoints } from '../callbacks/new-callbacks.ts'
import { entryKeys } from '../claim-rule.ts'
import type { Database } from '../connection/client.ts'
import { entryKey } from '../delivery/contact-rule.ts'
import { eventOf } from '../sends/event-sql.ts'
import { prepared, sqlText } from '../statement.ts'

const unsubscribeStatement = prepared<{ isNew: boolean; endpointsToWake: string[] | null }>(
  'unsubscribe_contact',
  'Suppresses a contact that unsubscribed from a channel, unless it is suppressed there, and announces that.',
  sqlText`
    -- $1: the send of the mail, which may be past its retention; $2: its channel, which may be deleted; $3: the contact;
    -- $4: the key of hashes; $5: the id of a new entry.
    with
    -- The new entry.
    added as (
      insert into suppressions (id, account_id, contact_type, contact_value, channel_id, cause, request_id)
      select $5::uuid, c.account_id, 'email', $3::text, c.id, 'opt_out', $1::uuid
      from channels c
      where c.id = $2::uuid
        and not exists (
          select from suppressions e
          where e.account_id = c.account_id
            and ${entryKey('e')} = any(
              ${entryKeys('$4::bytea', 'c.account_id', '$3::text')})
            and e.channel_id = c.id)
      on conflict do nothing
      returning account_id, contact_value),
    -- Its contact's waiting sends are to be failed.
    checked as (
      insert into suppression_checks (account_id, contact_value)
      select account_id, contact_value from added),
    -- The change of its send, numbered.
    written as (
      update sends s set change_number = s.change_number + 1
      from added
      where s.request_id = $1::uuid and s.account_id = added.account_id
      returning
        s.request_id, s.status, s.delivery,
        ${columnsOfChange({ type: "'message.unsubscribed'" })}),
    -- Its event.
    recorded as (
      insert into send_events (request_id, at, event, fields)
      select request_id, ${eventOf('clock_timestamp()', 'unsubscribed', {})} from written),
    ${announceBeside}
    select true as "isNew", (select ${theirEndpoints} from written) from added`,
)

/** The result of a request to unsubscribe. The endpoints get a callback about it, and may be called now. */
export interface Unsubscribed {
  isNew: boolean
  endpointsToWake: string[]
}

/** Suppresses a contact on a channel, since it asked for that by the address in a mail. A repeat changes nothing. */
export async function unsubscribe(
  db: Database,
  { requestId, channelId, address }: Unsubscription,
  suppressionKey: Buffer,
): Promise<Unsubscribed> {
  const [row] = await unsubscribeStatement(db, [requestId, channelId, address, suppressionKey, uuidv7()])
  return { isNew: row !== undefined, endpointsToWake: row?.endpointsToWake ?? [] }
}
