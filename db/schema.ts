import { sql } from 'drizzle-orm'
import {
  bigint,
  boolean,
  customType,
  date,
  index,
  integer,
  json,
  jsonb,
  numeric,
  pgEnum,
  pgTable,
  primaryKey,
  smallint,
  text,
  timestamp,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core'
import type { ActorVia } from '../src/core/accounts/actor.ts'
import type { Permission } from '../src/core/accounts/api-key.ts'
import type { AuditAction, AuditDetail } from '../src/core/accounts/audit.ts'
import type { Ceiling, CeilingReport } from '../src/core/accounts/ceiling.ts'
import type { Role } from '../src/core/accounts/person.ts'
import type { CallbackType, EventType } from '../src/core/callbacks/callback.ts'
import type { CallbackTry } from '../src/core/callbacks/callback-outcome.ts'
import type { QuietHours } from '../src/core/channels/quiet-hours.ts'
import type { ShownConfig } from '../src/core/channels/shown-config.ts'
import type { ContactType } from '../src/core/contacts/contact.ts'
import type { Message, MessageType } from '../src/core/messages/message.ts'
import type { SmsSize } from '../src/core/messages/segments.ts'
import type { DeliveryState, Receipt } from '../src/core/receipts/receipt.ts'
import type { FallbackCause } from '../src/core/sends/fallback.ts'
import type { Ordering } from '../src/core/sends/lane.ts'
import type { OnUncertain } from '../src/core/sends/outcome.ts'
import { defaultPriority, priorities } from '../src/core/sends/priority.ts'
import type { Metadata } from '../src/core/sends/send-request.ts'
import type { AttemptRecord, SendStatus } from '../src/core/sends/timeline.ts'
import type { AutoCause, SuppressionCause } from '../src/core/suppression/suppression.ts'
import { contactKey } from './audit/contact-key.ts'
import {
  callbackChecks,
  ceilingChecks,
  channelChecks,
  conversationChecks,
  permitChecks,
  sendChecks,
  suppressionChecks as suppressionRowChecks,
} from './checks.ts'
import { entryKey, folded, hasCapitals } from './delivery/contact-rule.ts'
import { isRefusal } from './suppression/refusal-rule.ts'

const bytea = customType<{ data: Buffer }>({ dataType: () => 'bytea' })
/** Contacts are compared by it: few have a value with capitals (db/delivery/contact-rule.ts). */
const foldedValue = sql.raw(`(${folded('contact_value')})`)
const capitals = sql.raw(hasCapitals('contact_value'))
/** An enum, because PostgreSQL orders by its values as the list does. */
export const priority = pgEnum('priority', priorities)
const moment = (name: string) => timestamp(name, { withTimezone: true })

export const accounts = pgTable('accounts', {
  id: uuid('id').primaryKey(),
  name: text('name').notNull(),
  /** Null for the service's default limit. */
  rateLimitPoints: integer('rate_limit_points'),
  rateLimitSeconds: integer('rate_limit_seconds'),
  createdAt: moment('created_at').notNull().defaultNow(),
})

export const apiKeys = pgTable('api_keys', {
  id: uuid('id').primaryKey(),
  accountId: uuid('account_id')
    .notNull()
    .references(() => accounts.id),
  hash: bytea('hash').notNull().unique(),
  displayPrefix: text('display_prefix').notNull(),
  permissions: text('permissions').array().$type<Permission[]>().notNull(),
  createdAt: moment('created_at').notNull().defaultNow(),
  expiresAt: moment('expires_at'),
  revokedAt: moment('revoked_at'),
  /** Up to an hour behind. Null if no use is recorded. */
  lastUsedAt: moment('last_used_at'),
})

export const channels = pgTable(
  'channels',
  {
    id: uuid('id').primaryKey(),
    accountId: uuid('account_id')
      .notNull()
      .references(() => accounts.id),
    provider: text('provider').notNull(),
    name: text('name').notNull(),
    /** Sealed by `sealConfig`. */
    sealedConfig: text('sealed_config').notNull(),
    /** The part of it that may be shown (src/core/channels/shown-config.ts). Null if it was set before migration 0026. */
    shownConfig: json('shown_config').$type<ShownConfig>(),
    onUncertain: text('on_uncertain').$type<OnUncertain>().notNull(),
    ordering: text('ordering').$type<Ordering>().notNull().default('contact'),
    /** Set while the channel is held and its sends wait. */
    heldAt: moment('held_at'),
    heldReason: text('held_reason'),
    /** How long its sends may wait; null if they don't expire. */
    expireAfterSeconds: integer('expire_after_seconds'),
    /** At most `rate_calls` calls in `rate_seconds`; both null for no rate. */
    rateCalls: integer('rate_calls'),
    rateSeconds: integer('rate_seconds'),
    /** Limit of concurrent calls; null for none. */
    maxInFlight: integer('max_in_flight'),
    /** Set if it has a rate: when its next call may be made. */
    nextCallAt: moment('next_call_at'),
    /** Permits in a row of urgent sends, and of normal ones among the others, up to the nine after which a less urgent one is next. */
    urgentInARow: smallint('urgent_in_a_row').notNull().default(0),
    normalInARow: smallint('normal_in_a_row').notNull().default(0),
    /** The circuit breaker is open until this time; then it lets a probe through. Null if it is closed. */
    breakerOpenUntil: moment('breaker_open_until'),
    /** When a send of its overflow last got an answer, accurate to some seconds. */
    answeredAt: moment('answered_at'),
    /** When the breaker opened after it was last closed. */
    breakerOpenedAt: moment('breaker_opened_at'),
    /** How often the breaker has opened since it was last closed. */
    breakerOpenings: integer('breaker_openings').notNull().default(0),
    /** Whether its provider should send a receipt for each message. */
    expectsReceipts: boolean('expects_receipts').notNull().default(false),
    /** When it last got a receipt, accurate to a minute. */
    receiptAt: moment('receipt_at'),
    /** With `expects_receipts`: when it first sent a message since its last receipt, accurate to a minute. */
    awaitsReceiptSince: moment('awaits_receipt_since'),
    /** The causes for which its contacts are suppressed by themselves; null for all. */
    autoSuppress: text('auto_suppress').array().$type<AutoCause[]>(),
    /** The channel by which its sends go on that this one can't deliver; null for none. */
    fallbackChannelId: uuid('fallback_channel_id'),
    /** On what they do; null for all of `fallbackCauses`. */
    fallbackOn: text('fallback_on').array().$type<FallbackCause[]>(),
    /** How long after their accept; null for `defaultFallbackWithinSeconds`. */
    fallbackWithinSeconds: integer('fallback_within_seconds'),
    /** Whether its mails have an address by which their contact unsubscribes with one click. */
    oneClick: boolean('one_click').notNull().default(false),
    /** The countries whose phone numbers it sends to, by their codes of two letters; null for all. */
    countries: text('countries').array(),
    /** When it calls nobody; null for never. */
    quietHours: jsonb('quiet_hours').$type<QuietHours>(),
    createdAt: moment('created_at').notNull().defaultNow(),
    /** When it was deleted. The row stays for its sends. It is also held, so that none of them is claimed. */
    deletedAt: moment('deleted_at'),
  },
  (table) => [index('channels_of_account').on(table.accountId), ...channelChecks],
)

/**
 * Ceilings of accounts and of channels, each with what has been used of it (db/ceilings/ceiling-rule.ts). A claim locks those of its sends,
 * and counts them.
 */
export const ceilings = pgTable(
  'ceilings',
  {
    /** The account, or the channel. */
    ownerId: uuid('owner_id').notNull(),
    /** The account, or that of the channel. */
    accountId: uuid('account_id').notNull(),
    unit: text('unit').$type<Ceiling['unit']>().notNull(),
    period: text('period').$type<Ceiling['period']>().notNull(),
    amount: bigint('amount', { mode: 'number' }).notNull(),
    /** The beginning of the period in which it was last used, and how much was used in it. */
    startsAt: moment('starts_at').notNull().default(sql`'-infinity'`),
    used: bigint('used', { mode: 'number' }).notNull().default(0),
    /** The share in percent that was last reported of that period. */
    reported: smallint('reported').notNull().default(0),
  },
  (table) => [primaryKey({ columns: [table.ownerId, table.unit, table.period] }), ...ceilingChecks],
)

/**
 * Permits of sends of limited channels (db/delivery/permits.ts). A send with a permit may be claimed, and counts as in flight until
 * its attempt has ended.
 */
export const permits = pgTable(
  'permits',
  {
    requestId: uuid('request_id').primaryKey(),
    channelId: uuid('channel_id').notNull(),
    /** The number of the attempt that it is for. */
    attempt: integer('attempt').notNull(),
    /** The earliest time of the call; null for at once. */
    callAt: moment('call_at'),
    /** When the send could first have been claimed with a permit for this attempt. Null if the previous release granted it. */
    unusedSince: moment('unused_since'),
    /** The send has to be claimed before this time. */
    validUntil: moment('valid_until').notNull(),
    /** Whether it is for a probe of an open circuit breaker. */
    isProbe: boolean('is_probe').notNull(),
  },
  (table) => [index('permits_of_channel').on(table.channelId), ...permitChecks],
)

/** Templates registered with a channel. Unregistered ones are passed to the provider unchanged. */
export const templates = pgTable(
  'templates',
  {
    channelId: uuid('channel_id')
      .notNull()
      .references(() => channels.id),
    name: text('name').notNull(),
    definition: json('definition').$type<object>().notNull(),
    setAt: moment('set_at').notNull().defaultNow(),
  },
  (table) => [primaryKey({ columns: [table.channelId, table.name] })],
)

/** Files by which operators describe providers (docs/reference/provider-files.md). */
export const providerFiles = pgTable('provider_files', {
  name: text('name').primaryKey(),
  content: text('content').notNull(),
  /** SHA-256 of the content, in hex. */
  hash: text('hash').notNull(),
  setAt: moment('set_at').notNull().defaultNow(),
})

export const flows = pgTable(
  'flows',
  {
    id: uuid('id').primaryKey(),
    accountId: uuid('account_id')
      .notNull()
      .references(() => accounts.id),
    name: text('name').notNull(),
    createdAt: moment('created_at').notNull().defaultNow(),
  },
  (table) => [index('flows_of_account').on(table.accountId)],
)

/** An account's thread with one contact, whatever the channel. */
export const conversations = pgTable(
  'conversations',
  {
    id: uuid('id').primaryKey(),
    accountId: uuid('account_id').notNull(),
    contactType: text('contact_type').$type<ContactType>().notNull(),
    /** Folded, unless the previous release opened it. */
    contactValue: text('contact_value').notNull(),
    openedAt: moment('opened_at').notNull().defaultNow(),
    closedAt: moment('closed_at'),
    /** The send that closed it. */
    closedBy: uuid('closed_by'),
  },
  (table) => [
    uniqueIndex('conversations_one_open')
      .on(table.accountId, table.contactType, table.contactValue)
      .where(sql`closed_at is null`),
    index('conversations_closed').on(table.closedAt).where(sql`closed_at is not null`),
    index('conversations_of_contact').on(table.accountId, table.contactValue),
    index('conversations_of_capitals').on(table.accountId, foldedValue).where(capitals),
    ...conversationChecks,
  ],
)

/**
 * One row per send. It has no foreign keys: each would cost every accept a look-up and a lock on the account's or the channel's
 * row, which the API has just read anyway.
 */
export const sends = pgTable(
  'sends',
  {
    requestId: uuid('request_id').primaryKey(),
    /** The order of acceptance; of a send that fell back, that of its arrival on its channel. */
    seq: bigint('seq', { mode: 'bigint' }).notNull().generatedByDefaultAsIdentity(),
    accountId: uuid('account_id').notNull(),
    /** The channel that has it now. */
    channelId: uuid('channel_id').notNull(),
    /**
     * The channels that had it before, the first one that of the request; null if it never fell back. `postedChannel` and
     * `sentThrough` of db/accounts/posted-channel.ts are what clients see.
     */
    formerChannels: uuid('former_channels').array(),
    contactType: text('contact_type').$type<ContactType>().notNull(),
    contactValue: text('contact_value').notNull(),
    contactName: text('contact_name'),
    messageType: text('message_type').$type<MessageType>().notNull(),
    message: jsonb('message').$type<Message>().notNull(),
    flowId: uuid('flow_id'),
    closeConversation: boolean('close_conversation').notNull(),
    /** The ordering key, a hash of channel and folded contact: sends of one lane go one after the other, by `seq`. Null for any order. */
    lane: bigint('lane', { mode: 'bigint' }),
    /** The unfinished send right before it in its lane when it was accepted. */
    behind: uuid('behind'),
    /** What goes first among the sends of its channel that may go. */
    priority: priority('priority').notNull().default(defaultPriority),
    /** Whether it is beyond its account's quota in the ordinary queue (docs/explanation/delivery.md#fairness). */
    overflow: boolean('overflow').notNull().default(false),
    /** Null until the send has joined one, before its first attempt. */
    conversationId: uuid('conversation_id'),
    status: text('status').$type<SendStatus>().notNull().default('queued'),
    acceptedAt: moment('accepted_at').notNull().default(sql`clock_timestamp()`),
    nextAttemptAt: moment('next_attempt_at').notNull().default(sql`clock_timestamp()`),
    finishedAt: moment('finished_at'),
    /** If it is still queued at this time, it fails; null if it doesn't expire. */
    expiresAt: moment('expires_at'),
    /** Attempts begun so far. */
    attempt: integer('attempt').notNull().default(0),
    /** Attempts before the last replay or fallback, which starts a new series of retries. */
    attemptsBeforeReplay: integer('attempts_before_replay').notNull().default(0),
    /** How many workers were lost while processing it, since its last replay or fallback. */
    losses: integer('losses').notNull().default(0),
    /** The worker of the latest attempt. A retry moves the attempt to send_events. */
    worker: text('worker'),
    /** The fence of the attempt: an outcome is recorded only with the same claim. */
    claimId: uuid('claim_id'),
    claimedAt: moment('claimed_at'),
    attemptRecord: json('attempt_record').$type<AttemptRecord>(),
    providerMessageId: text('provider_message_id'),
    /** Why it ended failed or uncertain. */
    failure: text('failure'),
    /** The W3C trace context in which it was accepted; null without tracing. */
    traceparent: text('traceparent'),
    /** The provider's report after it had accepted the message, and when that was recorded. */
    delivery: text('delivery').$type<DeliveryState>(),
    deliveryAt: moment('delivery_at'),
    /**
     * Recognises repeats of its recorded receipts. In the row, because a statement that waited for the row's lock sees the row as
     * it is then, but other tables as they were before (docs/decisions/0045-receipts.md).
     */
    receiptKeys: text('receipt_keys').array(),
    /** Receipts that came while it was `sending`, until its outcome is recorded. In the row for the same reason. */
    pendingReceipts: jsonb('pending_receipts').$type<object[]>(),
    /** The client's own id, which any number of sends may have. */
    reference: text('reference'),
    /** The client's own limit of its wait, within `expires_at`: a replay doesn't extend it. */
    expiresInSeconds: integer('expires_in_seconds'),
    /** The client's own notes on the send. */
    metadata: jsonb('metadata').$type<Metadata>(),
    /** As SMS, by its text. Null if it isn't one, or only the provider knows the text. */
    segments: smallint('segments'),
    encoding: text('encoding').$type<SmsSize['encoding']>(),
    /** What its messages cost, each by a hash of the provider's id of it (db/counters/costs.ts); null if no provider has said. */
    costs: jsonb('costs').$type<Record<string, { amount: string; currency: string }>>(),
    /** The time for which the client asked; null for at once. */
    sendAt: moment('send_at'),
    /** The number of its last change, as callbacks count them, from 1 (db/callbacks/new-callbacks.ts). */
    changeNumber: integer('change_number').notNull().default(0),
    /** The kind that it is counted as now (db/counters/counted-as.ts). Null if it was accepted before counting began. */
    countedAs: text('counted_as'),
    /** The API key that posted it. Null if it was accepted before migration 0027, or accepted or moved by the previous release. */
    apiKeyId: uuid('api_key_id'),
    /** When it was last counted below the ceilings of its channel and its account (db/ceilings/ceiling-rule.ts). Null without one. */
    channelCountedAt: moment('channel_counted_at'),
    accountCountedAt: moment('account_counted_at'),
  },
  // No index uses the status, because then every claim would write to the indexes. For the same reason pages are filled only to
  // 70 % (migration 0009): a claim that finds no space on its row's page writes to all indexes.
  (table) => [
    index('sends_by_priority')
      .on(table.channelId, table.priority, table.nextAttemptAt)
      .where(sql`finished_at is null`),
    // They have an expression of their own, see db/delivery/lane-rule.ts.
    index('sends_in_quotas')
      .on(table.accountId, table.channelId, table.priority)
      .where(sql`coalesce(finished_at, 'infinity') = 'infinity' and not overflow`),
    index('sends_of_lanes')
      .on(table.lane, table.seq)
      .where(sql`coalesce(finished_at, 'infinity') = 'infinity' and lane is not null`),
    index('sends_expiring').on(table.expiresAt).where(sql`finished_at is null and expires_at is not null`),
    index('sends_not_sent').on(table.channelId, table.seq).where(sql`failure is not null`),
    index('sends_of_contact').using('hash', table.contactValue),
    index('sends_of_capitals').using('hash', foldedValue).where(capitals),
    index('sends_of_account').on(table.accountId, table.acceptedAt, table.requestId),
    index('sends_of_reference')
      .on(table.reference, table.accountId, table.acceptedAt, table.requestId)
      .where(sql`reference is not null`),
    index('sends_waiting_of_reference')
      .on(table.reference, table.acceptedAt, table.requestId)
      .where(sql`coalesce(finished_at, 'infinity') = 'infinity' and reference is not null`),
    index('sends_waiting_of_flow')
      .on(table.flowId, table.acceptedAt, table.requestId)
      .where(sql`coalesce(finished_at, 'infinity') = 'infinity' and flow_id is not null`),
    ...sendChecks,
  ],
)

/**
 * Sends that wait for their `sendAt`. A table of their own, so that a million sends of next month cost those of now nothing
 * (docs/decisions/0046-scheduled-sends.md). At its time, or when it is canceled, a row moves to `sends`.
 */
export const scheduledSends = pgTable(
  'scheduled_sends',
  {
    requestId: uuid('request_id').primaryKey(),
    /** The order of acceptance, for sends of the same time. */
    seq: bigint('seq', { mode: 'bigint' }).notNull().generatedAlwaysAsIdentity(),
    accountId: uuid('account_id').notNull(),
    channelId: uuid('channel_id').notNull(),
    contactType: text('contact_type').$type<ContactType>().notNull(),
    contactValue: text('contact_value').notNull(),
    contactName: text('contact_name'),
    messageType: text('message_type').$type<MessageType>().notNull(),
    message: jsonb('message').$type<Message>().notNull(),
    flowId: uuid('flow_id'),
    closeConversation: boolean('close_conversation').notNull(),
    priority: priority('priority').notNull().default(defaultPriority),
    acceptedAt: moment('accepted_at').notNull().default(sql`clock_timestamp()`),
    traceparent: text('traceparent'),
    reference: text('reference'),
    expiresInSeconds: integer('expires_in_seconds'),
    metadata: jsonb('metadata').$type<Metadata>(),
    segments: smallint('segments'),
    encoding: text('encoding').$type<SmsSize['encoding']>(),
    sendAt: moment('send_at').notNull(),
    apiKeyId: uuid('api_key_id'),
  },
  (table) => [
    index('scheduled_sends_due').on(table.sendAt, table.seq),
    index('scheduled_sends_of_account').on(table.accountId, table.acceptedAt, table.requestId),
    index('scheduled_sends_of_contact').using('hash', table.contactValue),
    index('scheduled_sends_of_capitals').using('hash', foldedValue).where(capitals),
    index('scheduled_sends_of_reference')
      .on(table.reference, table.accountId, table.acceptedAt, table.requestId)
      .where(sql`reference is not null`),
    index('scheduled_sends_of_flow')
      .on(table.flowId, table.acceptedAt, table.requestId)
      .where(sql`flow_id is not null`),
  ],
)

/** Idempotency-Keys and their sends: written with the send, removed a day after it was accepted, or was to be sent. */
export const idempotencyKeys = pgTable(
  'idempotency_keys',
  {
    /** Hash of account and key. */
    hash: bytea('hash').primaryKey(),
    /** Hash of the request. */
    fingerprint: bytea('fingerprint').notNull(),
    /** The send; or the request of a batch. */
    requestId: uuid('request_id').notNull(),
    /** The sends of a batch, in their order. */
    batch: uuid('batch').array(),
    /** When the key was used; of a scheduled send, when it was to be sent. The key is kept for a day from then. */
    createdAt: moment('created_at').notNull().default(sql`clock_timestamp()`),
  },
  (table) => [
    index('idempotency_keys_by_age').on(table.createdAt),
    // An erasure finds the batches of its sends by it.
    index('idempotency_keys_of_batches').on(sql`(batch[1])`).where(sql`batch is not null`),
  ],
)

/** Where accounts get callbacks about their sends. */
export const endpoints = pgTable(
  'endpoints',
  {
    id: uuid('id').primaryKey(),
    accountId: uuid('account_id')
      .notNull()
      .references(() => accounts.id),
    url: text('url').notNull(),
    /** Null for all changes of sends, also those of later releases. */
    events: text('events').array().$type<EventType[]>(),
    /** Sealed by `sealConfig`, as the former secret is. Until `former_until`, calls are signed with both. */
    sealedSecret: text('sealed_secret').notNull(),
    sealedFormerSecret: text('sealed_former_secret'),
    formerUntil: moment('former_until'),
    createdAt: moment('created_at').notNull().defaultNow(),
    disabledAt: moment('disabled_at'),
    disabledReason: text('disabled_reason'),
    /** When a call last got a 2xx, accurate to a minute. */
    answeredAt: moment('answered_at'),
    /** Since when calls have failed without a 2xx in between. */
    failingSince: moment('failing_since'),
    /** When a call last failed. */
    failedAt: moment('failed_at'),
    /** Its circuit breaker, as a channel's. */
    breakerOpenUntil: moment('breaker_open_until'),
    breakerOpenedAt: moment('breaker_opened_at'),
    breakerOpenings: integer('breaker_openings').notNull().default(0),
    /** The worker that alone may call it now, the fence of its claim, and when it was made. */
    worker: text('worker'),
    claimId: uuid('claim_id'),
    claimedAt: moment('claimed_at'),
  },
  (table) => [index('endpoints_of_account').on(table.accountId)],
)

/**
 * A call of an endpoint about a change of a send. A row without foreign keys, because those would cost every change of a send a lock on its endpoints'
 * rows. Its type implies the send's state; what never changes of the send is read from the send's row.
 */
export const callbacks = pgTable(
  'callbacks',
  {
    endpointId: uuid('endpoint_id').notNull(),
    /** The send; an id of its own for a callback about none. */
    requestId: uuid('request_id').notNull(),
    sequence: integer('sequence').notNull(),
    type: text('type').$type<CallbackType>().notNull(),
    /** When the change was recorded. */
    createdAt: moment('created_at').notNull().default(sql`clock_timestamp()`),
    /** Status of the send by then. */
    attempts: integer('attempts').notNull().default(0),
    conversationId: uuid('conversation_id'),
    providerAt: text('provider_at'),
    providerCode: text('provider_code'),
    /** Fields of a change whose type doesn't imply them (src/core/callbacks/callback.ts). */
    status: text('status').$type<SendStatus>(),
    delivery: text('delivery').$type<DeliveryState>(),
    /** Of a callback about no send: the data of its body. */
    data: jsonb('data').$type<CeilingReport>(),
    nextTryAt: moment('next_try_at').notNull().default(sql`clock_timestamp()`),
    finishedAt: moment('finished_at'),
    givenUp: boolean('given_up').notNull().default(false),
    /** Calls so far, and those of them before the last resend, which starts a new series. */
    tried: integer('tried').notNull().default(0),
    triedBeforeResend: integer('tried_before_resend').notNull().default(0),
    /** The last ones. */
    tries: jsonb('tries').$type<CallbackTry[]>().notNull().default([]),
  },
  (table) => [
    primaryKey({ columns: [table.endpointId, table.requestId, table.sequence] }),
    index('callbacks_waiting').on(table.endpointId, table.nextTryAt).where(sql`finished_at is null`),
    index('callbacks_finished').on(table.finishedAt).where(sql`finished_at is not null`),
    // It has an expression of its own: otherwise the planner takes it for statements that need another index.
    index('callbacks_by_time')
      .on(table.endpointId, table.createdAt, table.requestId, table.sequence)
      .where(sql`coalesce(sequence, 0) >= 0`),
    ...callbackChecks,
  ],
)

/**
 * Contacts that get nothing from an account. Without foreign keys, which would cost an import of a million a look-up each. The id is
 * made at the time of the entry, so it gives their order.
 */
export const suppressions = pgTable(
  'suppressions',
  {
    id: uuid('id').primaryKey(),
    accountId: uuid('account_id').notNull(),
    contactType: text('contact_type').$type<ContactType>().notNull(),
    /** Normalised; of an erased contact a keyed hash (db/claim-rule.ts). */
    contactValue: text('contact_value').notNull(),
    /** For an erased contact that was written with capitals: the keyed hash of all its spellings. */
    contactKey: text('contact_key'),
    /** Null for all channels of the account. */
    channelId: uuid('channel_id'),
    cause: text('cause').$type<SuppressionCause>().notNull(),
    reason: text('reason'),
    /** The send that caused it. */
    requestId: uuid('request_id'),
    createdAt: moment('created_at').notNull().default(sql`clock_timestamp()`),
    erasedAt: moment('erased_at'),
  },
  (table) => [
    uniqueIndex('suppressions_of_contact').on(
      table.accountId,
      table.contactValue,
      sql`coalesce(channel_id, '00000000-0000-0000-0000-000000000000')`,
    ),
    // Not the account first: plans of lists would read it in place of the index of accounts.
    index('suppressions_of_key').on(
      sql.raw(`(${entryKey('suppressions').replace(/\s+/g, ' ')})`),
      table.accountId,
    ),
    index('suppressions_of_account').on(table.accountId, table.id),
    index('suppressions_erased').on(table.erasedAt).where(sql`erased_at is not null`),
    index('suppressions_refused')
      .on(table.createdAt)
      .where(sql.raw(isRefusal('cause'))),
    ...suppressionRowChecks,
  ],
)

/** Contacts whose waiting sends a worker still has to compare with the suppressions (db/suppression/checks.ts). */
export const suppressionChecks = pgTable(
  'suppression_checks',
  {
    id: bigint('id', { mode: 'bigint' }).primaryKey().generatedAlwaysAsIdentity(),
    accountId: uuid('account_id').notNull(),
    /** Null for all contacts of the account. */
    contactValue: text('contact_value'),
    createdAt: moment('created_at').notNull().default(sql`clock_timestamp()`),
    dueAt: moment('due_at').notNull().default(sql`clock_timestamp()`),
  },
  (table) => [index('suppression_checks_due').on(table.dueAt)],
)

/** Who may sign in to the admin pages (docs/reference/admin.md#people). */
export const people = pgTable('people', {
  id: uuid('id').primaryKey(),
  name: text('name').notNull(),
  /** By `nameKey`: two names that differ only in case are the same. */
  nameKey: text('name_key').notNull().unique(),
  role: text('role').$type<Role>().notNull(),
  /** By `hashPassword`. */
  passwordHash: text('password_hash').notNull(),
  createdAt: moment('created_at').notNull().defaultNow(),
  signedInAt: moment('signed_in_at'),
  /** Where they last signed in from: guesses from elsewhere can't lock them out there. */
  knownAddresses: text('known_addresses').array().notNull().default(sql`'{}'`),
})

/**
 * One row from the first person on, which a trigger adds, also for the previous release: after the last one is removed,
 * ADMIN_PASSWORD doesn't open the pages again.
 */
export const peopleSince = pgTable('people_since', {
  onlyRow: boolean('only_row').primaryKey().default(true),
  since: moment('since').notNull().defaultNow(),
})

export const personSessions = pgTable(
  'person_sessions',
  {
    /** SHA-256 of the token in the cookie. */
    tokenHash: bytea('token_hash').primaryKey(),
    personId: uuid('person_id')
      .notNull()
      .references(() => people.id, { onDelete: 'cascade' }),
    expiresAt: moment('expires_at').notNull(),
    /** Names it on pages. Not `id`: a query of the previous release would mean this one. */
    sessionId: uuid('session_id').notNull().defaultRandom(),
    begunAt: moment('begun_at').notNull().defaultNow(),
    /** Minutes behind: each write costs a row version. */
    usedAt: moment('used_at').notNull().defaultNow(),
    /** Null if a process of the previous release began it. */
    address: text('address'),
  },
  (table) => [index('person_sessions_of_person').on(table.personId)],
)

/**
 * Who changed what (db/audit/record.ts). Without foreign keys: a row outlives its target, and a target's id may be that of
 * anything.
 */
export const audit = pgTable(
  'audit',
  {
    id: uuid('id').primaryKey(),
    at: moment('at').notNull().default(sql`clock_timestamp()`),
    by: text('by').notNull(),
    via: text('via').$type<ActorVia>().notNull(),
    address: text('address'),
    action: text('action').$type<AuditAction>().notNull(),
    target: text('target'),
    details: jsonb('details').$type<Record<string, AuditDetail>>().notNull().default({}),
  },
  (table) => [
    index('audit_by_time').on(table.at, table.id),
    index('audit_of_target').on(table.target, table.at, table.id),
    index('audit_of_person').on(table.by, table.at, table.id),
    index('audit_of_contact').on(sql.raw(`(${contactKey('audit')})`), table.at, table.id),
  ],
)

/**
 * Requests that were answered 4xx, each with a known key: the last ones of each account (db/audit/refused.ts). The id is made when the request
 * comes, so it gives their order.
 */
export const refusedRequests = pgTable(
  'refused_requests',
  {
    requestId: uuid('request_id').primaryKey(),
    accountId: uuid('account_id').notNull(),
    keyPrefix: text('key_prefix').notNull(),
    at: moment('at').notNull(),
    status: integer('status').notNull(),
    /** Without text of the client. */
    message: text('message').notNull(),
    /** Method and pattern, such as `POST /v1/messages`. */
    route: text('route').notNull(),
    /** The names of the fields and parameters that were sent. */
    fields: text('fields').array().notNull(),
  },
  (table) => [index('refused_requests_of_account').on(table.accountId, table.requestId)],
)

/**
 * Changes of the counters that aren't in them yet: rows that statements append, without an index, so that none waits for another
 * (docs/decisions/0052-counters.md).
 */
export const sendCountChanges = pgTable('send_count_changes', {
  accountId: uuid('account_id').notNull(),
  channelId: uuid('channel_id').notNull(),
  /** The hour of the sends' accept. */
  hour: moment('hour').notNull(),
  /** `accepted`, or as `sends.counted_as`. */
  countedAs: text('counted_as').notNull(),
  change: integer('change').notNull(),
  /** Segments of the accepted sends. */
  segments: integer('segments').notNull().default(0),
  priority: priority('priority').notNull().default(defaultPriority),
  /** What the sends cost more than before; null in a row of counts. */
  currency: text('currency'),
  amount: numeric('amount'),
})

/**
 * How many sends a channel accepted on a day (UTC), and what they are now: as `send_counts`, but kept for longer. A trigger adds to it when
 * changes leave their table.
 */
export const usageCounts = pgTable(
  'usage_counts',
  {
    accountId: uuid('account_id').notNull(),
    day: date('day').notNull(),
    channelId: uuid('channel_id').notNull(),
    accepted: integer('accepted').notNull(),
    sent: integer('sent').notNull(),
    delivered: integer('delivered').notNull(),
    read: integer('read').notNull(),
    undelivered: integer('undelivered').notNull(),
    failed: integer('failed').notNull(),
    uncertain: integer('uncertain').notNull(),
    canceled: integer('canceled').notNull(),
    priority: priority('priority').notNull(),
    segments: bigint('segments', { mode: 'number' }).notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.accountId, table.day, table.channelId, table.priority] }),
    index('usage_counts_by_day').on(table.day),
  ],
)

