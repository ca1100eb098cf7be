-- Dropped first, so that no other lock is held while this one is requested.
DROP INDEX "sends_in_places";--> statement-breakpoint
DROP INDEX "sends_in_lanes";--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "sends_of_places" ON "sends" USING btree ("account_id","channel_id") WHERE coalesce(finished_at, 'infinity') = 'infinity' and not overflow;--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "sends_of_lanes" ON "sends" USING btree ("lane","seq") WHERE coalesce(finished_at, 'infinity') = 'infinity' and lane is not null;--> statement-breakpoint
-- Space on each page for the row version that a claim writes. Without it, the claim would also write to all indexes.
ALTER TABLE "sends" SET (fillfactor = 70);
