import type { Database } from '../connection/client.ts'
import { eraseSuppressions } from '../suppression/entries.ts'
import { eraseContact } from './erase.ts'

/**
 * Erases a contact of an account: from its finished sends and its conversations (see `eraseContact`), and from the list of
 * suppressions, where a keyed hash stays.
 */
export async function eraseContactWholly(
  db: Database,
  contactOf: Parameters<typeof eraseContact>[1],
  suppressionKey: Buffer,
): Promise<{ erased: number; unfinished: number }> {
  const erased = await eraseContact(db, contactOf)
  await eraseSuppressions(db, contactOf, suppressionKey)
  return erased
}
