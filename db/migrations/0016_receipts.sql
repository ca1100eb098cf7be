-- Not valid: `migrate` checks the existing rows afterwards, without blocking reads and writes (db/migrate.ts).
ALTER TABLE "channels" ADD COLUMN "expects_receipts" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "channels" ADD COLUMN "receipt_at" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "channels" ADD COLUMN "awaits_receipt_since" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "sends" ADD COLUMN "delivery" text;--> statement-breakpoint
ALTER TABLE "sends" ADD COLUMN "delivery_at" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "sends" ADD COLUMN "receipt_keys" text[];--> statement-breakpoint
ALTER TABLE "sends" ADD COLUMN "pending_receipts" jsonb;--> statement-breakpoint
ALTER TABLE "sends" ADD CONSTRAINT "sends_delivery" CHECK ((delivery is null) = (delivery_at is null) and (delivery is null or status = 'sent' and delivery in ('undelivered', 'delivered', 'read'))) NOT VALID;