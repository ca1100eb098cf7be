import type { Message } from '../../src/core/messages/message.ts'
import type { EndedSend, FallbackCause, FallbackRule } from '../../src/core/sends/fallback.ts'
import type { WakeUp } from '../../src/core/sends/send-job.ts'
import { buildTimeline, type SendRecord } from '../../src/core/sends/timeline.ts'
import { ordered, used } from '../admission/accept-parts.ts'
import { overflowOf } from '../admission/quota.ts'
import { announceChange, columnsOfChange } from '../callbacks/new-callbacks.ts'
import { countedForAccount } from '../ceilings/ceiling-rule.ts'
import { addChecks, isSuppressedEverywhere } from '../claim-rule.ts'
import type { Transaction } from '../connection/client.ts'
import { countChanges, countedColumns } from '../counters/counted-as.ts'
import { recordOfSend } from '../sends/both-tables.ts'
import { attemptsToEvents, eventOf } from '../sends/event-sql.ts'
import { isGiven, isOneOf, prepared, sqlText } from '../statement.ts'
import { attemptInRow } from './attempt-in-row.ts'

/*
 * A send that has ended goes on by the fallback of its channel. These statements follow the one that ended it, in its transaction: so
 * no reader sees that end, and a send that doesn't fall back costs nothing (docs/decisions/0053-fallback.md). src/sends/fall-back.ts
 * opens that transaction, and decides.
 */

interface CandidateRow extends SendRecord {
  message: Message
  formerChannels: string[] | null
  presentChannelId: string
  expiresAt: Date | null
  now: Date
  storedEvents: { at: string; event: string; fields: Record<string, unknown> }[]
  isSuppressed: boolean
  fallbackOn: FallbackCause[] | null
  fallbackWithinSeconds: number | null
  /** Null if the channel that has it now has no fallback. */
  target: CandidateTarget | null
  presentProvider: string
  overflowOf: string | null
}

interface CandidateTarget {
  channelId: string
  name: string
  provider: string
  sealedConfig: string
  isDeleted: boolean
  expireAfterSeconds: number | null
  countries: string[] | null
  template: object | null
}

const findStatement = prepared<CandidateRow>(
  'find_fallbacks',
  'Reads sends that have just ended on channels with a fallback, and what decides whether they move to it.',
  sqlText`
    -- $1: the sends; $2: the key of the hashes of erased contacts.
    with
    -- The channel that has each now, and the fallback of that.
    ways as (
      select s.request_id, present.provider as "presentProvider",
             present.fallback_on as "fallbackOn", present.fallback_within_seconds as "fallbackWithinSeconds",
             case when target.id is not null then json_build_object(
               'channelId', target.id, 'name', target.name, 'provider', target.provider,
               'sealedConfig', target.sealed_config, 'isDeleted', target.deleted_at is not null,
               'expireAfterSeconds', target.expire_after_seconds, 'countries', target.countries,
               'template', (select t.definition from templates t
                            where t.channel_id = target.id
                              and t.name = s.message->'template'->>'name')) end as target
      from sends s
        join channels present on present.id = s.channel_id
        left join channels target on target.id = present.fallback_channel_id
      where ${isGiven('s.request_id')}),
    -- Their events.
    stored as (
      select e.request_id,
             json_agg(json_build_object('at', e.at, 'event', e.event, 'fields', e.fields) order by e.id) as events
      from send_events e
      where ${isGiven('e.request_id')}
      group by e.request_id)
    select ${recordOfSend},
           s.message, s.former_channels as "formerChannels", s.channel_id as "presentChannelId",
           s.expires_at as "expiresAt", clock_timestamp() as now,
           ${overflowOf('s')} as "overflowOf",
           ways."presentProvider", ways."fallbackOn", ways."fallbackWithinSeconds", ways.target,
           coalesce(stored.events, '[]') as "storedEvents",
           ${isSuppressedEverywhere('$2::bytea')} as "isSuppressed"
    from sends s join ways using (request_id) left join stored using (request_id)
    where ${isGiven('s.request_id')}`,
)