/** What the sends cost that a channel accepted on a day (UTC), by currency. A trigger adds to it as to `usage_counts`. */
export const usageCosts = pgTable(
  'usage_costs',
  {
    accountId: uuid('account_id').notNull(),
    day: date('day').notNull(),
    channelId: uuid('channel_id').notNull(),
    priority: priority('priority').notNull(),
    currency: text('currency').notNull(),
    amount: numeric('amount').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.accountId, table.day, table.channelId, table.priority, table.currency] }),
    index('usage_costs_by_day').on(table.day),
  ],
)

/** How many sends a channel accepted in an hour, and what those that have ended are now. The rest waits. */
export const sendCounts = pgTable(
  'send_counts',
  {
    hour: moment('hour').notNull(),
    /** The channel that the client posted to; the nil UUID in the row of all channels. */
    channelId: uuid('channel_id').notNull(),
    accountId: uuid('account_id').notNull(),
    accepted: integer('accepted').notNull(),
    /** Each send is in one of these: `sent` without what follows here. */
    sent: integer('sent').notNull(),
    delivered: integer('delivered').notNull(),
    read: integer('read').notNull(),
    undelivered: integer('undelivered').notNull(),
    failed: integer('failed').notNull(),
    uncertain: integer('uncertain').notNull(),
    canceled: integer('canceled').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.hour, table.channelId] }),
    index('send_counts_of_channel').on(table.channelId, table.hour),
  ],
)

