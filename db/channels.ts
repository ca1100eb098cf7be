import { and, asc, eq } from 'drizzle-orm'
import type { OnUncertain } from '../src/core/outcome.ts'
import type { ProviderName } from '../src/core/providers/index.ts'
import type { Database } from './client.ts'
import { channels } from './schema.ts'

/** What an accept needs of a channel; its config stays sealed in the database. */
export interface Channel {
  channelId: string
  provider: ProviderName
}

/** One statement whether the channel is absent or another account's, so that nothing tells them apart. */
export async function findOwnChannel(
  db: Database,
  channelId: string,
  accountId: string,
): Promise<Channel | undefined> {
  const [channel] = await db
    .select({ channelId: channels.id, provider: channels.provider })
    .from(channels)
    .where(and(eq(channels.id, channelId), eq(channels.accountId, accountId)))
  return channel
}

export interface ChannelFields {
  name: string
  sealedConfig: string
  onUncertain: OnUncertain
}

export async function createChannel(
  db: Database,
  channel: ChannelFields & { id: string; accountId: string; provider: ProviderName },
): Promise<void> {
  await db.insert(channels).values(channel)
}

export async function findProvider(db: Database, id: string): Promise<ProviderName | undefined> {
  const [channel] = await db.select({ provider: channels.provider }).from(channels).where(eq(channels.id, id))
  return channel?.provider
}

export async function updateChannel(db: Database, id: string, fields: Partial<ChannelFields>): Promise<void> {
  await db.update(channels).set(fields).where(eq(channels.id, id))
}

export function listChannels(db: Database, accountId: string) {
  return db
    .select({
      channelId: channels.id,
      provider: channels.provider,
      name: channels.name,
      onUncertain: channels.onUncertain,
      createdAt: channels.createdAt,
    })
    .from(channels)
    .where(eq(channels.accountId, accountId))
    .orderBy(asc(channels.createdAt))
}
