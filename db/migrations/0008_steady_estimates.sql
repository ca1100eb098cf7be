-- The number of unfinished sends changes faster than PostgreSQL analyzes the table. Without statistics of the column, it always
-- estimates one in 200 (docs/decisions/0036-steady-estimates.md).
ALTER TABLE "sends" ALTER COLUMN "finished_at" SET STATISTICS 0;--> statement-breakpoint
DO $$
BEGIN
  PERFORM pg_clear_attribute_stats(n.nspname, c.relname, 'finished_at', false)
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = '"sends"'::regclass;
EXCEPTION WHEN undefined_function THEN
  -- Before PostgreSQL 18, existing statistics can't be cleared, so they have to be updated.
  ALTER TABLE "sends" ALTER COLUMN "finished_at" SET STATISTICS -1;
END $$;
