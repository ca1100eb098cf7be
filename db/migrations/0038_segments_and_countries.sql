ALTER TABLE "channels" ADD COLUMN "countries" text[];--> statement-breakpoint
ALTER TABLE "scheduled_sends" ADD COLUMN "segments" smallint;--> statement-breakpoint
ALTER TABLE "scheduled_sends" ADD COLUMN "encoding" text;--> statement-breakpoint
ALTER TABLE "sends" ADD COLUMN "segments" smallint;--> statement-breakpoint
ALTER TABLE "sends" ADD COLUMN "encoding" text;