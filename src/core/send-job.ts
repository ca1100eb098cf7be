import { z } from 'zod'

export const queueName = 'sends'

/** For what an account has beyond its places in the ordinary queue (docs/explanation/delivery.md#fairness). */
export const overflowQueueName = 'sends-overflow'

/** Hash-tagged, so that all keys of the service live in one slot of a Redis Cluster. */
export const keyPrefix = '{outbound}'

/**
 * A job is a wake-up: "advance this send". It holds the id alone, never content; what the send is, PostgreSQL tells.
 * Written by the API and read by the workers.
 */
export const sendJobSchema = z.strictObject({ requestId: z.uuid() })
export type SendJob = z.infer<typeof sendJobSchema>

/** What is to be woken, where and when. */
export interface WakeUp {
  requestId: string
  /** The channel in whose overflow it waits; else it goes to the ordinary queue. */
  overflowOf?: string | null
  /** Until it is to come; else at once. */
  inMs?: number
  /** Until the one before it in its lane has ended: who ends it brings this one forward. */
  isBehind?: boolean
}
