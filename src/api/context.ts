import type { HttpBindings } from '@hono/node-server'
import { createFactory } from 'hono/factory'
import type { Caller } from '../../db/accounts/api-keys.ts'
import type { SendRequest } from '../core/send-request.ts'
import type { Deadline } from '../platform/deadline.ts'

/** The values that the steps of a request pass on. */
export interface ApiEnv {
  Bindings: HttpBindings
  Variables: {
    requestId: string
    /** Headers for the answer, in addition to those of its route. */
    headers: Record<string, string>
    deadline: Deadline
    /** Set by `authenticate`. */
    caller: Caller
    /** Set by `readBody`, in pieces. The pieces of a large body are empty after it is parsed. */
    body: readonly Buffer[]
    /** Set by `validate`. */
    request: SendRequest
    hasUsedRateLimit: boolean | undefined
    /** Why the request was refused, for the log; set with every error. */
    refusal: string
  }
}

export const factory = createFactory<ApiEnv>()
