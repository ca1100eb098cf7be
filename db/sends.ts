import { and, asc, eq } from 'drizzle-orm'
import type { Contact } from '../src/core/contact.ts'
import type { Message } from '../src/core/message.ts'
import type { OnUncertain } from '../src/core/outcome.ts'
import type { ProviderName } from '../src/core/providers/index.ts'
import type { AttemptRecord, SendRecord, SendStatus, StoredEvent } from '../src/core/timeline.ts'
import type { Database } from './client.ts'
import { media, sendEvents, sends } from './schema.ts'
import { prepared } from './statement.ts'

/** A send as it is recorded at accept. */
export interface NewSend {
  requestId: string
  accountId: string
  channelId: string
  contact: Contact
  message: Message
  flowId: string | undefined
  closeConversation: boolean
  /** By PostgreSQL's clock. After it nothing is inserted: by then the client has been told 503. */
  recordBy: Date
}

interface RecordedSend {
  requestId: string
  acceptedAt: Date
}

const insert = `
  insert into sends (request_id, account_id, channel_id, contact_type, contact_value, contact_name, message_type,
                     message, flow_id, close_conversation)
  select "requestId", "accountId", "channelId", contact->>'type', contact->>'value', contact->>'name',
         message->>'type', message, "flowId", "closeConversation"
  from rows from (json_to_recordset($1) as
    ("requestId" uuid, "accountId" uuid, "channelId" uuid, contact jsonb, message jsonb, "flowId" uuid,
     "closeConversation" boolean, "recordBy" timestamptz)) with ordinality
  where clock_timestamp() < "recordBy"
  order by ordinality
  returning request_id as "requestId", accepted_at as "acceptedAt"`

const insertStatement = prepared<RecordedSend>('insert_sends', insert)

const insertWithMediaStatement = prepared<RecordedSend>(
  'insert_send_with_media',
  `with recorded as (${insert}),
        stored as (insert into media (request_id, content) select "requestId", $2 from recorded)
   select * from recorded`,
)

/** Records sends in the order given. Those that came too late for their `recordBy` are missing from the answer. */
export function insertSends(db: Database, rows: readonly NewSend[]) {
  return insertStatement(db, [JSON.stringify(rows)])
}

/** Records one send with its media, both or neither. */
export function insertSendWithMedia(db: Database, row: NewSend, content: Buffer) {
  return insertWithMediaStatement(db, [JSON.stringify([row]), content])
}

/** A send that this worker may now hand to its provider, with all that takes but the bytes of its media. */
export interface ClaimedSend {
  requestId: string
  accountId: string
  channelId: string
  contact: Contact
  message: Message
  flowId: string | null
  closeConversation: boolean
  /** Null where the send has yet to enter a conversation. */
  conversationId: string | null
  /** Counted from 1. */
  attempt: number
  worker: string
  claimId: string
  provider: ProviderName
  sealedConfig: string
  onUncertain: OnUncertain
}

/**
 * `skip locked`: a send that another worker is claiming at this moment is that worker's. A claim whose answer was lost
 * is found again by its own id.
 */
const claimStatement = prepared<ClaimedSend>(
  'claim_sends',
  `update sends s
   set status = 'sending', worker = $2, claim_id = $3,
       attempt = s.attempt + case when s.status = 'queued' then 1 else 0 end,
       claimed_at = case when s.status = 'queued' then clock_timestamp() else s.claimed_at end,
       conversation_id = coalesce(s.conversation_id, case when not s.close_conversation then
         (select c.id from conversations c
          where c.account_id = s.account_id and c.contact_type = s.contact_type
            and c.contact_value = s.contact_value and c.closed_at is null) end)
   from (select request_id from sends
         where request_id = any($1::uuid[])
           and ((status = 'queued' and next_attempt_at <= clock_timestamp()) or
                (status = 'sending' and claim_id = $3))
         order by request_id
         for no key update skip locked) due,
        channels
   where s.request_id = due.request_id and channels.id = s.channel_id and (channels.held_at is null or s.status = 'sending')
   returning s.request_id as "requestId", s.account_id as "accountId", s.channel_id as "channelId",
     jsonb_strip_nulls(jsonb_build_object('type', s.contact_type, 'value', s.contact_value,
                                          'name', s.contact_name)) as contact,
     s.message, s.flow_id as "flowId", s.close_conversation as "closeConversation",
     s.conversation_id as "conversationId", s.attempt, s.worker, s.claim_id as "claimId",
     channels.provider, channels.sealed_config as "sealedConfig", channels.on_uncertain as "onUncertain"`,
)

