import { breakerFirstSeconds, breakerLongestSeconds } from '../../src/core/sends/delivery-times.ts'
import { isBreakersWait } from '../claim-rule.ts'
import type { Database, Transaction } from '../connection/client.ts'
import { prepared, sqlText } from '../statement.ts'
import { type FailedSend, failQueued } from './fail-queued.ts'
import { isOfAnyPriority } from './priority-rule.ts'

const opening = (table: 'channels' | 'endpoints') => sqlText`
    update ${table}
    set breaker_openings = breaker_openings + 1, breaker_opened_at = coalesce(breaker_opened_at, clock_timestamp()),
        breaker_open_until = clock_timestamp() +
          least(${breakerLongestSeconds}, ${breakerFirstSeconds} * 2 ^ least(breaker_openings, 10)) * interval '1 s'
    where id = $1 and (breaker_open_until is null or $2)
    returning least(${breakerLongestSeconds},
                    ${breakerFirstSeconds} * 2 ^ least(breaker_openings - 1, 10))::int as "openSeconds"`

type Opened = { openSeconds: number }

const openStatement = prepared<Opened>(
  'open_breaker',
  'Opens a channel’s circuit breaker, for longer each time.',
  opening('channels'),
)

const openEndpointStatement = prepared<Opened>(
  'open_endpoint_breaker',
  'Opens an endpoint’s circuit breaker, for longer each time.',
  opening('endpoints'),
)

/**
 * Opens a channel's circuit breaker: for 10 seconds, then for twice as long each time, at most 5 minutes.
 *
 * @param isAgain whether a probe failed. Otherwise an open breaker stays unchanged.
 * @returns for how many seconds; undefined if it was open already.
 */
export async function openBreaker(
  db: Database,
  { channelId, isAgain }: { channelId: string; isAgain: boolean },
): Promise<number | undefined> {
  const [row] = await openStatement(db, [channelId, isAgain])
  return row?.openSeconds
}

/** Opens an endpoint's circuit breaker as that of a channel. */
export async function openEndpointBreaker(
  db: Database,
  { endpointId, isAgain }: { endpointId: string; isAgain: boolean },
): Promise<number | undefined> {
  const [row] = await openEndpointStatement(db, [endpointId, isAgain])
  return row?.openSeconds
}

const closeStatement = prepared<{ id: string }>(
  'close_breaker',
  'Closes a channel’s circuit breaker.',
  sqlText`
    update channels set breaker_open_until = null, breaker_opened_at = null, breaker_openings = 0
    where id = $1 and breaker_open_until is not null
    returning id`,
)

/** @returns whether it was open. */
export async function closeBreaker(db: Database, channelId: string): Promise<boolean> {
  return (await closeStatement(db, [channelId])).length === 1
}

const nextProbeStatement = prepared<{ id: string }>(
  'next_probe',
  'Allows another probe of an open circuit breaker at once.',
  `update channels set breaker_open_until = clock_timestamp() where id = $1 and breaker_open_until is not null`,
)

/** Allows another probe at once, after one that said nothing about the provider, for example because it made no call. */
export async function allowNextProbe(db: Database, channelId: string): Promise<void> {
  await nextProbeStatement(db, [channelId])
}

const failWaitingStatement = failQueued(
  'fail_waiting',
  'Fails sends of a channel that have been due for too long while its provider kept failing.',
  {
    failure: '$4::text',
    join: ' join channels on channels.id = s.channel_id',
    which: sqlText`
      s.channel_id = $2 and ${isOfAnyPriority('s')}
      and s.next_attempt_at < clock_timestamp() - $3 * interval '1 s'
      and channels.breaker_opened_at < clock_timestamp() - $3 * interval '1 s'
      and ${isBreakersWait}`,
    parameters: '; $2: the channel; $3: how many seconds are too long; $4: the reason',
  },
)

export interface Waiting {
  channelId: string
  longerThanSeconds: number
  reason: string
  limit: number
}

/** Fails those of a channel's sends that have been due for longer than this, if its breaker has been open for longer too. */
export function failWaiting(db: Database | Transaction, which: Waiting): Promise<FailedSend[]> {
  const { channelId, longerThanSeconds, reason, limit } = which
  return failWaitingStatement(db, [limit, channelId, longerThanSeconds, reason])
}
