import { z } from 'zod'

export const callbackQueueName = 'callbacks'

/** A job is a wake-up: "call this endpoint with what is due". Its callbacks are in PostgreSQL. */
export const callbackJobSchema = z.strictObject({ endpointId: z.uuid() })
export type CallbackJob = z.infer<typeof callbackJobSchema>

/** A wake-up to add. */
export interface EndpointWakeUp {
  endpointId: string
  /** Delay until it is due. Default: none. */
  inMs?: number
  /** A worker leaves the endpoint alone until then, as it has no slot for it, had a fault, or was refused. New callbacks don't change that. */
  isPutOff?: boolean
}

/** An endpoint is put off for no longer. */
export const longestPutOffMs = 10_000
