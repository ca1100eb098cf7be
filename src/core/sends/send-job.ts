import { z } from 'zod'

export const queueName = 'sends'

/** For sends beyond an account's quota in the ordinary queue (docs/explanation/delivery.md#fairness). */
export const overflowQueueName = 'sends-overflow'

/** Has a hash tag, so that all keys of the service are in one slot of a Redis Cluster. */
export const keyPrefix = '{outbound}'

/**
 * A job is a wake-up: "advance this send". It contains only the requestId, never content; the send is in PostgreSQL. Written
 * by API and workers, read by workers.
 */
export const sendJobSchema = z.strictObject({ requestId: z.uuid() })
export type SendJob = z.infer<typeof sendJobSchema>

/** A wake-up to add: for which send, to which queue, and when it is due. */
export interface WakeUp {
  requestId: string
  /** The channel, if the wake-up goes to the overflow queue. Default: the ordinary queue. */
  overflowOf?: string | null
  /** Delay until it is due. Default: none. */
  inMs?: number
  /** Whether an earlier send of its lane is unfinished. The worker that ends that one promotes this wake-up. */
  isBehind?: boolean
}
