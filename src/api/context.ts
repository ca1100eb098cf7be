import type { HttpBindings } from '@hono/node-server'
import { createFactory } from 'hono/factory'
import type { Caller } from '../../db/accounts/api-keys.ts'
import type { SendRequest } from '../core/send-request.ts'
import type { Deadline } from '../platform/deadline.ts'

/** What the steps of a request hand on. */
export interface ApiEnv {
  Bindings: HttpBindings
  Variables: {
    requestId: string
    /** Of the answer, besides those that its route gives it. */
    headers: Record<string, string>
    deadline: Deadline
    /** Set by `authenticate`. */
    caller: Caller
    /** Set by `readBody`: in pieces; of a large one they are empty once it is parsed. */
    body: readonly Buffer[]
    /** Set by `validate`. */
    asked: SendRequest
    hasUsedRateLimit: boolean | undefined
    /** Why the request was refused, for the log; set with every error body. */
    refusal: string
  }
}

export const factory = createFactory<ApiEnv>()
