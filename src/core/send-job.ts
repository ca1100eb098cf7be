import { z } from 'zod'

export const queueName = 'sends'

/** Hash-tagged, so that all keys of the service live in one slot of a Redis Cluster. */
export const keyPrefix = '{outbound}'

/**
 * A job is a wake-up: "advance this send". It holds the id alone, never content; what the send is, PostgreSQL tells.
 * Written by the API and read by the workers.
 */
export const sendJobSchema = z.strictObject({ requestId: z.uuid() })
export type SendJob = z.infer<typeof sendJobSchema>
