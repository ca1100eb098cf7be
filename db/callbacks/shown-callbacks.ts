import type { CallbackType } from '../../src/core/callbacks/callback.ts'
import type { CallbackTry } from '../../src/core/callbacks/callback-outcome.ts'
import { prepared, sqlText } from '../statement.ts'
import { isFirst } from './endpoint-claims.ts'

/** A callback, as support sees it. */
export interface ShownCallback {
  endpointId: string
  url: string
  isDisabled: boolean
  requestId: string
  sequence: number
  type: CallbackType
  createdAt: Date
  nextTryAt: Date
  finishedAt: Date | null
  givenUp: boolean
  /** Whether it waits for an earlier one of its send. */
  isBehind: boolean
  tried: number
  tries: CallbackTry[]
}

const columns = sqlText`
  e.id as "endpointId", e.url, e.disabled_at is not null as "isDisabled",
  c.request_id as "requestId", c.sequence, c.type, c.created_at as "createdAt",
  greatest(c.next_try_at, e.breaker_open_until) as "nextTryAt", c.finished_at as "finishedAt", c.given_up as "givenUp",
  not ${isFirst}
    as "isBehind",
  c.tried, c.tries`

/** The callbacks of a send, as far as they are kept. */
export const findCallbacksOfSend = prepared<ShownCallback>(
  'callbacks_of_send',
  'Lists the callbacks of a send, for the support page.',
  sqlText`
    select ${columns}
    from sends s join endpoints e on e.account_id = s.account_id
      join callbacks c on c.endpoint_id = e.id and c.request_id = s.request_id
    where s.request_id = $1
    order by e.id, c.sequence`,
)

/** An endpoint's callbacks about the newest sends. */
export const findNewestCallbacks = prepared<ShownCallback>(
  'newest_callbacks',
  'Lists the callbacks of an endpoint about the newest sends, for its page.',
  sqlText`
    select ${columns}
    from callbacks c join endpoints e on e.id = c.endpoint_id
    where c.endpoint_id = $1
    order by c.request_id desc, c.sequence desc
    limit $2`,
)
