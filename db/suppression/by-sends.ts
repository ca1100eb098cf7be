import { contactTypes } from '../../src/core/contacts/contact.ts'
import {
  anyEvent,
  causeOfSign,
  isOfChannel,
  type SuppressingSign,
  suppressingSigns,
} from '../../src/core/suppression/suppression.ts'
import { theOneOf } from '../accounts/posted-channel.ts'
import type { Database, Transaction } from '../connection/client.ts'
import { entryKey, folded } from '../delivery/contact-rule.ts'
import { prepared, sqlText } from '../statement.ts'
import { isErased } from '../upkeep/erase.ts'

/** A provider's word on a send, for which its contact is suppressed. */
export interface SuppressedBySend {
  /** The id of the entry, if it is new. */
  id: string
  requestId: string
  /** The channels whose send it may be about. */
  channelIds: readonly string[]
  sign: SuppressingSign
  reason: string | null
}

/** SQL of the cause of the entry that a sign makes. */
const causeOfSigns = `case r.sign ${suppressingSigns
  .filter((sign) => causeOfSign(sign) !== sign)
  .map((sign) => `when '${sign}' then '${causeOfSign(sign)}'`)
  .join(' ')} else r.sign end`

const ofChannel = suppressingSigns.flatMap((sign) =>
  contactTypes.filter((type) => isOfChannel(sign, type)).map((type) => `('${sign}', '${type}')`),
)
/** SQL of the channel of the entry; null for all channels of the account. */
const channelOfEntry = sqlText`
  case when (g.sign, s.contact_type) in (
    ${ofChannel.join(',\n')})
    then channels.id end`

const suppressStatement = prepared<{ id: string }>(
  'suppress_contacts',
  `Suppresses the contacts of sends after ${anyEvent}, as their channels allow it.`,
  sqlText`
    with
    -- The provider's word on each send.
    given as materialized (
      select r.*, ${causeOfSigns} as cause
      from json_to_recordset($1) as r
        (id uuid, "requestId" uuid, "channelIds" uuid[], sign text, reason text)),
    -- The new entries, in the order of contacts, so that two statements can't deadlock.
    added as (
      insert into suppressions (id, account_id, contact_type, contact_value, channel_id, cause, reason, request_id)
      select g.id, s.account_id, s.contact_type, s.contact_value,
             ${channelOfEntry}, g.cause, g.reason, s.request_id
      from given g
        cross join lateral (
          select * from sends
          where sends.request_id = g."requestId" limit 1) s
        join channels on channels.id = (
          ${theOneOf('g."channelIds"')})
      where not ${isErased}
        and (channels.auto_suppress is null or g.cause = any(channels.auto_suppress))
        and not exists (
          select from suppressions e
          where e.account_id = s.account_id
            and ${entryKey('e')}
              = ${folded('s.contact_value')}
            and e.channel_id is not distinct from
              ${channelOfEntry})
      order by s.account_id, s.contact_value
      on conflict do nothing
      returning id, account_id, contact_value),
    -- Their waiting sends are to be failed.
    checked as (
      insert into suppression_checks (account_id, contact_value)
      select account_id, contact_value from added)
    select id from added`,
)

export async function suppressContacts(
  db: Database | Transaction,
  given: readonly SuppressedBySend[],
): Promise<void> {
  await suppressStatement(db, [JSON.stringify(given)])
}