/**
 * Claims those of the sends that are queued and due; the others are missing from the answer.
 *
 * @param claim whose claim it is; its id is new for every batch, and the same when the batch is tried again.
 */
export function claimSends(
  db: Database,
  requestIds: readonly string[],
  claim: { id: string; worker: string },
) {
  return claimStatement(db, [requestIds, claim.worker, claim.id])
}

/** How long until a queued send is due; undefined where it isn't queued, or its channel is held. */
export async function dueInMs(db: Database, requestId: string): Promise<number | undefined> {
  const [row] = await dueStatement(db, [requestId])
  return row?.dueInMs
}

const dueStatement = prepared<{ dueInMs: number }>(
  'due_in',
  `select ceil(greatest(extract(epoch from next_attempt_at - clock_timestamp()) * 1000, 0))::float8 as "dueInMs"
   from sends join channels on channels.id = sends.channel_id
   where request_id = $1 and status = 'queued' and held_at is null`,
)

/** A queued send, and since when it is due. */
export interface DueSend {
  requestId: string
  /** As PostgreSQL writes it: a Date would lose its microseconds. */
  dueAt: string
}

const dueSendsStatement = prepared<DueSend>(
  'due_sends',
  `select request_id as "requestId", next_attempt_at::text as "dueAt"
   from sends join channels on channels.id = sends.channel_id
   where finished_at is null and status = 'queued' and held_at is null
     and next_attempt_at < clock_timestamp() - $1 * interval '1 ms'
     and ($2::timestamptz is null or (next_attempt_at, request_id) > ($2, $3::uuid))
   order by next_attempt_at, request_id
   limit $4`,
)

/** A page of the sends that are queued and overdue, in the order in which they fell due; none of held channels. */
export function findDueSends(
  db: Database,
  page: { overdueByMs: number; after: DueSend | undefined; limit: number },
): Promise<DueSend[]> {
  const { overdueByMs, after, limit } = page
  return dueSendsStatement(db, [overdueByMs, after?.dueAt ?? null, after?.requestId ?? null, limit])
}

/** What an attempt came to, for `recordOutcomes`. */
export interface AttemptOutcome {
  requestId: string
  claimId: string
  status: Exclude<SendStatus, 'sending'>
  record: AttemptRecord
  /** Why it failed, is uncertain or is tried again. */
  reason: string | undefined
  /** Until the next attempt; only where the status is `queued`. */
  delayMs: number | undefined
  /** Holds the channel; then the attempt doesn't count. */
  holdsChannel?: boolean
  /** The channel's config that was used: one that was mended meanwhile is not held for the old one's sake. */
  sealedConfig?: string | undefined
}

/**
 * Fenced by the claim: an outcome of one that no longer holds changes nothing, and one that is recorded already, its
 * answer lost, is found again. Rows are locked in the order of their ids, or two batches could wait for each other. A
 * retry moves the attempt from the row to send_events, so that the row can hold the next one.
 */
