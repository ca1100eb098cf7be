CREATE TABLE "ceilings" (
	"owner_id" uuid NOT NULL,
	"account_id" uuid NOT NULL,
	"unit" text NOT NULL,
	"period" text NOT NULL,
	"amount" bigint NOT NULL,
	"starts_at" timestamp with time zone DEFAULT '-infinity' NOT NULL,
	"used" bigint DEFAULT 0 NOT NULL,
	"reported" smallint DEFAULT 0 NOT NULL,
	CONSTRAINT "ceilings_owner_id_unit_period_pk" PRIMARY KEY("owner_id","unit","period"),
	CONSTRAINT "ceilings_kind" CHECK (unit in ('messages', 'segments') and period in ('hour', 'day', 'month') and amount > 0 and used >= 0)
);
--> statement-breakpoint
ALTER TABLE "callbacks" ADD COLUMN "data" jsonb;--> statement-breakpoint
ALTER TABLE "sends" ADD COLUMN "channel_counted_at" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "sends" ADD COLUMN "account_counted_at" timestamp with time zone;--> statement-breakpoint
-- By hand, as are all that follow: the present period of a ceiling. After a failover, the clock may be behind.
CREATE FUNCTION "ceiling_start"(period text, starts_at timestamptz, at timestamptz) RETURNS timestamptz LANGUAGE sql STABLE AS $$
  select greatest(starts_at, date_trunc(period, at, 'UTC'))
$$;--> statement-breakpoint
CREATE FUNCTION "ceiling_end"(period text, starts timestamptz) RETURNS timestamptz LANGUAGE sql STABLE AS $$
  select (starts at time zone 'UTC' + ('1 ' || period)::interval) at time zone 'UTC'
$$;--> statement-breakpoint
-- What a message takes of a ceiling. To a phone, one whose segments aren't known has one at least.
CREATE FUNCTION "ceiling_size"(unit text, contact_type text, segments smallint) RETURNS integer LANGUAGE sql IMMUTABLE AS $$
  select case when unit = 'messages' then 1 else coalesce(segments, case when contact_type = 'phone' then 1 else 0 end) end
$$;--> statement-breakpoint
-- The ceiling that a first attempt would pass whose period ends last; no row if it passes none.
CREATE FUNCTION "passed_ceiling"(account_id uuid, channel_id uuid, contact_type text, segments smallint, account_counted_at timestamptz, channel_counted_at timestamptz)
RETURNS TABLE (ends timestamptz, reason text) LANGUAGE plpgsql STABLE AS $$
begin
  return query
  select ceiling_end(c.period, c.starts),
         concat('the ceiling of ', c.amount, ' ', c.unit, '/', c.period, ' of the ',
                case c.owner_id when channel_id then 'channel' else 'account' end, ' until ',
                to_char(ceiling_end(c.period, c.starts) at time zone 'UTC', 'YYYY-MM-DD HH24:MI'), ' UTC')
  from (select o.*, ceiling_start(o.period, o.starts_at, clock_timestamp()) as starts
        from ceilings o where o.owner_id in (channel_id, passed_ceiling.account_id)) c
  where coalesce(case c.owner_id when channel_id then channel_counted_at else account_counted_at end < c.starts, true)
    and case when c.starts_at >= c.starts then c.used else 0 end + ceiling_size(c.unit, contact_type, segments) > c.amount
  order by 1 desc limit 1;
end
$$;
