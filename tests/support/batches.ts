import { v7 as uuidv7 } from 'uuid'
import { insertSends } from '../../db/admission/accepts.ts'
import type { NewSend } from '../../db/admission/new-send.ts'
import { restoreOnShards } from '../../src/queue/shard.ts'
import { newContact } from './builders.ts'
import type { TestService } from './service.ts'

export type BatchedSend = Pick<NewSend, 'accountId' | 'channelId'> & Partial<NewSend>

/** `count` sends of one channel, each to another contact. */
export const manyOf = (count: number, { accountId, channelId }: BatchedSend): BatchedSend[] =>
  Array.from({ length: count }, () => ({ accountId, channelId }))

/** `count` sends of one channel, all to one contact. */
export function laneOf(count: number, { accountId, channelId }: BatchedSend): BatchedSend[] {
  const contact = { type: 'phone', value: newContact() } as const
  return Array.from({ length: count }, () => ({ accountId, channelId, contact }))
}

/** A row to insert; by itself as most are, to a contact of its own. */
export const buildNewSend = (send: BatchedSend): NewSend => ({
  requestId: uuidv7(),
  apiKeyId: '01890000-0000-7000-8000-000000000003',
  contact: { type: 'phone', value: newContact() },
  message: { type: 'text', text: { value: 'Hello' } },
  flowId: undefined,
  closeConversation: false,
  ordering: 'contact',
  expireAfterSeconds: undefined,
  idempotency: undefined,
  recordBy: new Date('2100-01-01'),
  ...send,
})

/** Accepts sends by one insert, without their wake-ups. */
export async function insertBatch({ runtime }: TestService, sends: readonly BatchedSend[]) {
  const rows = sends.map(buildNewSend)
  const recorded = new Map((await insertSends(runtime.db, rows)).map((row) => [row.requestId, row]))
  return rows.map(({ requestId }) => ({ requestId, overflowOf: recorded.get(requestId)?.overflowOf ?? null }))
}

/** Accepts sends by one insert, as the API does with concurrent ones. @returns their ids, in the order given. */
export async function acceptBatch(service: TestService, sends: readonly BatchedSend[]): Promise<string[]> {
  const wakeUps = await insertBatch(service, sends)
  const { failures } = await restoreOnShards(service.runtime.shards, wakeUps)
  if (failures[0]) throw failures[0].error
  return wakeUps.map(({ requestId }) => requestId)
}
