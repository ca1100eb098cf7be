import type { CallbackContent } from '../../src/core/callbacks/callback.ts'
import { postedChannel } from '../accounts/posted-channel.ts'
import type { Database } from '../connection/client.ts'
import { isUnfinished } from '../delivery/lane-rule.ts'
import { isOrphaned, type Sweeper } from '../delivery/leases.ts'
import { isoText, prepared, sqlText } from '../statement.ts'

/** A worker's request to call an endpoint, or to go on with that. */
export interface ClaimRequest {
  endpointId: string
  /** The fence: a new id when the claim begins. */
  claimId: string
  /** How many callbacks to read. */
  limit: number
  /** Sends with a call under way, or with an outcome that isn't recorded yet. */
  except: readonly string[]
}

/** A callback that is due, and the first of its send that its endpoint hasn't taken. */
export interface DueCallback extends CallbackContent {
  /** Calls so far, and those of them before the last resend. */
  tried: number
  triedBeforeResend: number
}

/** An endpoint that this worker alone may call now. */
export interface ClaimedEndpoint {
  endpointId: string
  url: string
  sealedSecret: string
  /** Null if there is none, or it doesn't sign any more. */
  sealedFormerSecret: string | null
  /** Whether no call got a 2xx lately, or one has failed since. */
  isInSlowStart: boolean
  /** Whether its last answer was long enough ago to be noted again. */
  isAnswerOld: boolean
  /** Whether its circuit breaker is open, so that this is a probe. */
  isProbe: boolean
  callbacks: DueCallback[]
}

/** An endpoint without a 2xx for this long is in slow start, as a new one is. */
export const slowStartAfterMinutes = 10
const answersNotedEverySeconds = 60

/**
 * SQL that is true for a callback `c` of which no earlier one of the same send and endpoint is unfinished. With `limit 1`, and
 * without `finished_at is null`, PostgreSQL searches that send for one by the primary key, instead of reading all that wait.
 */
export const isFirst = sqlText`
  coalesce((
    select false from callbacks earlier
    where earlier.endpoint_id = c.endpoint_id and earlier.request_id = c.request_id
      and earlier.sequence < c.sequence and ${isUnfinished('earlier')}
    limit 1), true)`

/** SQL that is true for an endpoint `e` in slow start. */
export const isEndpointInSlowStart = sqlText`
  (e.failing_since is not null
   or coalesce(e.answered_at < clock_timestamp() - interval '${slowStartAfterMinutes} minutes', true))`

/** SQL that is true for an endpoint `e` that may be called. */
const mayBeCalled = sqlText`
  e.disabled_at is null and coalesce(e.breaker_open_until <= clock_timestamp(), true)`

/**
 * SQL of a JSON list of the callbacks of an endpoint `e` that are due. Not those of sends in `except`, although they are
 * unfinished. By `now()`: with `clock_timestamp()`, PostgreSQL would read all that are tried again later, too.
 */
const dueCallbacks = sqlText`
  coalesce((
    select json_agg(json_build_object(
             'type', c.type, 'at', ${isoText('c.created_at')},
             'endpointId', c.endpoint_id, 'requestId', c.request_id, 'sequence', c.sequence,
             'channelId', ${postedChannel},
             'messageType', s.message_type, 'reference', s.reference, 'metadata', s.metadata,
             'segments', s.segments, 'encoding', s.encoding,
             'priority', s.priority,
             'flowId', s.flow_id, 'conversationId', c.conversation_id, 'attempts', c.attempts,
             'providerAt', c.provider_at, 'providerCode', c.provider_code,
             'status', c.status, 'delivery', c.delivery, 'data', c.data, 'tried', c.tried,
             'triedBeforeResend', c.tried_before_resend))
    from (
      select * from callbacks c
      where c.endpoint_id = e.id and c.finished_at is null and c.next_try_at <= now()
        and c.request_id <> all(e."except")
        and ${isFirst}
      order by c.next_try_at
      limit case when ${isEndpointInSlowStart} then 1 else e."limit" end) c
      left join sends s on s.request_id = c.request_id), '[]')`