/** A send that has ended. */
export interface FallbackCandidate {
  send: Omit<EndedSend, 'hasPublicUrl'>
  rule: FallbackRule
  /** The channel that has it now: another one than it ended on, if it fell back before this look, whose first answer was lost. */
  present: { channelId: string; provider: string; wakeUp: WakeUp }
  /** The fallback of that channel. */
  target: CandidateTarget | null
}

export async function findFallbacks(
  transaction: Transaction,
  requestIds: readonly string[],
  suppressionKey: Buffer,
): Promise<FallbackCandidate[]> {
  const rows = await findStatement(transaction, [requestIds, suppressionKey])
  return rows.map((row) => {
    const { message, formerChannels, presentChannelId, expiresAt, now, storedEvents, isSuppressed } = row
    const { contactType: type, contactValue: value, contactName: name, overflowOf } = row
    const events = storedEvents.map(({ at, ...event }) => ({ at: new Date(at), ...event }))
    const timeline = buildTimeline(row, events, 'whole')
    return {
      send: {
        timeline,
        contact: { type, value, name: name ?? undefined },
        message,
        formerChannels: formerChannels ?? [],
        expiresAt,
        now,
        isSuppressed,
      },
      rule: { on: row.fallbackOn, withinSeconds: row.fallbackWithinSeconds },
      present: {
        channelId: presentChannelId,
        provider: row.presentProvider,
        wakeUp: { requestId: row.requestId, overflowOf },
      },
      target: row.target,
    }
  })
}

/** A send that falls back. */
export interface FallbackRow {
  requestId: string
  toChannelId: string
  /** As the other channel sends it. */
  message: Message
  reason: string
  providerCode: string | null
  /** Whether its failure was committed before, so that clients may know of it. */
  wasSeen: boolean
}

/** The order on the other channel is that in which they had theirs before. */
const given = sqlText`
  -- The decision about each.
  decided as materialized (
    select * from json_to_recordset($1) as
      ("requestId" uuid, "toChannelId" uuid, message jsonb, reason text, "providerCode" text, "wasSeen" boolean)),
  -- The sends that fall back, locked.
  chosen as materialized (
    select s.*, d."toChannelId", d.message as "newMessage", d.reason, d."providerCode", d."wasSeen",
           clock_timestamp() as moved_at
    from sends s join decided d on d."requestId" = s.request_id
    where ${isOneOf('s.request_id', 'decided')}
    order by s.request_id
    for no key update of s),
  -- As an accept on their new channels gives them.
  given as materialized (
    select s.request_id as "requestId", s.account_id as "accountId", channels.id as "channelId",
           jsonb_build_object('type', s.contact_type, 'value', s.contact_value) as contact,
           s.priority, channels.ordering, channels.expire_after_seconds,
           row_number() over (order by s.seq) as ordinality
    from chosen s join channels on channels.id = s."toChannelId"),
  ${used},
  ${ordered('given')},
  -- Each with its place among the sends to its contact.
  placed as materialized (
    select o.*, nextval('sends_seq_seq') as seq from (select * from ordered order by ordinality) o)`

