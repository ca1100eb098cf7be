import { isNull, sql } from 'drizzle-orm'
import { ceilingsOf } from '../ceilings/ceilings.ts'
import type { Database, Transaction } from '../connection/client.ts'
import { accounts, channels, endpoints, flows, people, providerFiles, templates } from '../schema.ts'

/** All that operators set up, without what follows from sending. */
export async function readInstallation(db: Database | Transaction) {
  return {
    accounts: await db
      .select({
        id: accounts.id,
        name: accounts.name,
        points: accounts.rateLimitPoints,
        seconds: accounts.rateLimitSeconds,
        ceilings: ceilingsOf(accounts.id),
      })
      .from(accounts),
    channels: await db.select(channelColumns).from(channels).where(isNull(channels.deletedAt)),
    templates: await db
      .select({ channelId: templates.channelId, name: templates.name, definition: templates.definition })
      .from(templates),
    flows: await db.select({ id: flows.id, accountId: flows.accountId, name: flows.name }).from(flows),
    endpoints: await db
      .select({
        id: endpoints.id,
        accountId: endpoints.accountId,
        url: endpoints.url,
        events: endpoints.events,
      })
      .from(endpoints),
    providers: await db
      .select({ name: providerFiles.name, content: providerFiles.content, hash: providerFiles.hash })
      .from(providerFiles),
    people: await db.select({ name: people.name, nameKey: people.nameKey, role: people.role }).from(people),
  }
}

const channelColumns = {
  id: channels.id,
  accountId: channels.accountId,
  name: channels.name,
  provider: channels.provider,
  sealedConfig: channels.sealedConfig,
  onUncertain: channels.onUncertain,
  ordering: channels.ordering,
  expireAfterSeconds: channels.expireAfterSeconds,
  rateCalls: channels.rateCalls,
  rateSeconds: channels.rateSeconds,
  maxInFlight: channels.maxInFlight,
  autoSuppress: channels.autoSuppress,
  countries: channels.countries,
  quietHours: channels.quietHours,
  fallbackChannelId: channels.fallbackChannelId,
  fallbackOn: channels.fallbackOn,
  fallbackWithinSeconds: channels.fallbackWithinSeconds,
  oneClick: channels.oneClick,
  ceilings: ceilingsOf(channels.id),
}

export type Installation = Awaited<ReturnType<typeof readInstallation>>

/** Any number: of the lock that one apply holds until its transaction ends. */
const lock = 7_204_161

/** Takes the lock of applies without waiting for it. @returns whether it was free. */
export async function tryLockInstallation(transaction: Transaction): Promise<boolean> {
  const { rows } = await transaction.execute<{ taken: boolean }>(
    sql`select pg_try_advisory_xact_lock(${lock}) as taken`,
  )
  return rows[0]?.taken === true
}

/** The number of sends that haven't ended, by a condition on their rows, to 1000. */
async function countUnfinished(
  db: Transaction,
  column: 'channel_id' | 'flow_id',
  id: string,
): Promise<number> {
  const { rows } = await db.execute<{ unfinished: number }>(sql`
    select count(*)::int as unfinished from (
      (select 1 from sends where ${sql.raw(column)} = ${id} and finished_at is null limit 1000)
      union all
      (select 1 from scheduled_sends where ${sql.raw(column)} = ${id} limit 1000)) unfinished`)
  return rows[0]?.unfinished ?? 0
}

export const unfinishedOfChannel = (db: Transaction, id: string) => countUnfinished(db, 'channel_id', id)
export const unfinishedOfFlow = (db: Transaction, id: string) => countUnfinished(db, 'flow_id', id)
