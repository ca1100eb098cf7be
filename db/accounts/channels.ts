import { and, asc, eq, isNull, sql } from 'drizzle-orm'
import type { QuietHours } from '../../src/core/channels/quiet-hours.ts'
import type { ShownConfig } from '../../src/core/channels/shown-config.ts'
import type { FallbackCause } from '../../src/core/sends/fallback.ts'
import type { Ordering } from '../../src/core/sends/lane.ts'
import type { OnUncertain } from '../../src/core/sends/outcome.ts'
import type { AutoCause } from '../../src/core/suppression/suppression.ts'
import { providerNames, providers } from '../../src/providers/index.ts'
import { ceilingsOf } from '../ceilings/ceilings.ts'
import { type Database, inTransaction, type Transaction } from '../connection/client.ts'
import { recallPostponed } from '../delivery/postpone.ts'
import { channels } from '../schema.ts'
import { prepared, sqlText } from '../statement.ts'

/** The fields of a channel that an accept needs. */
export interface Channel {
  channelId: string
  provider: string
  ordering: Ordering
  /** How long its sends may wait; null if they don't expire. */
  expireAfterSeconds: number | null
  /** The countries whose phone numbers it sends to; null for all. */
  countries: string[] | null
  /** Null unless its config has limits of its own. */
  sealedConfig: string | null
  /** Whether it was deleted. Then it looks absent, except to a repeat of a request from before the deletion. */
  isDeleted: boolean
  /** Whether it, or its account, has a ceiling. */
  hasCeiling: boolean
}

/** A channel, and the account that it has to belong to. */
export interface ChannelOwner {
  channelId: string
  accountId: string
}

const withOwnLimits = providerNames
  .filter((name) => 'limitsOf' in providers[name])
  .map((name) => `'${name}'`)
  .join(', ')

/** SQL of a channel's config, if its provider's limits depend on it; else null. */
const sealedLimits = `case when provider in (${withOwnLimits}) then sealed_config end`

/** Reads it in a query. */
export const ownLimitsConfig = sql<string | null>`${sql.raw(sealedLimits)}`

/** The lateral join reads each channel by the index. A plain join to a batch of unknown length would read all channels. */
const findOwnStatement = prepared<Channel & ChannelOwner>(
  'find_own_channels',
  'Finds channels, each only if it belongs to its account.',
  sqlText`
    select own.*
    from json_to_recordset($1) as asked ("channelId" uuid, "accountId" uuid)
    cross join lateral (
      select id as "channelId", account_id as "accountId", provider, ordering, expire_after_seconds as "expireAfterSeconds",
        countries, ${sealedLimits} as "sealedConfig",
        deleted_at is not null as "isDeleted",
        exists (select from ceilings where owner_id in (id, account_id)) as "hasCeiling"
      from channels where id = asked."channelId" and account_id = asked."accountId" limit 1) own`,
)

/**
 * Finds those of the channels that belong to their accounts. An absent channel and one of another account take the same
 * statement, so that they can't be distinguished by timing.
 */
export function findOwnChannels(
  db: Database,
  asked: readonly ChannelOwner[],
): Promise<(Channel & ChannelOwner)[]> {
  return findOwnStatement(db, [JSON.stringify(asked)])
}

export interface ChannelFields {
  name: string
  sealedConfig: string
  /** The part of the config that operators may see. */
  shownConfig?: ShownConfig
  onUncertain: OnUncertain
  ordering?: Ordering
  expireAfterSeconds?: number | null
  rateCalls?: number | null
  rateSeconds?: number | null
  maxInFlight?: number | null
  /** The causes that suppress contacts by themselves; null for all. */
  autoSuppress?: AutoCause[] | null
  /** Whether its provider should send a receipt for each message. */
  expectsReceipts?: boolean
  fallbackChannelId?: string | null
  /** Null for all causes. */
  fallbackOn?: FallbackCause[] | null
  fallbackWithinSeconds?: number | null
  oneClick?: boolean
  /** The countries whose phone numbers it sends to; null for all. */
  countries?: string[] | null
  /** When it calls nobody; null for never. */
  quietHours?: QuietHours | null
}

export async function createChannel(
  db: Database | Transaction,
  channel: ChannelFields & { id: string; accountId: string; provider: string },
): Promise<void> {
  await db.insert(channels).values(channel)
}

const isPresent = (id: string) => and(eq(channels.id, id), isNull(channels.deletedAt))

export async function findProvider(db: Database | Transaction, id: string): Promise<string | undefined> {
  return (await findChannel(db, id))?.provider
}

/** The fields that a change of a channel depends on; undefined if there is none. */
export async function findChannel(db: Database | Transaction, id: string) {
  const [channel] = await db
    .select({
      accountId: channels.accountId,
      provider: channels.provider,
      fallbackChannelId: channels.fallbackChannelId,
      quietHours: channels.quietHours,
    })
    .from(channels)
    .where(isPresent(id))
  return channel
}