const outcomeStatement = prepared<{ requestId: string; nextAttemptAt: Date | null }>(
  'record_outcomes',
  `with outcomes as materialized (
     select * from json_to_recordset($1) as
       ("requestId" uuid, "claimId" uuid, status text, record json, reason text, "delayMs" float8,
        "holdsChannel" boolean, "sealedConfig" text)),
   ours as materialized (
     select s.request_id, s.channel_id, s.attempt, s.worker, s.claimed_at, clock_timestamp() as ended_at
     from sends s join outcomes o on o."requestId" = s.request_id
     where s.status = 'sending' and s.claim_id = o."claimId"
     order by s.request_id for no key update of s),
   written as (
     update sends s
     set status = o.status,
         finished_at = case when o.status <> 'queued' then ours.ended_at end,
         attempt = s.attempt - case when o."holdsChannel" then 1 else 0 end,
         next_attempt_at = case when o.status = 'queued'
                                then ours.ended_at + coalesce(o."delayMs", 0) * interval '1 ms'
                                else s.next_attempt_at end,
         claimed_at = case when o.status <> 'queued' then s.claimed_at end,
         attempt_record = case when o.status <> 'queued' then o.record end,
         provider_message_id = o.record->>'providerMessageId',
         failure = case when o.status <> 'queued' then o.reason end
     from ours join outcomes o on o."requestId" = ours.request_id
     where s.request_id = ours.request_id
     returning s.request_id, s.status, s.next_attempt_at),
   held as (
     update channels set held_at = now(), held_reason = refusal.reason
     from (select distinct on (ours.channel_id) ours.channel_id, o.reason, o."sealedConfig"
           from ours join outcomes o on o."requestId" = ours.request_id where o."holdsChannel") refusal
     where channels.id = refusal.channel_id and held_at is null
       and channels.sealed_config = refusal."sealedConfig"),
   retried as (
     insert into send_events (request_id, at, event, fields)
     select ours.request_id, story.at, story.event, story.fields
     from ours join outcomes o on o."requestId" = ours.request_id join written w on w.request_id = ours.request_id
     cross join lateral (values
       (1, ours.claimed_at, 'attempt_started', json_build_object('attempt', ours.attempt, 'worker', ours.worker)),
       (2, ours.ended_at, 'attempt_finished', o.record),
       (3, ours.ended_at, case when o."holdsChannel" then 'channel_held' else 'retry_scheduled' end,
        case when o."holdsChannel" then json_build_object('reason', o.reason)
             else json_build_object('reason', o.reason, 'nextAttemptAt', to_char(w.next_attempt_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) end)
     ) as story (place, at, event, fields)
     where o.status = 'queued'
     order by ours.request_id, story.place)
   select request_id as "requestId", case when status = 'queued' then next_attempt_at end as "nextAttemptAt"
   from written
   union all
   select s.request_id, case when s.status = 'queued' then s.next_attempt_at end
   from sends s join outcomes o on o."requestId" = s.request_id
   where s.status <> 'sending' and s.claim_id = o."claimId"`,
)

/** Records what attempts came to. Those whose claim no longer holds are missing from the answer. */
export function recordOutcomes(db: Database, outcomes: readonly AttemptOutcome[]) {
  return outcomeStatement(db, [JSON.stringify(outcomes)])
}

/** One statement whether the send is absent or another account's. */
export async function findSend(
  db: Database,
  requestId: string,
  accountId?: string,
): Promise<{ send: SendRecord; events: StoredEvent[] } | undefined> {
  const mine = accountId === undefined ? undefined : eq(sends.accountId, accountId)
  const [send] = await db
    .select()
    .from(sends)
    .where(and(eq(sends.requestId, requestId), mine))
  if (!send) return undefined
  const events = await db
    .select()
    .from(sendEvents)
    .where(eq(sendEvents.requestId, requestId))
    .orderBy(asc(sendEvents.id))
  return { send, events }
}

/** The media of a send that has some, as a provider is to get it by a link. */
export async function findMedia(
  db: Database,
  requestId: string,
): Promise<{ content: Buffer; mimetype: string | undefined; filename: string | undefined } | undefined> {
  const [row] = await db
    .select({ content: media.content, message: sends.message })
    .from(media)
    .innerJoin(sends, eq(sends.requestId, media.requestId))
    .where(eq(media.requestId, requestId))
  if (row?.message.type !== 'media') return undefined
  const { mimetype, filename } = row.message.media
  return { content: row.content, mimetype, filename }
}

export async function findMediaContent(db: Database, requestId: string): Promise<Buffer | undefined> {
  const [row] = await db.select({ content: media.content }).from(media).where(eq(media.requestId, requestId))
  return row?.content
}