const claimStatement = prepared<ClaimedEndpoint>(
  'claim_endpoints',
  'Claims endpoints, or continues to hold them, and reads the callbacks that are due.',
  sqlText`
    -- $1: the endpoints, each with the claim, how many callbacks to read, and the sends with a call under way;
    -- $2: the worker.
    with
    -- The given requests.
    asked as materialized (
      select * from json_to_recordset($1) as ("endpointId" uuid, "claimId" uuid, "limit" int, "except" uuid[])),
    -- The endpoints, locked in the order of their ids. One look-up for each: the planner doesn't know how many there are.
    locked as materialized (
      select e.*, a."claimId", a."limit", a."except"
      from (select * from asked order by "endpointId") a cross join lateral (
        select * from endpoints e where e.id = a."endpointId" for no key update) e),
    -- Endpoints that nobody else is calling, and that may be called.
    taken as materialized (
      select e.* from locked e
      where (e.claim_id is null or e.claim_id = e."claimId")
        and ${mayBeCalled}
        and (select alive_until > clock_timestamp() from workers where name = $2)),
    -- The claims that begin.
    begun as (
      update endpoints e set worker = $2, claim_id = t."claimId", claimed_at = clock_timestamp()
      from taken t where e.id = t.id and t.claim_id is null)
    select e.id as "endpointId", e.url, e.sealed_secret as "sealedSecret",
           case when e.former_until > clock_timestamp() then e.sealed_former_secret end as "sealedFormerSecret",
           ${isEndpointInSlowStart} as "isInSlowStart",
           coalesce(e.answered_at < clock_timestamp() - interval '${answersNotedEverySeconds} s', true) as "isAnswerOld",
           e.breaker_open_until is not null as "isProbe",
           ${dueCallbacks} as callbacks
    from taken e`,
)

/** Claims endpoints, or continues to hold them. Endpoints that another worker is calling, or that may not be called, are missing from the result. */
export function claimEndpoints(
  db: Database,
  requests: readonly ClaimRequest[],
  worker: string,
): Promise<ClaimedEndpoint[]> {
  return claimStatement(db, [JSON.stringify(requests), worker])
}

const unclaimed = 'worker = null, claim_id = null, claimed_at = null'

const releaseStatement = prepared(
  'release_endpoints',
  'Ends claims of endpoints.',
  sqlText`
    with
    ended as materialized (
      select e.id
      from json_to_recordset($1) as given ("endpointId" uuid, "claimId" uuid)
        join endpoints e on e.id = given."endpointId" and e.claim_id = given."claimId"
      order by e.id
      for no key update of e)
    update endpoints e set ${unclaimed} from ended where e.id = ended.id`,
)

export async function releaseEndpoints(
  db: Database,
  claims: readonly Pick<ClaimRequest, 'endpointId' | 'claimId'>[],
): Promise<void> {
  await releaseStatement(db, [JSON.stringify(claims)])
}

const releaseLostStatement = prepared<{ endpointId: string }>(
  'release_lost_endpoints',
  'Ends claims of endpoints that no worker will end, because their worker is dead or has dropped them.',
  sqlText`
    -- $1: how many; $2: the sweeping worker; $3: its claims; $4: until when it may sweep.
    update endpoints e set ${unclaimed}
    from (
      select h.id
      from endpoints h left join workers w on w.name = h.worker
      where h.claim_id is not null
        and ${isOrphaned({ worker: 'h.worker', id: 'h.claim_id', since: 'h.claimed_at' })}
      order by h.id
      limit $1
      for no key update of h skip locked) lost
    where e.id = lost.id
    returning e.id as "endpointId"`,
)

/**
 * Ends the claims of dead workers. Their callbacks are called again: at least once, with the same `webhook-id`.
 *
 * @param sweeper.inFlight the claims of the sweeping worker.
 * @returns their endpoints.
 */
export async function releaseLostClaims(db: Database, sweeper: Sweeper, limit: number): Promise<string[]> {
  const { worker, inFlight, sweepsUntil } = sweeper
  const rows = await releaseLostStatement(db, [limit, worker, inFlight, sweepsUntil])
  return rows.map(({ endpointId }) => endpointId)
}
