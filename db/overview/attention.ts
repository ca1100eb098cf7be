import type { Database } from '../connection/client.ts'
import { waitingChannels } from '../delivery/due-sends.ts'
import { eachPriority } from '../delivery/priority-rule.ts'
import { prepared, sqlText } from '../statement.ts'
import { isFailing } from './channels.ts'

/** So many of each are shown; all are counted. */
const shown = 10

/** SQL that is true for a row of the account `$1`, or of any. */
const isAsked = (of: string) => `($1::uuid is null or ${of}.account_id = $1)`

/** A channel whose sends don't go. */
export interface StoppedChannel {
  channelId: string
  name: string
  accountName: string
  provider: string
  isHeld: boolean
  since: Date
  reason: string | null
  total: number
}

const stoppedStatement = prepared<StoppedChannel>(
  'stopped_channels',
  'Lists the channels that are held, or whose calls fail, those of the longest time first.',
  sqlText`
    select c.id as "channelId", c.name, a.name as "accountName", c.provider, c.held_at is not null as "isHeld",
           coalesce(c.held_at, c.breaker_opened_at, c.breaker_open_until) as since, c.held_reason as reason,
           count(*) over ()::int as total
    from channels c join accounts a on a.id = c.account_id
    where c.deleted_at is null and ${isAsked('c')}
      and (c.held_at is not null or c.breaker_open_until is not null)
    order by since limit ${shown}`,
)

/** A provider of which several channels fail. */
export interface FailingProvider {
  provider: string
  channels: number
  failing: number
  since: Date
}

const providersStatement = prepared<FailingProvider>(
  'failing_providers',
  'Finds the providers of which several channels fail at once.',
  sqlText`
    select provider, count(*)::int as channels, count(*) filter (where fails)::int as failing,
           min(coalesce(breaker_opened_at, breaker_open_until)) filter (where fails) as since
    from (select c.*, ${isFailing('c')} as fails from channels c) c
    where deleted_at is null and ${isAsked('c')}
    group by provider having count(*) filter (where fails) > 1
    order by failing desc`,
)

/** An endpoint that gets no callbacks, or answers none. */
export interface FailingEndpoint {
  endpointId: string
  url: string
  accountName: string
  isDisabled: boolean
  since: Date
  reason: string | null
  total: number
}

const endpointsStatement = prepared<FailingEndpoint>(
  'failing_endpoints',
  'Lists the endpoints that are disabled, or fail, disabled ones first.',
  sqlText`
    select e.id as "endpointId", e.url, a.name as "accountName", e.disabled_at is not null as "isDisabled",
           coalesce(e.disabled_at, e.failing_since) as since, e.disabled_reason as reason,
           count(*) over ()::int as total
    from endpoints e join accounts a on a.id = e.account_id
    where ${isAsked('e')} and (e.disabled_at is not null or e.failing_since is not null)
    order by e.disabled_at is null, since limit ${shown}`,
)

/** A key that has expired lately, or will soon. */
export interface ExpiringKey {
  displayPrefix: string
  accountName: string
  expiresAt: Date
  lastUsedAt: Date | null
  total: number
}

const keysStatement = prepared<ExpiringKey>(
  'expiring_keys',
  'Lists the API keys that expired in the last week, or expire in the next.',
  sqlText`
    select k.display_prefix as "displayPrefix", a.name as "accountName", k.expires_at as "expiresAt",
           k.last_used_at as "lastUsedAt", count(*) over ()::int as total
    from api_keys k join accounts a on a.id = k.account_id
    where k.revoked_at is null and ${isAsked('k')}
      and k.expires_at between now() - interval '7 days' and now() + interval '7 days'
    order by k.expires_at limit ${shown}`,
)

/** The channel of the send that has been due for the longest time. */
export interface OldestWaiting {
  channelId: string
  name: string
  accountName: string
  dueSince: Date
}

const oldestStatement = prepared<OldestWaiting>(
  'oldest_waiting',
  'Finds the channels whose sends have been due for the longest time.',
  sqlText`
    with recursive
    ${waitingChannels}
    select c.id as "channelId", c.name, a.name as "accountName", first.due as "dueSince"
    from waiting cross join lateral (
        select min(s.due) as due
        from ${eachPriority} cross join lateral (
          select s.next_attempt_at as due from sends s
          where s.channel_id = waiting.id and s.priority = each_priority.priority and s.finished_at is null
          order by s.next_attempt_at limit 1) s) first
      join channels c on c.id = waiting.id join accounts a on a.id = c.account_id
    where first.due < now() and ${isAsked('c')}
    order by first.due limit 3`,
)

/** The things that need a hand, of one account or of all. */
export async function readAttention(db: Database, accountId: string | undefined) {
  const values = [accountId ?? null]
  const [stopped, providers, endpoints, keys, oldest] = await Promise.all([
    stoppedStatement(db, values),
    providersStatement(db, values),
    endpointsStatement(db, values),
    keysStatement(db, values),
    oldestStatement(db, values),
  ])
  return { stopped, providers, endpoints, keys, oldest }
}

export type Attention = Awaited<ReturnType<typeof readAttention>>
