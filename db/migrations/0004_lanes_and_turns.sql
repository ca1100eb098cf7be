CREATE TABLE "turns" (
	"request_id" uuid PRIMARY KEY NOT NULL,
	"channel_id" uuid NOT NULL,
	"attempt" integer NOT NULL,
	"call_at" timestamp with time zone,
	"valid_until" timestamp with time zone NOT NULL,
	"is_probe" boolean NOT NULL
);
--> statement-breakpoint
ALTER TABLE "channels" ADD COLUMN "ordering" text DEFAULT 'contact' NOT NULL;--> statement-breakpoint
ALTER TABLE "channels" ADD COLUMN "rate_calls" integer;--> statement-breakpoint
ALTER TABLE "channels" ADD COLUMN "rate_seconds" integer;--> statement-breakpoint
ALTER TABLE "channels" ADD COLUMN "max_in_flight" integer;--> statement-breakpoint
ALTER TABLE "channels" ADD COLUMN "next_call_at" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "channels" ADD COLUMN "breaker_open_until" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "channels" ADD COLUMN "breaker_openings" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "sends" ADD COLUMN "lane" bigint;--> statement-breakpoint
ALTER TABLE "sends" ADD COLUMN "overflow" boolean DEFAULT false NOT NULL;--> statement-breakpoint
CREATE INDEX "turns_of_channel" ON "turns" USING btree ("channel_id");--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "sends_waiting" ON "sends" USING btree ("channel_id","next_attempt_at") WHERE finished_at is null;--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "sends_in_places" ON "sends" USING btree ("account_id","channel_id") WHERE finished_at is null and not overflow;--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "sends_in_lanes" ON "sends" USING btree ("lane","seq") WHERE finished_at is null and lane is not null;--> statement-breakpoint
DROP INDEX "sends_unfinished";
