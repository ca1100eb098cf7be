import { and, asc, eq, gt, isNull } from 'drizzle-orm'
import { NIL } from 'uuid'
import { isSealedWith, openConfig, sealConfig } from '../../src/core/channels/sealed-config.ts'
import type { Database } from '../connection/client.ts'
import { channels } from '../schema.ts'

const pageSize = 100

/** The ids of channels or endpoints, by the result for what is sealed of them. */
export interface Rotation {
  rotated: string[]
  /** Sealed with the current key before. */
  already: string[]
  /** Can't be opened by any of the keys. */
  unopened: string[]
}

/**
 * Seals the configs of all channels with the current key, one at a time, so that it can be interrupted and run again. Deleted
 * channels have no config.
 *
 * @param keys the current key, and others that may have sealed configs.
 */
export async function rotateConfigs(
  db: Database,
  keys: readonly [current: Buffer, ...others: Buffer[]],
): Promise<Rotation> {
  const rotation: Rotation = { rotated: [], already: [], unopened: [] }
  for (let after: string | undefined = NIL; after !== undefined; ) {
    const page: Channel[] = await findPage(db, after)
    for (const channel of page) rotation[await rotate(db, channel, keys)].push(channel.id)
    after = page.at(-1)?.id
  }
  return rotation
}

interface Channel {
  id: string
  sealedConfig: string
}

const columns = { id: channels.id, sealedConfig: channels.sealedConfig }

function findPage(db: Database, after: string): Promise<Channel[]> {
  return db
    .select(columns)
    .from(channels)
    .where(and(gt(channels.id, after), isNull(channels.deletedAt)))
    .orderBy(asc(channels.id))
    .limit(pageSize)
}

/** Also opens configs that are sealed with the current key: if none is unopened, no other key is needed any more. */
async function rotate(
  db: Database,
  { id, sealedConfig }: Channel,
  keys: readonly [Buffer, ...Buffer[]],
): Promise<keyof Rotation> {
  const resealed = reseal(sealedConfig, id, keys)
  if (resealed === undefined) return 'unopened'
  if (resealed === sealedConfig) return 'already'
  const { rowCount } = await db
    .update(channels)
    .set({ sealedConfig: resealed })
    .where(and(eq(channels.id, id), eq(channels.sealedConfig, sealedConfig)))
  if (rowCount === 1) return 'rotated'
  // The channel got another config at this moment: rotate that one.
  const [now] = await db.select(columns).from(channels).where(eq(channels.id, id))
  return now?.sealedConfig ? await rotate(db, now, keys) : 'already'
}

/** @returns the same if it is sealed with the current key; undefined if no key opens it. */
export function reseal(
  sealed: string,
  id: string,
  keys: readonly [current: Buffer, ...others: Buffer[]],
): string | undefined {
  const [current] = keys
  try {
    const opened = openConfig(sealed, id, keys)
    return isSealedWith(sealed, current) ? sealed : sealConfig(opened, id, current)
  } catch {
    return undefined
  }
}
