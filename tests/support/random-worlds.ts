import { eq } from 'drizzle-orm'
import { channels } from '../../db/schema.ts'
import { addSuppression } from '../../db/suppression/entries.ts'
import type { QuietHours } from '../../src/core/channels/quiet-hours.ts'
import { priorities } from '../../src/core/sends/priority.ts'
import { insertBatch } from './batches.ts'
import { type Account, inAnswer, newContact, textBody } from './builders.ts'
import { buildChain } from './fallbacks.ts'
import { pick, type Random } from './random.ts'
import { type TestService, testSuppressionKey } from './service.ts'

/** A chain of channels in some state, sends that wait on the first, and a message for that. */
export interface RandomWorld {
  account: Account
  channelIds: string[]
  waiting: string[]
  body: ReturnType<typeof textBody> & { sendAt?: string }
}

const minute = 60_000
/** No clock of a zone is near the begin or the end of such hours: zones differ by whole half hours. */
const offHalfHourMs = 13 * minute
const inMs = (ms: number) => new Date(Date.now() + ms)
const clock = (ms: number) =>
  inMs(ms + offHalfHourMs)
    .toISOString()
    .slice(11, 16)
const chance = (random: Random, share: number) => random() < share

function quietHours(random: Random): QuietHours {
  const from = pick(random, [-3, -2, -1, 1, 2])
  const hours = {
    from: clock(from * 60 * minute),
    until: clock((from + pick(random, [2, 3, 5])) * 60 * minute),
  }
  const zone = pick(random, ['UTC', 'Asia/Kolkata', 'America/New_York'])
  const which = priorities.filter(() => chance(random, 0.6))
  return { ...hours, zone, byContact: chance(random, 0.5), priorities: which.length > 0 ? which : ['normal'] }
}

const stateOf = (random: Random): Partial<typeof channels.$inferInsert> => ({
  ...(chance(random, 0.12) && { heldAt: new Date(), heldReason: 'held by an operator' }),
  ...(chance(random, 0.25) && { quietHours: quietHours(random) }),
  ...(chance(random, 0.2) && {
    rateCalls: pick(random, [1, 2]),
    rateSeconds: pick(random, [3, 60]),
    nextCallAt: pick(random, [null, inMs(-minute), inMs(minute)]),
  }),
  ...(chance(random, 0.15) && { maxInFlight: pick(random, [1, 2]) }),
  ...(chance(random, 0.15) && { breakerOpenUntil: inMs(pick(random, [-1, 5, 30]) * minute) }),
  ...(chance(random, 0.2) && { expireAfterSeconds: pick(random, [60, 900, 86_400]) }),
  ...(chance(random, 0.2) && { ordering: 'none' }),
  answeredAt: chance(random, 0.7) ? inAnswer : null,
})

const slowStart = {
  ...{
    heldAt: null,
    heldReason: null,
    quietHours: null,
    rateCalls: null,
    rateSeconds: null,
    maxInFlight: null,
  },
  ...{ breakerOpenUntil: null, answeredAt: null },
}

export async function buildWorld(service: TestService, random: Random): Promise<RandomWorld> {
  const { db } = service.runtime
  const { account, channels: channelIds } = await buildChain(service, pick(random, [1, 1, 2, 3]))
  for (const id of channelIds) await db.update(channels).set(stateOf(random)).where(eq(channels.id, id))
  const body = textBody('Hello', newContact())
  const { accountId, channelId } = account
  const suppressedOn = [null, ...channelIds].filter(() => chance(random, 0.1))
  for (const id of suppressedOn) {
    const contact = { type: 'phone', value: body.contact.value } as const
    await addSuppression(db, { accountId, contact, channelId: id }, null, testSuppressionKey)
  }
  const others = chance(random, 0.12) ? 40 : pick(random, [0, 0, 1, 2])
  // A backlog in slow start alone is rare.
  if (others > 2 && chance(random, 0.5))
    await db.update(channels).set(slowStart).where(eq(channels.id, channelId))
  const waiting = await insertBatch(
    service,
    Array.from({ length: others }, () => ({
      ...{ accountId, channelId, priority: pick(random, priorities) },
      // Else their own fallbacks would go before the send that is looked at.
      ...(chance(random, 0.3) &&
        suppressedOn.length === 0 && { contact: { type: 'phone', value: body.contact.value } }),
    })),
  )
  return {
    account,
    channelIds,
    waiting: waiting.map(({ requestId }) => requestId),
    body: {
      ...body,
      ...(chance(random, 0.5) && { priority: pick(random, priorities) }),
      ...(chance(random, 0.2) && { expiresInSeconds: pick(random, [60, 900, 86_400]) }),
      ...(chance(random, 0.12) && { sendAt: inMs(pick(random, [10, 120]) * minute).toISOString() }),
    },
  }
}
