import type { HttpBindings } from '@hono/node-server'
import type { Context } from 'hono'
import { createFactory } from 'hono/factory'
import type { Caller } from '../../db/accounts/api-keys.ts'
import type { SendRequest } from '../core/sends/send-request.ts'
import type { Deadline } from '../platform/deadline.ts'
import type { ErrorCode } from './errors/codes.ts'

/** How long one request may wait for PostgreSQL and Redis; less than the 1.5 s within which every answer is due. */
export const answerWithinMs = 1100

/** The values that the steps of a request pass on. */
export interface RequestState {
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
  /** Set by `validate` for a batch. */
  requests: SendRequest[]
  /** Set by `limitReads`: a request counts once. */
  isCountedForKey: boolean
  /** Set with every error: its code, and why the request was refused, without text of the client. */
  refusal: { code: ErrorCode; reason: string }
}

export interface ApiEnv {
  Bindings: HttpBindings
  Variables: RequestState
}

/** The state that the steps before have set. (`c.var` builds an object of everything at each access.) */
export const stateOf = (c: Context<ApiEnv>) => ({
  requestId: c.get('requestId'),
  headers: c.get('headers'),
  deadline: c.get('deadline'),
  caller: c.get('caller'),
  request: c.get('request'),
})

export const factory = createFactory<ApiEnv>()
