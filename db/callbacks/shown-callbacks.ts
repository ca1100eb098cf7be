import type { CallbackState, CallbackType } from '../../src/core/callbacks/callback.ts'
import type { CallbackTry } from '../../src/core/callbacks/callback-outcome.ts'
import type { Database } from '../connection/client.ts'
import type { Page, PageAsked } from '../page.ts'
import { prepared, sqlText } from '../statement.ts'
import { pageOfCallbacks } from './callback-pages.ts'
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

const ofEndpointStatement = prepared<ShownCallback>(
  'shown_callbacks',
  'Reads given callbacks of an endpoint, for its page.',
  sqlText`
    -- $1: the endpoint; $2: their sends; $3: their numbers.
    select ${columns}
    from unnest($2::uuid[], $3::int[]) with ordinality as given (request_id, sequence, place)
      join callbacks c on c.endpoint_id = $1 and c.request_id = given.request_id and c.sequence = given.sequence
      join endpoints e on e.id = c.endpoint_id
    order by given.place`,
)

/** A page of the callbacks of an endpoint, the newest first, as support sees them. */
export async function pageOfShownCallbacks(
  db: Database,
  endpointId: string,
  asked: PageAsked & { state?: CallbackState | undefined },
): Promise<Page<ShownCallback>> {
  const { items, next } = await pageOfCallbacks(db, endpointId, asked)
  const sends = items.map(({ requestId }) => requestId)
  const numbers = items.map(({ sequence }) => sequence)
  return { items: await ofEndpointStatement(db, [endpointId, sends, numbers]), next }
}