/** What can be changed of a channel, as it is; undefined if there is none. */
export async function readChannelFields(db: Database | Transaction, id: string) {
  const [fields] = await db
    .select({
      name: channels.name,
      shownConfig: channels.shownConfig,
      onUncertain: channels.onUncertain,
      ordering: channels.ordering,
      expireAfterSeconds: channels.expireAfterSeconds,
      rateCalls: channels.rateCalls,
      rateSeconds: channels.rateSeconds,
      maxInFlight: channels.maxInFlight,
      autoSuppress: channels.autoSuppress,
      fallbackChannelId: channels.fallbackChannelId,
      fallbackOn: channels.fallbackOn,
      fallbackWithinSeconds: channels.fallbackWithinSeconds,
      oneClick: channels.oneClick,
      countries: channels.countries,
      quietHours: channels.quietHours,
      ceilings: ceilingsOf(channels.id),
    })
    .from(channels)
    .where(isPresent(id))
  return fields
}

/** A channel's config, sealed; undefined if there is no such channel. */
export async function readSealedConfig(db: Database, id: string): Promise<string | undefined> {
  const [channel] = await db.select({ sealed: channels.sealedConfig }).from(channels).where(isPresent(id))
  return channel?.sealed
}

/** Whether PostgreSQL knows the zone by this name. */
export async function knowsZone(db: Database | Transaction, zone: string): Promise<boolean> {
  const { rows } = await db.execute(
    sql`select from pg_timezone_names where lower(name) = lower(${zone}) limit 1`,
  )
  return rows.length > 0
}

export async function updateChannel(
  db: Database | Transaction,
  id: string,
  fields: Partial<ChannelFields>,
): Promise<void> {
  // Its ceilings alone were changed.
  if (Object.keys(fields).length === 0) return
  if ('quietHours' in fields) await recallPostponed(db, id)
  // A new rate takes effect at once, not after the calls that were scheduled by the old one.
  const anew = 'rateCalls' in fields ? { nextCallAt: null } : {}
  await db
    .update(channels)
    .set({ ...fields, ...anew })
    .where(eq(channels.id, id))
}

/** Holds a channel: its sends wait without using attempts until it is resumed. A channel that is held already gets the new reason, and keeps its time. */
export async function holdChannel(db: Database | Transaction, id: string, reason: string): Promise<boolean> {
  await db
    .update(channels)
    .set({ heldAt: sql`coalesce(${channels.heldAt}, now())`, heldReason: reason })
    .where(isPresent(id))
  return (await findProvider(db, id)) !== undefined
}

/**
 * Resumes a channel. The workers' reconcilers find and wake its sends within seconds. The sends' permits are void, because a
 * permit of a rate may have been used for the very call with which the provider refused the channel.
 */
export async function resumeChannel(db: Database | Transaction, id: string): Promise<boolean> {
  return await inTransaction(db, async (transaction) => {
    const [before] = await transaction
      .select({ heldAt: channels.heldAt })
      .from(channels)
      .where(isPresent(id))
      .for('no key update')
    if (!before) return false
    await transaction
      .update(channels)
      .set({
        heldAt: null,
        heldReason: null,
        breakerOpenUntil: null,
        breakerOpenedAt: null,
        breakerOpenings: 0,
      })
      .where(eq(channels.id, id))
    // If the channel wasn't held, some permits may be about to be used.
    if (before.heldAt) {
      await transaction.execute(sql`
        delete from permits p using sends s
        where p.channel_id = ${id} and s.request_id = p.request_id and s.status = 'queued'`)
    }
    return true
  })
}

export function listChannels(db: Database, accountId: string) {
  return db
    .select({
      channelId: channels.id,
      provider: channels.provider,
      name: channels.name,
      onUncertain: channels.onUncertain,
      ordering: channels.ordering,
      expireAfterSeconds: channels.expireAfterSeconds,
      rateCalls: channels.rateCalls,
      rateSeconds: channels.rateSeconds,
      maxInFlight: channels.maxInFlight,
      autoSuppress: channels.autoSuppress,
      countries: channels.countries,
      quietHours: channels.quietHours,
      ceilings: ceilingsOf(channels.id),
      fallbackChannelId: channels.fallbackChannelId,
      fallbackOn: channels.fallbackOn,
      fallbackWithinSeconds: channels.fallbackWithinSeconds,
      oneClick: channels.oneClick,
      breakerOpenUntil: channels.breakerOpenUntil,
      heldAt: channels.heldAt,
      heldReason: channels.heldReason,
      createdAt: channels.createdAt,
      shownConfig: channels.shownConfig,
    })
    .from(channels)
    .where(and(eq(channels.accountId, accountId), isNull(channels.deletedAt)))
    .orderBy(asc(channels.createdAt))
}
