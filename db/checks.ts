import { sql } from 'drizzle-orm'
import { check } from 'drizzle-orm/pg-core'
import { ceilingPeriods, ceilingUnits } from '../src/core/accounts/ceiling.ts'
import { deliveryOrder } from '../src/core/receipts/receipt.ts'
import { sendStatuses } from '../src/core/sends/timeline.ts'
import { suppressionCauses } from '../src/core/suppression/suppression.ts'

const oneOf = (names: readonly string[]) => sql.raw(`(${names.map((name) => `'${name}'`).join(', ')})`)

/** The delivery states that a contact of any kind has. */
const deliveries = [...new Set(Object.values(deliveryOrder).flat())]

/*
 * The implications of a state: a statement that contradicts it fails. Migrations add these checks `not valid`, so that no table is locked
 * while its rows are read; `migrate` validates them afterwards (docs/how-to/add-a-migration.md).
 */

export const sendChecks = [
  check('sends_status', sql`status in ${oneOf(sendStatuses)}`),
  check(
    'sends_finished_at',
    sql`(finished_at is not null) = (status in ${oneOf(['sent', 'failed', 'uncertain', 'canceled'])})`,
  ),
  check(
    'sends_claim',
    sql`status <> 'sending' or (worker is not null and claim_id is not null and claimed_at is not null)`,
  ),
  check('sends_attempt_record', sql`attempt_record is null or finished_at is not null`),
  check('sends_failure', sql`failure is null or status in ${oneOf(['failed', 'uncertain'])}`),
  check('sends_attempts', sql`attempts_before_replay >= 0 and attempt >= attempts_before_replay`),
  check('sends_losses', sql`losses >= 0`),
  check(
    'sends_delivery',
    sql`(delivery is null) = (delivery_at is null) and (delivery is null or status = 'sent' and delivery in ${oneOf(deliveries)})`,
  ),
]

export const channelChecks = [
  check('channels_held', sql`held_at is not null or (held_reason is null and deleted_at is null)`),
  check('channels_rate', sql`(rate_calls is null) = (rate_seconds is null)`),
  check('channels_limits', sql`least(rate_calls, rate_seconds, max_in_flight, expire_after_seconds) > 0`),
  check('channels_breaker', sql`breaker_openings >= 0`),
  check(
    'channels_fallback',
    sql`fallback_channel_id is distinct from id and coalesce(fallback_within_seconds, 1) > 0 and (fallback_channel_id is not null or num_nonnulls(fallback_on, fallback_within_seconds) = 0)`,
  ),
]

export const ceilingChecks = [
  check(
    'ceilings_kind',
    sql`unit in ${oneOf(ceilingUnits)} and period in ${oneOf(ceilingPeriods)} and amount > 0 and used >= 0`,
  ),
]

export const conversationChecks = [
  check('conversations_closed', sql`closed_at is not null or closed_by is null`),
]

export const permitChecks = [check('permits_attempt', sql`attempt > 0`)]

export const callbackChecks = [
  check('callbacks_given_up', sql`not given_up or finished_at is not null`),
  check('callbacks_tries', sql`tried_before_resend >= 0 and tried >= tried_before_resend`),
]

export const suppressionChecks = [check('suppressions_cause', sql`cause in ${oneOf(suppressionCauses)}`)]