/** The failed, uncertain and undelivered ones of `send_counts`, by reason and code; both may be empty. */
export const failureCounts = pgTable(
  'failure_counts',
  {
    hour: moment('hour').notNull(),
    channelId: uuid('channel_id').notNull(),
    accountId: uuid('account_id').notNull(),
    state: text('state').notNull(),
    reason: text('reason').notNull(),
    code: text('code').notNull(),
    sends: integer('sends').notNull(),
  },
  (table) => [primaryKey({ columns: [table.hour, table.channelId, table.state, table.reason, table.code] })],
)

/** Since when sends are counted: one row. */
export const countedSince = pgTable('counted_since', {
  onlyRow: boolean('only_row').primaryKey().default(true),
  since: moment('since').notNull().default(sql`clock_timestamp()`),
})

/** Live workers, and dead ones whose claims still have to be given up. */
export const workers = pgTable('workers', {
  name: text('name').primaryKey(),
  startedAt: moment('started_at').notNull().default(sql`clock_timestamp()`),
  /** End of its lease. After it, its claims count as lost. */
  aliveUntil: moment('alive_until').notNull(),
})

/** How many shards the queue has: one row. */
export const queueShards = pgTable('queue_shards', {
  onlyRow: boolean('only_row').primaryKey().default(true),
  count: integer('count').notNull(),
  /** While their number changes: the former one. */
  previous: integer('previous'),
})

