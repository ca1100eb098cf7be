import { z } from 'zod'

export const callbackQueueName = 'callbacks'

/** For endpoints in slow start, whose calls may take at most half of a worker's (docs/reference/callbacks.md#slow-start). */
export const slowStartQueueName = 'callbacks-slow-start'

/** A job is a wake-up: "call this endpoint with what is due". Its callbacks are in PostgreSQL. */
export const callbackJobSchema = z.strictObject({ endpointId: z.uuid() })
export type CallbackJob = z.infer<typeof callbackJobSchema>

/** A wake-up to add. */
export interface EndpointWakeUp {
  endpointId: string
  /** Delay until it is due. Default: none. */
  inMs?: number
  /** Which queue. Default: the one that has a wake-up of it; its worker finds out. */
  isInSlowStart?: boolean
  /** In slow start, those that have failed for the longest time come last. Null: its calls don't fail. */
  failingForSeconds?: number | null
}
