-- Not valid: `migrate` checks the existing rows afterwards, without blocking reads and writes (db/migrate.ts). Each table is
-- locked for a moment, `sends` last and for the shortest time.
ALTER INDEX IF EXISTS "turns_pkey" RENAME TO "permits_pkey";--> statement-breakpoint
ALTER TABLE "permits"
  ADD CONSTRAINT "permits_attempt" CHECK (attempt > 0) NOT VALID;--> statement-breakpoint
ALTER TABLE "conversations"
  ADD CONSTRAINT "conversations_closed" CHECK (closed_at is not null or closed_by is null) NOT VALID;--> statement-breakpoint
ALTER TABLE "channels"
  ADD CONSTRAINT "channels_held" CHECK (held_at is not null or (held_reason is null and deleted_at is null)) NOT VALID,
  ADD CONSTRAINT "channels_rate" CHECK ((rate_calls is null) = (rate_seconds is null)) NOT VALID,
  ADD CONSTRAINT "channels_limits" CHECK (least(rate_calls, rate_seconds, max_in_flight, expire_after_seconds) > 0) NOT VALID,
  ADD CONSTRAINT "channels_breaker" CHECK (breaker_openings >= 0) NOT VALID;--> statement-breakpoint
ALTER TABLE "sends"
  ADD CONSTRAINT "sends_status" CHECK (status in ('queued', 'sending', 'sent', 'failed', 'uncertain')) NOT VALID,
  ADD CONSTRAINT "sends_finished_at" CHECK ((finished_at is not null) = (status in ('sent', 'failed', 'uncertain'))) NOT VALID,
  ADD CONSTRAINT "sends_claim" CHECK (status <> 'sending' or (worker is not null and claim_id is not null and claimed_at is not null)) NOT VALID,
  ADD CONSTRAINT "sends_attempt_record" CHECK (attempt_record is null or finished_at is not null) NOT VALID,
  ADD CONSTRAINT "sends_failure" CHECK (failure is null or status in ('failed', 'uncertain')) NOT VALID,
  ADD CONSTRAINT "sends_attempts" CHECK (attempts_before_replay >= 0 and attempt >= attempts_before_replay) NOT VALID,
  ADD CONSTRAINT "sends_losses" CHECK (losses >= 0) NOT VALID;
