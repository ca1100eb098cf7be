import { holdChannel } from '../../db/accounts/channels.ts'
import type { Database } from '../../db/connection/client.ts'
import { channels } from '../../db/schema.ts'
import { accountId, channelIds, idAt } from './sends.ts'

const held = idAt('08:00:04')

/** A week of counts for the first page, whatever the time is, and a channel that needs a hand. */
export async function keepToday(db: Database): Promise<{ channelId: string }> {
  const sms = { accountId, sealedConfig: '', onUncertain: 'hold' as const, provider: 'twilio' as const }
  await db.insert(channels).values([{ ...sms, id: held, name: 'SMS Germany' }])
  await holdChannel(db, held, 'held by an operator: the number is being ported to another carrier')
  const busiest = [channelIds.whatsApp, channelIds.mail, held, channelIds.sandbox]
  await db.$client.query(
    `insert into send_count_changes (account_id, channel_id, hour, counted_as, change)
     select $1, c.id, date_trunc('hour', now(), 'UTC') - h * interval '1 hour', s.counted_as,
            ((s.share * (14 + 9 * sin((extract(hour from now() - h * interval '1 hour') - 9) / 3.8) + h % 5)) / c.place)::int
     from unnest($2::uuid[]) with ordinality c (id, place), generate_series(0, 192) h,
          (values ('accepted', 10.0), ('sent', 3.5), ('delivered', 4.1), ('read', 2.1), ('failed/recipient/131026', 0.12),
                  ('undelivered//30008', 0.08), ('canceled', 0.05)) s (counted_as, share)`,
    [accountId, busiest],
  )
  await db.$client.query(`update counted_since set since = now() - interval '30 days'`)
  return { channelId: channelIds.whatsApp }
}
