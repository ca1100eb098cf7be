import { asc, eq } from 'drizzle-orm'
import { v7 as uuidv7 } from 'uuid'
import { createEndpoint } from '../../db/callbacks/endpoints.ts'
import { callbacks, endpoints } from '../../db/schema.ts'
import { type EventType, mintWebhookSecret } from '../../src/core/callbacks/callback.ts'
import { sealConfig } from '../../src/core/channels/sealed-config.ts'
import type { Registry } from './builders.ts'

export interface Endpoint {
  endpointId: string
  secret: string
}

/** An endpoint of the account, as the CLI creates it. */
export async function buildEndpoint(
  { runtime: { db, settings } }: Registry,
  accountId: string,
  url: string,
  events: EventType[] | null = null,
): Promise<Endpoint> {
  const id = uuidv7()
  const secret = mintWebhookSecret()
  const sealedSecret = sealConfig({ secret }, id, settings.CREDENTIALS_KEY)
  await createEndpoint(db, { id, accountId, url, events, sealedSecret })
  return { endpointId: id, secret }
}

/** The callbacks that the endpoint gets, in the order of sends and their changes. */
export function callbacksOf({ runtime: { db } }: Registry, { endpointId }: Endpoint) {
  return db
    .select()
    .from(callbacks)
    .where(eq(callbacks.endpointId, endpointId))
    .orderBy(asc(callbacks.requestId), asc(callbacks.sequence))
}

export async function endpointRow({ runtime: { db } }: Registry, { endpointId }: Endpoint) {
  const [row] = await db.select().from(endpoints).where(eq(endpoints.id, endpointId))
  if (!row) throw new Error(`no endpoint ${endpointId}`)
  return row
}
