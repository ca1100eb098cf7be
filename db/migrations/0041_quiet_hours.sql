CREATE TABLE "phone_zones" (
	"prefix" text PRIMARY KEY NOT NULL,
	"zones" text[] NOT NULL
);
--> statement-breakpoint
ALTER TABLE "channels" ADD COLUMN "quiet_hours" jsonb;--> statement-breakpoint
-- By hand, as are all that follow: when a time of day that is quiet in a zone ends, by its local clock; null if it isn't quiet then.
CREATE FUNCTION "quiet_end"("from" time, until time, zone text, at timestamptz) RETURNS timestamptz LANGUAGE plpgsql STABLE AS $$
declare
  local_at timestamp := at at time zone zone;
  clock time := local_at::time;
  quiet boolean := case when "from" < until then clock >= "from" and clock < until else clock >= "from" or clock < until end;
  ends timestamptz;
begin
  if not quiet then return null; end if;
  ends := (local_at::date + until + case when clock < until then interval '0' else interval '1 day' end) at time zone zone;
  -- In an hour that the clock shows twice, that may be its first time. The next look is a little later.
  return case when ends > at then ends else at + interval '15 minutes' end;
end
$$;--> statement-breakpoint
-- The zones whose clocks count for a contact.
CREATE FUNCTION "quiet_zones"(hours jsonb, contact_type text, contact_value text) RETURNS text[] LANGUAGE plpgsql STABLE AS $$
declare
  own text[];
begin
  if (hours->>'byContact')::boolean and contact_type = 'phone' then
    select nullif(zones, '{}') into own from phone_zones
    where prefix = any(select substr(contact_value, 2, digits) from generate_series(1, 9) digits)
    order by length(prefix) desc limit 1;
  end if;
  return coalesce(own, array[hours->>'zone']);
end
$$;--> statement-breakpoint
-- When a send of a channel with these hours may be called again; null if it may be called now and within the next second.
CREATE FUNCTION "quiet_until"(hours jsonb, priority priority, contact_type text, contact_value text, at timestamptz DEFAULT clock_timestamp())
RETURNS timestamptz LANGUAGE plpgsql STABLE STRICT AS $$
declare
  zones text[];
  ends timestamptz;
  following timestamptz;
begin
  if not hours->'priorities' ? priority::text then return null; end if;
  zones := quiet_zones(hours, contact_type, contact_value);
  select coalesce(max(quiet_end((hours->>'from')::time, (hours->>'until')::time, zone, at)),
                  max(quiet_end((hours->>'from')::time, (hours->>'until')::time, zone, at + interval '1 s')))
  into following from unnest(zones) zone;
  -- At the end in one zone, another one may be quiet.
  for turn in 1..50 loop
    exit when following is null;
    ends := following;
    select max(quiet_end((hours->>'from')::time, (hours->>'until')::time, zone, ends)) into following from unnest(zones) zone;
  end loop;
  return ends;
end
$$;
