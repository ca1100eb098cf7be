import { and, eq, isNull, sql } from 'drizzle-orm'
import type { ChainedChannel } from '../../src/core/sends/fallback-chain.ts'
import { type Database, inTransaction, type Transaction } from '../connection/client.ts'
import { accounts, channels, templates } from '../schema.ts'

/** A channel, and what it can send. */
export interface ChannelOfChain extends ChainedChannel {
  name: string
  provider: string
  sealedConfig: string
}

/**
 * Changes the chains of fallbacks of an account, with all its channels at hand. One change at a time: two could make a circle of
 * which each sees only its half.
 */
export async function inChains<Result>(
  db: Database | Transaction,
  accountId: string,
  change: (transaction: Transaction, channels: ChannelOfChain[]) => Promise<Result>,
): Promise<Result> {
  return await inTransaction(db, async (transaction) => {
    await transaction
      .select({ id: accounts.id })
      .from(accounts)
      .where(eq(accounts.id, accountId))
      .for('no key update')
    const found = await transaction
      .select({
        channelId: channels.id,
        fallbackChannelId: channels.fallbackChannelId,
        name: channels.name,
        provider: channels.provider,
        sealedConfig: channels.sealedConfig,
      })
      .from(channels)
      .where(and(eq(channels.accountId, accountId), isNull(channels.deletedAt)))
    return await change(transaction, found)
  })
}

/** The templates that are registered with channels. */
export function templatesOf(db: Database | Transaction, channelIds: readonly string[]) {
  return db
    .select({ channelId: templates.channelId, name: templates.name, definition: templates.definition })
    .from(templates)
    .where(sql`${templates.channelId} = any(${sql.param(channelIds)}::uuid[])`)
    .orderBy(templates.name)
}