/** Events that can't be derived from the send's row, or no longer can. Append-only. */
export const sendEvents = pgTable(
  'send_events',
  {
    id: bigint('id', { mode: 'bigint' }).primaryKey().generatedAlwaysAsIdentity(),
    requestId: uuid('request_id').notNull(),
    at: moment('at').notNull().default(sql`clock_timestamp()`),
    event: text('event').notNull(),
    /** `json` instead of `jsonb`, because it keeps the order of the fields. */
    fields: json('fields').$type<Record<string, unknown>>().notNull(),
  },
  (table) => [index('send_events_of_send').on(table.requestId)],
)

/** The sends of providers whose receipts have no id of ours, by the provider's ids of their messages (db/receipts/message-ids.ts). */
export const messageIds = pgTable(
  'message_ids',
  {
    channelId: uuid('channel_id').notNull(),
    /** A hash of the id, which may have the contact's number in it. */
    messageKey: uuid('message_key').notNull(),
    requestId: uuid('request_id').notNull(),
    recordedAt: moment('recorded_at').notNull().defaultNow(),
  },
  (table) => [
    primaryKey({ columns: [table.channelId, table.messageKey] }),
    index('message_ids_by_time').on(table.recordedAt),
  ],
)

/** Receipts by the provider's id alone that came before the outcome of their call, until that is recorded. */
export const earlyReceipts = pgTable('early_receipts', {
  id: bigint('id', { mode: 'bigint' }).primaryKey().generatedAlwaysAsIdentity(),
  channelId: uuid('channel_id').notNull(),
  messageKey: uuid('message_key').notNull(),
  receipt: jsonb('receipt').$type<Receipt>().notNull(),
  receivedAt: moment('received_at').notNull().defaultNow(),
})

