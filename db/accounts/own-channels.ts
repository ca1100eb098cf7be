import { and, asc, eq, isNull } from 'drizzle-orm'
import type { Database } from '../connection/client.ts'
import { isAfter, type Page, type PageAsked, pageOf, placeOf } from '../page.ts'
import { channels, flows, templates } from '../schema.ts'
import { type ChannelOwner, ownLimitsConfig } from './channels.ts'

/** The fields of a channel that its account sees, and what they are made of. */
const shownChannel = {
  channelId: channels.id,
  name: channels.name,
  provider: channels.provider,
  /** Null unless its config has limits of its own. */
  sealedConfig: ownLimitsConfig,
  heldAt: channels.heldAt,
  heldReason: channels.heldReason,
  breakerOpenUntil: channels.breakerOpenUntil,
  breakerOpenedAt: channels.breakerOpenedAt,
  fallbackChannelId: channels.fallbackChannelId,
  fallbackOn: channels.fallbackOn,
  fallbackWithinSeconds: channels.fallbackWithinSeconds,
}

export type OwnChannel = NonNullable<Awaited<ReturnType<typeof findOwnChannel>>>

/** A page of the channels of an account, the oldest first. */
export async function pageOfChannels(
  db: Database,
  accountId: string,
  { limit, after }: PageAsked,
): Promise<Page<OwnChannel>> {
  const { createdAt, id } = channels
  const rows = await db
    .select({ ...shownChannel, place: placeOf(createdAt, id) })
    .from(channels)
    .where(and(eq(channels.accountId, accountId), isNull(channels.deletedAt), isAfter(createdAt, id, after)))
    .orderBy(asc(createdAt), asc(id))
    .limit(limit + 1)
  return pageOf(rows, limit)
}

/** Takes the same statement for an absent channel and one of another account. A deleted one is absent. */
export async function findOwnChannel(db: Database, { channelId, accountId }: ChannelOwner) {
  const [channel] = await db
    .select(shownChannel)
    .from(channels)
    .where(and(eq(channels.id, channelId), eq(channels.accountId, accountId), isNull(channels.deletedAt)))
  return channel
}

/** A page of the templates of a channel, the oldest first. */
export async function pageOfTemplates(db: Database, channelId: string, { limit, after }: PageAsked) {
  const { setAt, name, definition } = templates
  const rows = await db
    .select({ name, definition, setAt, place: placeOf(setAt, name) })
    .from(templates)
    .where(and(eq(templates.channelId, channelId), isAfter(setAt, name, after)))
    .orderBy(asc(setAt), asc(name))
    .limit(limit + 1)
  return pageOf(rows, limit)
}

/** A page of the flows of an account, the oldest first. */
export async function pageOfFlows(db: Database, accountId: string, { limit, after }: PageAsked) {
  const { createdAt, id, name } = flows
  const rows = await db
    .select({ flowId: id, name, place: placeOf(createdAt, id) })
    .from(flows)
    .where(and(eq(flows.accountId, accountId), isAfter(createdAt, id, after)))
    .orderBy(asc(createdAt), asc(id))
    .limit(limit + 1)
  return pageOf(rows, limit)
}
