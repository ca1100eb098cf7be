-- By hand: the type and the column may be there already (docs/how-to/upgrade.md#large-tables).
DO $$ begin
  create type "priority" as enum('urgent', 'normal', 'bulk');
exception when duplicate_object then null;
end $$;--> statement-breakpoint
ALTER TABLE "channels" ADD COLUMN "urgent_in_a_row" smallint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "channels" ADD COLUMN "normal_in_a_row" smallint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "scheduled_sends" ADD COLUMN "priority" "priority" DEFAULT 'normal' NOT NULL;--> statement-breakpoint
ALTER TABLE "sends" ADD COLUMN IF NOT EXISTS "priority" "priority" DEFAULT 'normal' NOT NULL;--> statement-breakpoint
-- By hand: it replaces sends_waiting, by which the previous release finds what waits of a channel in the order of its time. That
-- release sorts what waits until it is replaced (docs/decisions/0062-priority.md).
CREATE INDEX IF NOT EXISTS "sends_by_priority" ON "sends" USING btree ("channel_id","priority","next_attempt_at") WHERE finished_at is null;--> statement-breakpoint
DROP INDEX IF EXISTS "sends_waiting";--> statement-breakpoint
-- Likewise of sends_in_quota, of which the previous release needs the first columns.
CREATE INDEX IF NOT EXISTS "sends_in_quotas" ON "sends" USING btree ("account_id","channel_id","priority") WHERE coalesce(finished_at, 'infinity') = 'infinity' and not overflow;--> statement-breakpoint
DROP INDEX IF EXISTS "sends_in_quota";--> statement-breakpoint
-- As 0032 has it, but for the lane of urgent sends.
CREATE OR REPLACE FUNCTION "fold_lane"() RETURNS trigger LANGUAGE plpgsql AS $$
begin
  new.lane := hashtextextended(
    concat(new.channel_id, ' ', new.contact_type, ' ', lower(new.contact_value collate "C") collate "default",
           case when new.priority = 'urgent' then ' urgent' end), 0);
  return new;
end
$$;
