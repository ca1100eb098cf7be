ALTER TABLE "scheduled_sends" ADD COLUMN "api_key_id" uuid;--> statement-breakpoint
ALTER TABLE "sends" ADD COLUMN "api_key_id" uuid;