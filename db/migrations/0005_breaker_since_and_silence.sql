ALTER TABLE "channels" ADD COLUMN "answered_at" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "channels" ADD COLUMN "breaker_opened_at" timestamp with time zone;