const moveStatement = prepared<WakeUp>(
  'fall_back',
  'Moves sends that have just ended to their fallback channels.',
  sqlText`
    -- $1: the sends, each with its new channel, its message there, why it ended, its provider's code, whether
    -- that was seen.
    with
    ${given},
    -- Their last attempts.
    attempts as (
      select s.request_id, s.channel_id, s."toChannelId", s.reason, s.moved_at,
             ${attemptInRow},
             case when s.status <> 'failed' then s.finished_at end as sent_at,
             case when s.status = 'failed' and s."wasSeen" then s.finished_at end as failed_at
      from chosen s),
    -- Their events.
    events as (
      ${attemptsToEvents(
        'attempts',
        eventOf('a.sent_at', 'sent', {}),
        eventOf('a.failed_at', 'failed', { reason: 'a.failure' }),
        eventOf('a.moved_at', 'fell_back', {
          fromChannelId: 'a.channel_id',
          toChannelId: 'a."toChannelId"',
          reason: 'a.reason',
        }),
      )}),
    -- Sends to contacts that are suppressed there are failed, also if they would wait.
    checked as (
      ${addChecks('chosen')}),
    -- A permit was for the other channel.
    unused as (
      delete from permits where request_id = any(array(select request_id from chosen))),
    -- Its endpoints get no callback about a failure after which it goes on, unless they may have got it.
    retracted as (
      delete from callbacks c using chosen s join endpoints e on e.account_id = s.account_id
      where c.endpoint_id = e.id and c.request_id = s.request_id and c.sequence = s.change_number
        and c.type = 'message.failed' and not s."wasSeen"),
    -- Their next states, numbered. The message is as old as before, and the other channel may let it wait for less long.
    written as (
      update sends s set
        status = 'queued',
        channel_id = placed."channelId",
        former_channels = s.former_channels || s.channel_id,
        message = chosen."newMessage",
        lane = placed.lane,
        seq = placed.seq,
        behind = placed.behind,
        overflow = placed.overflow,
        next_attempt_at = chosen.moved_at,
        expires_at = least(s.expires_at,
                           greatest(s.accepted_at, s.send_at) + placed.expire_after_seconds * interval '1 s'),
        attempts_before_replay = s.attempt,
        ${countedForAccount},
        losses = 0,
        claimed_at = null,
        attempt_record = null,
        provider_message_id = null,
        delivery = null,
        delivery_at = null,
        finished_at = null,
        failure = null,
        change_number = s.change_number + 1,
        counted_as = case when s.counted_as is not null then
            counted_as('queued', null, null, null, null)
          else s.counted_as end
      from placed join chosen on chosen.request_id = placed."requestId"
      where s.request_id = placed."requestId"
      returning
        s.request_id, s.status, s.channel_id, s.overflow,
        ${countedColumns('chosen.counted_as')},
        ${columnsOfChange({ type: "'message.fell_back'", providerCode: 'chosen."providerCode"' })}),
    ${announceChange},
    ${countChanges}
    select request_id as "requestId", ${overflowOf('written')} as "overflowOf" from written`,
)

/** Moves sends that have just ended to their fallback channels. @returns their wake-ups. */
export function moveToFallbacks(transaction: Transaction, sends: readonly FallbackRow[]): Promise<WakeUp[]> {
  return moveStatement(transaction, [JSON.stringify(sends)])
}

/** A send whose fallback was not used, with its reason as it is recorded then. */
export interface UnusedFallback {
  requestId: string
  reason: string
}

const unusedStatement = prepared(
  'note_fallback_unused',
  'Adds to the reasons of sends that have just ended why their fallback was not used.',
  sqlText`
    -- $1: the sends and their reasons.
    with
    -- The given reasons.
    unused as materialized (
      select * from json_to_recordset($1) as ("requestId" uuid, reason text)),
    -- The reasons of sends that failed.
    failed as (
      update sends s set failure = unused.reason
      from unused
      where s.request_id = unused."requestId" and ${isOneOf('s.request_id', 'unused')}
        and s.status = 'failed')
    -- The reasons of sends that are reported as undelivered.
    update send_events e set fields = (e.fields::jsonb || jsonb_build_object('reason', unused.reason))::json
    from unused join sends s on s.request_id = unused."requestId"
    where ${isOneOf('s.request_id', 'unused')} and s.delivery = 'undelivered'
      and e.id = (select id from send_events last
                  where last.request_id = s.request_id and last.event = 'undelivered'
                  order by last.at desc limit 1)`,
)

export async function noteFallbackUnused(
  transaction: Transaction,
  sends: readonly UnusedFallback[],
): Promise<void> {
  await unusedStatement(transaction, [JSON.stringify(sends)])
}
