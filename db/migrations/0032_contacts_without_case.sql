-- By hand, but for the column and the indexes (docs/decisions/0055-contacts-without-case.md). `sends` comes last: it is locked for the shortest time.
ALTER TABLE "suppressions" ADD COLUMN IF NOT EXISTS "contact_key" text;--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "suppressions_of_key" ON "suppressions" USING btree ((coalesce(suppressions.contact_key, lower(suppressions.contact_value collate "C") collate "default")),"account_id");--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "scheduled_sends_of_capitals" ON "scheduled_sends" USING hash ((lower(contact_value collate "C") collate "default")) WHERE contact_value <> lower(contact_value collate "C") collate "default";--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "conversations_of_capitals" ON "conversations" USING btree ("account_id",(lower(contact_value collate "C") collate "default")) WHERE contact_value <> lower(contact_value collate "C") collate "default";--> statement-breakpoint
-- Of the open conversations with one person, in several spellings, the newest stays open.
UPDATE "conversations" SET closed_at = now() WHERE id IN (
  WITH split AS (
    SELECT DISTINCT account_id, contact_type, lower(contact_value collate "C") collate "default" AS folded FROM "conversations"
    WHERE closed_at IS NULL AND contact_value <> lower(contact_value collate "C") collate "default"),
  theirs AS (
    SELECT c.id, split.* FROM split JOIN "conversations" c USING (account_id, contact_type)
    WHERE c.closed_at IS NULL AND c.contact_value = split.folded
    UNION ALL
    SELECT c.id, split.* FROM split JOIN "conversations" c USING (account_id, contact_type)
    WHERE c.closed_at IS NULL AND c.contact_value <> lower(c.contact_value collate "C") collate "default"
      AND lower(c.contact_value collate "C") collate "default" = split.folded)
  SELECT id FROM (
    SELECT id, row_number() OVER (PARTITION BY account_id, contact_type, folded ORDER BY id DESC) AS place FROM theirs) open
  WHERE place > 1);--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "sends_of_capitals" ON "sends" USING hash ((lower(contact_value collate "C") collate "default")) WHERE contact_value <> lower(contact_value collate "C") collate "default";--> statement-breakpoint
-- Puts what the previous release accepts into the lane of all spellings; this release does it itself.
CREATE FUNCTION "fold_lane"() RETURNS trigger LANGUAGE plpgsql AS $$
begin
  new.lane := hashtextextended(
    concat(new.channel_id, ' ', new.contact_type, ' ', lower(new.contact_value collate "C") collate "default"), 0);
  return new;
end
$$;--> statement-breakpoint
CREATE TRIGGER "fold_lane" BEFORE INSERT OR UPDATE OF "lane" ON "sends" FOR EACH ROW
  WHEN (new.lane is not null and new.contact_value <> lower(new.contact_value collate "C") collate "default")
  EXECUTE FUNCTION "fold_lane"();--> statement-breakpoint
-- And so what waits: the trigger sets the lane.
UPDATE "sends" SET lane = lane
WHERE coalesce(finished_at, 'infinity') = 'infinity' AND lane IS NOT NULL
  AND contact_value <> lower(contact_value collate "C") collate "default";