/** The bytes of base64 media, in a table of their own so that no claim or look-up reads them. */
export const media = pgTable('media', {
  requestId: uuid('request_id').primaryKey(),
  content: bytea('content').notNull(),
  createdAt: moment('created_at').notNull().defaultNow(),
})

/** The messages that the sandbox provider accepted. */
export const sandboxMessages = pgTable(
  'sandbox_messages',
  {
    id: uuid('id').primaryKey(),
    requestId: uuid('request_id').notNull(),
    channelId: uuid('channel_id').notNull(),
    contactType: text('contact_type').$type<ContactType>().notNull(),
    contactValue: text('contact_value').notNull(),
    contactName: text('contact_name'),
    message: jsonb('message').$type<Message>().notNull(),
    mediaContent: bytea('media_content'),
    conversationId: uuid('conversation_id').notNull(),
    flowId: uuid('flow_id'),
    receivedAt: moment('received_at').notNull().defaultNow(),
  },
  (table) => [index('sandbox_messages_of_send').on(table.requestId)],
)

/** The time zones of phone numbers, by how they begin. Each migrate brings them up to date (db/delivery/phone-zones.ts). */
export const phoneZones = pgTable('phone_zones', {
  /** Digits, without the plus. The longest one counts. */
  prefix: text('prefix').primaryKey(),
  /** Their IANA names; empty if a number is of no place. */
  zones: text('zones').array().notNull(),
})
