import type { Contact } from '../../src/core/contacts/contact.ts'
import type { Message } from '../../src/core/messages/message.ts'
import { newId } from '../../src/core/requests/new-id.ts'
import type { OnUncertain } from '../../src/core/sends/outcome.ts'
import type { Priority } from '../../src/core/sends/priority.ts'
import { ceilingColumns, countBelowCeilings } from '../ceilings/ceiling-rule.ts'
import { hasLimits, isFree, isLimited, isReady, isSuppressed } from '../claim-rule.ts'
import type { Database } from '../connection/client.ts'
import { isGiven, prepared, sqlText } from '../statement.ts'
import { folded } from './contact-rule.ts'
import { openConversations } from './open-conversations.ts'

/** A send that this worker has claimed, with everything for the call to its provider except the bytes of its media. */
export interface ClaimedSend {
  requestId: string
  accountId: string
  channelId: string
  contact: Contact
  message: Message
  flowId: string | null
  priority: Priority
  /** The client's own id of the send. */
  reference: string | null
  closeConversation: boolean
  /** Null if the send still has to enter a conversation. */
  conversationId: string | null
  /** Counted from 1. */
  attempt: number
  /** Attempts before its last replay or fallback. */
  attemptsBeforeReplay: number
  worker: string
  claimId: string
  provider: string
  sealedConfig: string
  onUncertain: OnUncertain
  /** The trace in which it was accepted. */
  traceparent: string | null
  /** Time until it expires; null if it doesn't. */
  expiresInMs: number | null
  /** Whether it needed a permit (db/delivery/permits.ts). */
  isLimited: boolean
  isOverflow: boolean
  /** Whether it is the probe of an open circuit breaker. */
  isProbe: boolean
  /** Whether it ever fell back. */
  fellBack: boolean
  /** Whether its channel has a fallback. */
  hasFallback: boolean
  /** Whether its channel's mails have an address to unsubscribe. */
  oneClick: boolean
  /** Set if the channel has a rate: the time until the call, and until it is too late for the call. */
  callInMs: number | null
  tooLateInMs: number | null
}

/** SQL of the time until a column of a send's permit, on a channel with a rate. */
const untilMs = (moment: string) => sqlText`
  case when channels.rate_calls is not null then
    (select extract(epoch from p.${moment} - clock_timestamp())::float8 * 1000
     from permits p where p.request_id = s.request_id) end`

/**
 * SQL that is true for a send `mine` if a more urgent one of its channel is ready. Whether that one may go is another question
 * (`goesFirst` of a refusal): to ask it here would cost each claim a fifth more.
 */
const isMoreUrgentReady = sqlText`
  coalesce((
    select true from sends s
    where s.channel_id = mine.channel_id and s.priority < mine.priority and s.finished_at is null
      and ${isReady()}
    limit 1), false)`

/**
 * SQL of a claim. It claims nothing for a worker without a lease, whose claims would count as lost at once. A claim whose answer
 * was lost is found again by its id.
 *
 * @param lock SQL for sends that another statement has locked.
 */
