CREATE TABLE "counted_since" (
	"only_row" boolean PRIMARY KEY DEFAULT true NOT NULL,
	"since" timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "failure_counts" (
	"hour" timestamp with time zone NOT NULL,
	"channel_id" uuid NOT NULL,
	"account_id" uuid NOT NULL,
	"state" text NOT NULL,
	"reason" text NOT NULL,
	"code" text NOT NULL,
	"sends" integer NOT NULL,
	CONSTRAINT "failure_counts_hour_channel_id_state_reason_code_pk" PRIMARY KEY("hour","channel_id","state","reason","code")
);
--> statement-breakpoint
CREATE TABLE "send_count_changes" (
	"account_id" uuid NOT NULL,
	"channel_id" uuid NOT NULL,
	"hour" timestamp with time zone NOT NULL,
	"counted_as" text NOT NULL,
	"change" integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE "send_counts" (
	"hour" timestamp with time zone NOT NULL,
	"channel_id" uuid NOT NULL,
	"account_id" uuid NOT NULL,
	"accepted" integer NOT NULL,
	"sent" integer NOT NULL,
	"delivered" integer NOT NULL,
	"read" integer NOT NULL,
	"undelivered" integer NOT NULL,
	"failed" integer NOT NULL,
	"uncertain" integer NOT NULL,
	"canceled" integer NOT NULL,
	CONSTRAINT "send_counts_hour_channel_id_pk" PRIMARY KEY("hour","channel_id")
);
--> statement-breakpoint
ALTER TABLE "channels" ADD COLUMN "shown_config" json;--> statement-breakpoint
-- From here on by hand, except for the column of `sends` (docs/decisions/0052-counters.md). `sends` comes last: it is locked for the shortest time.
-- A statement that appends must not wait until a vacuum has cut the table's end off.
ALTER TABLE "send_count_changes" SET (vacuum_truncate = off);--> statement-breakpoint
-- Its rows of the present hour change often.
ALTER TABLE "send_counts" SET (fillfactor = 70);--> statement-breakpoint
-- Scheduled sends are counted here until they leave their table.
CREATE FUNCTION "count_scheduled_sends"() RETURNS trigger LANGUAGE plpgsql AS $$
begin
  insert into send_count_changes
  select account_id, channel_id, date_trunc('hour', accepted_at, 'UTC'), 'accepted',
         case tg_op when 'INSERT' then count(*) else -count(*) end
  from changed group by 1, 2, 3;
  return null;
end
$$;--> statement-breakpoint
CREATE TRIGGER "count_scheduled" AFTER INSERT ON "scheduled_sends" REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION "count_scheduled_sends"();--> statement-breakpoint
CREATE TRIGGER "count_taken" AFTER DELETE ON "scheduled_sends" REFERENCING OLD TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION "count_scheduled_sends"();--> statement-breakpoint
-- Those that are scheduled already.
INSERT INTO "send_count_changes"
  SELECT account_id, channel_id, date_trunc('hour', accepted_at, 'UTC'), 'accepted', count(*)
  FROM "scheduled_sends" GROUP BY 1, 2, 3;--> statement-breakpoint
ALTER TABLE "sends" ADD COLUMN "counted_as" text;--> statement-breakpoint
-- What a send is counted as: `waiting`, its end, or END/REASON/CODE of one that went wrong. The reason is whose fault it was, or what
-- ended it without a call; it is cut where texts may begin to differ from send to send.
CREATE FUNCTION "counted_as"(status text, delivery text, failure text, record json, reported_code text)
RETURNS text LANGUAGE sql IMMUTABLE AS $$
  select case status
    when 'queued' then 'waiting'
    when 'sending' then 'waiting'
    when 'canceled' then 'canceled'
    when 'sent' then case when delivery = 'undelivered' then 'undelivered//' || coalesce(left(reported_code, 64), '')
                          else coalesce(delivery, 'sent') end
    else status || '/'
      || coalesce(record->>'fault', case when failure like 'worker %' then 'its worker was lost'
                                         else translate(left(substring(failure from '^[^:;]*'), 60), '/', ' ') end, '')
      || '/' || coalesce(left(coalesce(record->>'providerCode', record->>'providerStatus'), 64), '')
  end
$$;--> statement-breakpoint
-- Counts for statements that don't: those of the previous release, of operators, and of the mover of scheduled sends.
CREATE FUNCTION "count_send"() RETURNS trigger LANGUAGE plpgsql AS $$
declare
  -- The channel of the request.
  channel uuid := coalesce(new.former_channels[1], new.channel_id);
  at_hour timestamptz := date_trunc('hour', new.accepted_at, 'UTC');
  counted text := counted_as(new.status, new.delivery, new.failure, new.attempt_record, case when new.delivery = 'undelivered' then
    (select e.fields->>'providerCode' from send_events e
     where e.request_id = new.request_id and e.event = 'undelivered'
     order by e.at desc limit 1) end);
begin
  if tg_op = 'INSERT' then
    insert into send_count_changes values (new.account_id, channel, at_hour, 'accepted', 1);
    new.counted_as := 'waiting';
  end if;
  insert into send_count_changes
  select new.account_id, channel, at_hour, e.counted_as, e.change
  from (values (counted, 1), (new.counted_as, -1)) e (counted_as, change)
  where counted <> new.counted_as and e.counted_as <> 'waiting';
  if tg_op = 'INSERT' then
    new.counted_as := counted;
  else
    update sends set counted_as = counted where request_id = new.request_id and counted_as <> counted;
  end if;
  return new;
end
$$;--> statement-breakpoint
CREATE TRIGGER "count_inserted" BEFORE INSERT ON "sends" FOR EACH ROW WHEN (new.counted_as is null)
  EXECUTE FUNCTION "count_send"();--> statement-breakpoint
CREATE TRIGGER "count_changed" AFTER UPDATE OF "finished_at", "delivery" ON "sends" FOR EACH ROW
  WHEN (new.counted_as = old.counted_as and (new.finished_at is distinct from old.finished_at or new.delivery is distinct from old.delivery))
  EXECUTE FUNCTION "count_send"();--> statement-breakpoint
INSERT INTO "counted_since" DEFAULT VALUES;
