-- The previous release doesn't write `canceled`. The new checks are not valid at first: `migrate` checks the existing rows
-- afterwards, without blocking reads and writes (db/migrate.ts).
CREATE TABLE "scheduled_sends" (
	"request_id" uuid PRIMARY KEY NOT NULL,
	"seq" bigint GENERATED ALWAYS AS IDENTITY (sequence name "scheduled_sends_seq_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"account_id" uuid NOT NULL,
	"channel_id" uuid NOT NULL,
	"contact_type" text NOT NULL,
	"contact_value" text NOT NULL,
	"contact_name" text,
	"message_type" text NOT NULL,
	"message" jsonb NOT NULL,
	"flow_id" uuid,
	"close_conversation" boolean NOT NULL,
	"accepted_at" timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
	"traceparent" text,
	"reference" text,
	"send_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE INDEX "scheduled_sends_due" ON "scheduled_sends" USING btree ("send_at","seq");--> statement-breakpoint
CREATE INDEX "scheduled_sends_of_account" ON "scheduled_sends" USING btree ("account_id","accepted_at","request_id");--> statement-breakpoint
CREATE INDEX "scheduled_sends_of_contact" ON "scheduled_sends" USING hash ("contact_value");--> statement-breakpoint
CREATE INDEX "scheduled_sends_of_reference" ON "scheduled_sends" USING btree ("reference","account_id","accepted_at","request_id") WHERE reference is not null;--> statement-breakpoint
ALTER TABLE "idempotency_keys" ADD COLUMN "batch" uuid[];--> statement-breakpoint
CREATE INDEX "idempotency_keys_of_batches" ON "idempotency_keys" USING btree ((batch[1])) WHERE batch is not null;--> statement-breakpoint
ALTER TABLE "sends"
  ADD COLUMN IF NOT EXISTS "reference" text,
  ADD COLUMN "send_at" timestamp with time zone,
  DROP CONSTRAINT "sends_status",
  DROP CONSTRAINT "sends_finished_at",
  ADD CONSTRAINT "sends_status" CHECK (status in ('queued', 'sending', 'sent', 'failed', 'uncertain', 'canceled')) NOT VALID,
  ADD CONSTRAINT "sends_finished_at" CHECK ((finished_at is not null) = (status in ('sent', 'failed', 'uncertain', 'canceled'))) NOT VALID;--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "sends_of_account" ON "sends" USING btree ("account_id","accepted_at","request_id");--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "sends_of_reference" ON "sends" USING btree ("reference","account_id","accepted_at","request_id") WHERE reference is not null;
