ALTER TABLE "scheduled_sends" ADD COLUMN "expires_in_seconds" integer;--> statement-breakpoint
ALTER TABLE "scheduled_sends" ADD COLUMN "metadata" jsonb;--> statement-breakpoint
ALTER TABLE "sends" ADD COLUMN "expires_in_seconds" integer;--> statement-breakpoint
ALTER TABLE "sends" ADD COLUMN "metadata" jsonb;