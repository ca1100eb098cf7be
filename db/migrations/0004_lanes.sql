ALTER TABLE "channels" ADD COLUMN "ordering" text DEFAULT 'contact' NOT NULL;--> statement-breakpoint
ALTER TABLE "sends" ADD COLUMN "lane" bigint;--> statement-breakpoint
CREATE INDEX "sends_in_lanes" ON "sends" USING btree ("lane","seq") WHERE finished_at is null and lane is not null;