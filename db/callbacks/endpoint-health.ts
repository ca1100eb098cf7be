import type { Database } from '../connection/client.ts'
import { isGiven, prepared, sqlText } from '../statement.ts'

/** An endpoint all of whose calls have failed for this long is disabled. */
export const disabledAfterDays = 5
/** Longer than the longest delay between two tries: failures further apart don't add up. */
const longestFailureGapHours = 36

const noteAnswersStatement = prepared<{ endpointId: string; breakerWasOpen: boolean }>(
  'note_endpoint_answers',
  'Notes that endpoints answered with a 2xx, which closes their circuit breakers.',
  sqlText`
    -- $1: the endpoints; $2: the URLs that were called.
    with before as materialized (
      select id, breaker_open_until is not null as was_open
      from endpoints
      where ${isGiven('id')} and (id, url) in (select * from unnest($1::uuid[], $2::text[]))
      order by id for no key update)
    update endpoints e
    set answered_at = clock_timestamp(), failing_since = null, failed_at = null,
        breaker_open_until = null, breaker_opened_at = null, breaker_openings = 0
    from before where e.id = before.id
    returning e.id as "endpointId", before.was_open as "breakerWasOpen"`,
)

interface Called {
  endpointId: string
  url: string
}

/**
 * Notes that endpoints answered with a 2xx. An answer of a former URL doesn't count.
 *
 * @returns those whose circuit breaker that closed.
 */
export async function noteEndpointAnswers(db: Database, called: readonly Called[]): Promise<string[]> {
  const parameters = [called.map(({ endpointId }) => endpointId), called.map(({ url }) => url)]
  const noted = await noteAnswersStatement(db, parameters)
  return noted.filter(({ breakerWasOpen }) => breakerWasOpen).map(({ endpointId }) => endpointId)
}

const noteFailureStatement = prepared<{ disabledReason: string | null }>(
  'note_endpoint_failure',
  'Notes that a call of an endpoint failed, and disables it if it wants no more, or has failed for days.',
  sqlText`
    -- $1: the endpoint; $2: why to disable it at once, else null; $3: why it is disabled if it has failed for too long;
    -- $4: the URL that was called.
    with since as materialized (
      select id,
             case when failed_at < clock_timestamp() - interval '${longestFailureGapHours} hours' then clock_timestamp()
                  else coalesce(failing_since, clock_timestamp()) end as failing_since
      from endpoints where id = $1 and disabled_at is null and url = $4 for no key update),
    judged as (
      select *, coalesce($2::text, case when failing_since < clock_timestamp() - interval '${disabledAfterDays} days'
                                        then $3::text end) as reason
      from since)
    update endpoints e
    set failing_since = judged.failing_since, failed_at = clock_timestamp(), disabled_reason = judged.reason,
        disabled_at = case when judged.reason is not null then clock_timestamp() end
    from judged where e.id = judged.id
    returning e.disabled_reason as "disabledReason"`,
)

/**
 * Notes that a call of an endpoint failed.
 *
 * @param disables why to disable it at once; undefined to disable it only if it has failed for too long.
 * @returns why it is disabled by this; null if it isn't; undefined if the failure doesn't count, because the endpoint is disabled
 * already, or has another URL by now.
 */
export async function noteEndpointFailure(
  db: Database,
  { endpointId, url }: Called,
  disables: string | undefined,
): Promise<string | null | undefined> {
  const forDays = `no call was answered with a 2xx for ${disabledAfterDays} days`
  const [row] = await noteFailureStatement(db, [endpointId, disables ?? null, forDays, url])
  return row?.disabledReason
}
