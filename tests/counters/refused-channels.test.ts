import { expect, test } from 'vitest'
import { insertSends } from '../../db/admission/accepts.ts'
import { startTestAdmin } from '../support/admin.ts'
import { buildNewSend } from '../support/batches.ts'
import { buildAccount } from '../support/builders.ts'
import { buildProviderChannel } from '../support/provider-channel.ts'
import { scrapeAt } from '../support/scrape.ts'
import { startTestService } from '../support/service.ts'
import { freshStores } from '../support/stores.ts'

interface Refused {
  sent: number
  refused: number
  cause?: 'bounce' | 'complaint' | 'opt_out'
  daysAgo?: number
  /** A channel by which the refused ones went on. */
  fellBackTo?: string
}

async function withChannels(
  use: (open: (refused: Refused) => Promise<string>, counted: Counted) => Promise<void>,
) {
  const service = await startTestService({}, await freshStores())
  const { db } = service.runtime
  const { accountId } = await buildAccount(service)
  const open = async ({ sent, refused, cause = 'bounce', daysAgo = 0, fellBackTo }: Refused) => {
    const config = { phoneNumberId: '1', accessToken: 'token' }
    const channelId = await buildProviderChannel(service, accountId, 'whatsapp-cloud', config)
    const sends = Array.from({ length: refused }, () =>
      buildNewSend({ accountId, channelId: fellBackTo ?? channelId }),
    )
    await insertSends(db, sends)
    const ids = sends.map(({ requestId }) => requestId)
    if (fellBackTo) {
      await db.$client.query(
        'update sends set former_channels = array[$2::uuid] where request_id = any($1)',
        [ids, channelId],
      )
    }
    await db.$client.query(
      `insert into suppressions (id, account_id, contact_type, contact_value, cause, request_id, created_at)
       select request_id, account_id, contact_type, contact_value, $2, request_id, now() - $3 * interval '25 hours'
       from sends where request_id = any($1)`,
      [ids, cause, daysAgo],
    )
    await db.$client.query(
      `insert into send_counts (hour, channel_id, account_id, accepted, sent, delivered, read, undelivered, failed, uncertain, canceled)
       values (date_trunc('hour', now() - interval '20 hours', 'UTC'), $1, $2, $3, $3::int - $4::int, 0, 0, $4, 0, 0, 0)`,
      [channelId, accountId, sent, refused],
    )
    return channelId
  }
  const counted = async (cause: string) => {
    const admin = await startTestAdmin(service)
    const scrape = await scrapeAt(admin.url).finally(() => admin.stop())
    const channels = scrape.value('outbound_channels_often_refused', { provider: 'whatsapp-cloud', cause })
    const named = scrape.value('outbound_channels_in_trouble', { provider: 'whatsapp-cloud', trouble: cause })
    expect(named !== undefined, 'they are named').toBe(channels !== 0)
    return channels
  }
  try {
    await use(open, counted)
  } finally {
    await service.stop()
  }
}

type Counted = (cause: string) => Promise<number | undefined>

test('channels of whose sends of a day more than 5 % bounced are counted, whoever else sends by their provider', () =>
  withChannels(async (open, counted) => {
    expect(await counted('bounce')).toBe(0)
    await open({ sent: 100_000, refused: 0 })
    await open({ sent: 100, refused: 5 })
    await open({ sent: 99, refused: 90 })
    await open({ sent: 100, refused: 90, daysAgo: 1 })
    await open({ sent: 100, refused: 90, cause: 'opt_out' })
    expect(await counted('bounce')).toBe(0)
    await open({ sent: 100, refused: 6 })
    await open({ sent: 1000, refused: 51 })
    expect(await counted('bounce')).toBe(2)
    expect(await counted('complaint')).toBe(0)
  }))

test('channels are counted of whose sends of a day two or more, and more than 0.1 %, were complained about', () =>
  withChannels(async (open, counted) => {
    await open({ sent: 100, refused: 1, cause: 'complaint' })
    await open({ sent: 2000, refused: 2, cause: 'complaint' })
    expect(await counted('complaint')).toBe(0)
    await open({ sent: 1999, refused: 2, cause: 'complaint' })
    expect(await counted('complaint')).toBe(1)
    expect(await counted('bounce')).toBe(0)
  }))

test('a bounce counts for the channel that the client posted to, also if the send went on by another', () =>
  withChannels(async (open, counted) => {
    const fellBackTo = await open({ sent: 1_000_000, refused: 0 })
    await open({ sent: 100, refused: 6, fellBackTo })
    expect(await counted('bounce')).toBe(1)
  }))
