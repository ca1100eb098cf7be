import { and, asc, eq, gt } from 'drizzle-orm'
import { NIL } from 'uuid'
import { type Rotation, reseal } from '../accounts/sealed-configs.ts'
import type { Database } from '../connection/client.ts'
import { endpoints } from '../schema.ts'

const pageSize = 100

/**
 * Seals the secrets of all endpoints with the current key, as `rotateConfigs` does for channels.
 *
 * @param keys the current key, and others that may have sealed secrets.
 */
export async function rotateSealedSecrets(
  db: Database,
  keys: readonly [current: Buffer, ...others: Buffer[]],
): Promise<Rotation> {
  const rotation: Rotation = { rotated: [], already: [], unopened: [] }
  for (let after: string | undefined = NIL; after !== undefined; ) {
    const page: Endpoint[] = await db
      .select(columns)
      .from(endpoints)
      .where(gt(endpoints.id, after))
      .orderBy(asc(endpoints.id))
      .limit(pageSize)
    for (const endpoint of page) rotation[await rotate(db, endpoint, keys)].push(endpoint.id)
    after = page.at(-1)?.id
  }
  return rotation
}

interface Endpoint {
  id: string
  sealedSecret: string
  sealedFormerSecret: string | null
}

const columns = {
  id: endpoints.id,
  sealedSecret: endpoints.sealedSecret,
  sealedFormerSecret: endpoints.sealedFormerSecret,
}

async function rotate(
  db: Database,
  { id, sealedSecret, sealedFormerSecret }: Endpoint,
  keys: readonly [Buffer, ...Buffer[]],
): Promise<keyof Rotation> {
  const present = reseal(sealedSecret, id, keys)
  const former = sealedFormerSecret === null ? null : reseal(sealedFormerSecret, id, keys)
  if (present === undefined || former === undefined) return 'unopened'
  if (present === sealedSecret && former === sealedFormerSecret) return 'already'
  const { rowCount } = await db
    .update(endpoints)
    .set({ sealedSecret: present, sealedFormerSecret: former })
    .where(and(eq(endpoints.id, id), eq(endpoints.sealedSecret, sealedSecret)))
  if (rowCount === 1) return 'rotated'
  // The endpoint got another secret at this moment: rotate that one.
  const [now] = await db.select(columns).from(endpoints).where(eq(endpoints.id, id))
  return now ? await rotate(db, now, keys) : 'already'
}
