import { newContact } from '../support/builders.ts'
import { concurrently } from './concurrently.ts'
import type { Post, Sender } from './post.ts'
import type { Stage, Tenant } from './stage.ts'

/** As many as the stage's connections to the database. */
const atOnce = 4

export async function openAccounts(stage: Stage, count: number): Promise<Tenant[]> {
  return await concurrently(atOnce, Array.from({ length: count }), stage.openAccount)
}

/** @param each number of channels per account. */
export async function openChannels(tenants: readonly Tenant[], path: string, each = 1): Promise<Sender[]> {
  const ofEach = Array.from({ length: each }, () => tenants).flat()
  return await concurrently(atOnce, ofEach, (tenant) => tenant.openChannel(path))
}

/** The senders send in turn, each time to another contact. */
export function inTurn(senders: readonly Sender[], sendsEach: number): Post[] {
  const oneEach = () => senders.map((sender) => ({ sender, contact: newContact() }))
  return Array.from({ length: sendsEach }, oneEach).flat()
}
