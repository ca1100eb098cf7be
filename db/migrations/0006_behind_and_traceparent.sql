ALTER TABLE "sends" ADD COLUMN "behind" uuid;--> statement-breakpoint
ALTER TABLE "sends" ADD COLUMN "traceparent" text;