const claim = (lock: string) => sqlText`
  -- $1: the sends; $2: the worker; $3: the claim; $4: ids for new conversations, one for each send; $5: the key of the
  -- hashes of erased contacts; $6: whether they go although a more urgent one is ready.
  with
  -- The sends that are ready, and those that already have this claim, locked in the order of their ids.
  candidates as materialized (
    select s.* from sends s
    where ${isGiven('s.request_id')}
      and ((${isReady()}
            and not ${isSuppressed('$5::bytea')}
            and (select alive_until > clock_timestamp() from workers where name = $2))
           or (s.status = 'sending' and s.claim_id = $3))
    order by s.request_id
    for no key update ${lock}),
  -- Sends that are free to go, and their contacts' conversations: the open one, or a new one for all sends of a contact.
  free as materialized (
    select s.request_id, s.account_id, s.channel_id, s.contact_type, person.value as contact_value,
           case when cardinality(open.ids) = 1 then open.ids[1] end as open_id,
           ($4::uuid[])[dense_rank() over (order by s.account_id, s.contact_type, person.value)] as new_id,
           s.conversation_id is null and not s.close_conversation and open.ids is null as opens
    from candidates s join channels on channels.id = s.channel_id
    cross join lateral (
      select ${folded('s.contact_value')} as value) person
    -- A send with several open ones stays without, and closes all but the newest when it enters.
    cross join lateral (
      select array_agg(id order by id desc) as ids from (
        ${openConversations({ account: 's.account_id', type: 's.contact_type', value: 'person.value' })}) one
      where not s.close_conversation) open
    cross join lateral (
      select s.channel_id, s.priority) mine
    where s.status = 'sending' or (
      ${isFree}
      and ($6
           or ${hasLimits}
           or not ${isMoreUrgentReady}))),
  ${countBelowCeilings('free')},
  -- The sends that are claimed.
  claimable as materialized (
    select * from free where request_id not in (select request_id from beyond)),
  -- In the order of contacts, so that two statements can't deadlock. If another transaction opens a conversation at this
  -- moment, the send stays without one.
  opened as (
    insert into conversations (id, account_id, contact_type, contact_value, opened_at)
    select distinct new_id, account_id, contact_type, contact_value, now()
    from claimable where opens
    order by account_id, contact_type, contact_value
    on conflict (account_id, contact_type, contact_value) where closed_at is null do nothing
    returning id)
  update sends s
  set status = 'sending', worker = $2, claim_id = $3,
      attempt = s.attempt + case when s.status = 'queued' then 1 else 0 end,
      claimed_at = case when s.status = 'queued' then clock_timestamp() else s.claimed_at end,
      conversation_id = coalesce(s.conversation_id, claimable.open_id, opened.id),
      ${ceilingColumns}
  from claimable left join opened on opens and opened.id = new_id, channels
  where s.request_id = claimable.request_id and channels.id = s.channel_id
  returning s.request_id as "requestId", s.account_id as "accountId", s.channel_id as "channelId",
    jsonb_strip_nulls(jsonb_build_object('type', s.contact_type, 'value', s.contact_value,
                                         'name', s.contact_name)) as contact,
    s.message, s.flow_id as "flowId", s.priority, s.reference, s.close_conversation as "closeConversation",
    s.conversation_id as "conversationId", s.attempt, s.traceparent,
    s.attempts_before_replay as "attemptsBeforeReplay", s.worker, s.claim_id as "claimId",
    channels.provider, channels.sealed_config as "sealedConfig", channels.on_uncertain as "onUncertain",
    extract(epoch from s.expires_at - clock_timestamp())::float8 * 1000 as "expiresInMs",
    ${isLimited} as "isLimited",
    s.overflow as "isOverflow", channels.breaker_open_until is not null as "isProbe",
    s.former_channels is not null as "fellBack", channels.fallback_channel_id is not null as "hasFallback",
    channels.one_click as "oneClick",
    ${untilMs('call_at')} as "callInMs",
    ${untilMs('valid_until')} as "tooLateInMs"`

const claimStatement = prepared<ClaimedSend>(
  'claim_sends',
  'Claims those of the given sends that are ready and free to go.',
  claim('skip locked'),
)
const reclaimStatement = prepared<ClaimedSend>(
  'reclaim_sends',
  'Repeats claim_sends after a lost answer. Waits for sends that the first one may still be claiming.',
  claim(''),
)

export interface Claim {
  id: string
  worker: string
  /** The key of the hashes of erased contacts (`suppressionKey`). */
  suppressionKey: Buffer
  /** Whether they go although a more urgent send of their channel is ready. */
  inAnyOrder: boolean
}

/**
 * Claims the sends that are ready and free to go, unless a more urgent one of their channel is ready. The others are missing from the
 * result.
 *
 * @param by the worker, a new id for this batch, and the key of hashes.
 */
export function claimSends(db: Database, requestIds: readonly string[], by: Claim) {
  return claimStatement(db, parametersOf(requestIds, by))
}

/**
 * Claims the sends again with the same id after a lost answer. The first statement may still be running in PostgreSQL, so this
 * one waits for the sends that it has locked, instead of skipping them.
 */
export function reclaimSends(db: Database, requestIds: readonly string[], by: Claim) {
  return reclaimStatement(db, parametersOf(requestIds, by))
}

/** Includes ids for the conversations that the claim may open. */
function parametersOf(requestIds: readonly string[], by: Claim) {
  return [requestIds, by.worker, by.id, requestIds.map(() => newId()), by.suppressionKey, by.inAnyOrder]
}
