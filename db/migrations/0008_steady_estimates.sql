-- How many sends are unfinished changes faster than anybody counts. Uncounted, PostgreSQL takes them for one in 200,
-- whenever it last looked at the table (docs/decisions/0036-steady-estimates.md).
ALTER TABLE "sends" ALTER COLUMN "finished_at" SET STATISTICS 0;--> statement-breakpoint
DO $$
BEGIN
  PERFORM pg_clear_attribute_stats(n.nspname, c.relname, 'finished_at', false)
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = '"sends"'::regclass;
EXCEPTION WHEN undefined_function THEN
  -- Before PostgreSQL 18 old counts can't be cleared: they go on being renewed.
  ALTER TABLE "sends" ALTER COLUMN "finished_at" SET STATISTICS -1;
END $$;
