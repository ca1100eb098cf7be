CREATE TABLE "idempotency_keys" (
	"hash" "bytea" PRIMARY KEY NOT NULL,
	"fingerprint" "bytea" NOT NULL,
	"request_id" uuid NOT NULL,
	"created_at" timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "workers" (
	"name" text PRIMARY KEY NOT NULL,
	"started_at" timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
	"alive_until" timestamp with time zone NOT NULL
);
--> statement-breakpoint
ALTER TABLE "channels" ADD COLUMN "expire_after_seconds" integer;--> statement-breakpoint
ALTER TABLE "sends" ADD COLUMN "expires_at" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "sends" ADD COLUMN "attempts_before_replay" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "sends" ADD COLUMN "losses" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
CREATE INDEX "idempotency_keys_by_age" ON "idempotency_keys" USING btree ("created_at");--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "conversations_closed" ON "conversations" USING btree ("closed_at") WHERE closed_at is not null;--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "sends_expiring" ON "sends" USING btree ("expires_at") WHERE finished_at is null and expires_at is not null;--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "sends_not_sent" ON "sends" USING btree ("channel_id","seq") WHERE failure is not null;