import { and, asc, eq, isNull, sql } from 'drizzle-orm'
import type { Database, Transaction } from '../connection/client.ts'
import { channels, providerFiles } from '../schema.ts'
import { prepared, sqlText } from '../statement.ts'

export interface StoredFile {
  name: string
  hash: string
  content: string
}

/** Reads no contents: by the hashes alone a process knows whether it has every file. */
export const readFileHashes = prepared<{ name: string; hash: string }>(
  'read_provider_hashes',
  "Reads the versions of operators' files of providers.",
  sqlText`select name, hash from provider_files`,
)

export function readFiles(db: Database | Transaction): Promise<StoredFile[]> {
  return db
    .select({ name: providerFiles.name, hash: providerFiles.hash, content: providerFiles.content })
    .from(providerFiles)
    .orderBy(asc(providerFiles.name))
}

export function listFiles(db: Database): Promise<{ name: string; hash: string; setAt: Date }[]> {
  return db
    .select({ name: providerFiles.name, hash: providerFiles.hash, setAt: providerFiles.setAt })
    .from(providerFiles)
}

export async function setFile(db: Transaction, { name, content, hash }: StoredFile): Promise<void> {
  await db
    .insert(providerFiles)
    .values({ name, content, hash })
    .onConflictDoUpdate({ target: providerFiles.name, set: { content, hash, setAt: sql`now()` } })
}

/** Keeps the file from being removed until the transaction ends. @returns whether it is there. */
export async function holdFile(db: Transaction, name: string): Promise<boolean> {
  const rows = await db
    .select({ name: providerFiles.name })
    .from(providerFiles)
    .where(eq(providerFiles.name, name))
    .for('key share')
  return rows.length > 0
}

/** @returns whether it was there. */
export async function removeFile(db: Transaction, name: string): Promise<boolean> {
  const rows = await db
    .delete(providerFiles)
    .where(eq(providerFiles.name, name))
    .returning({ name: providerFiles.name })
  return rows.length > 0
}

/** The channels of a provider, with their configs. */
export function channelsOfProvider(
  db: Database | Transaction,
  provider: string,
): Promise<{ channelId: string; sealedConfig: string }[]> {
  return db
    .select({ channelId: channels.id, sealedConfig: channels.sealedConfig })
    .from(channels)
    .where(and(eq(channels.provider, provider), isNull(channels.deletedAt)))
    .orderBy(asc(channels.id))
}
