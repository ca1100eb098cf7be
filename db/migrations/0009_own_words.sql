-- Dropped first: the lock that this takes is not to be asked for while another one is held.
DROP INDEX "sends_in_places";--> statement-breakpoint
DROP INDEX "sends_in_lanes";--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "sends_of_places" ON "sends" USING btree ("account_id","channel_id") WHERE coalesce(finished_at, 'infinity') = 'infinity' and not overflow;--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "sends_of_lanes" ON "sends" USING btree ("lane","seq") WHERE coalesce(finished_at, 'infinity') = 'infinity' and lane is not null;--> statement-breakpoint
-- Room on its page for the row that a claim writes: one that finds none writes to all indexes.
ALTER TABLE "sends" SET (fillfactor = 70);
