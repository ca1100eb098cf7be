CREATE TABLE "usage_counts" (
	"account_id" uuid NOT NULL,
	"day" date NOT NULL,
	"channel_id" uuid NOT NULL,
	"accepted" integer NOT NULL,
	"sent" integer NOT NULL,
	"delivered" integer NOT NULL,
	"read" integer NOT NULL,
	"undelivered" integer NOT NULL,
	"failed" integer NOT NULL,
	"uncertain" integer NOT NULL,
	"canceled" integer NOT NULL,
	"priority" "priority" NOT NULL,
	"segments" bigint NOT NULL,
	CONSTRAINT "usage_counts_account_id_day_channel_id_priority_pk" PRIMARY KEY("account_id","day","channel_id","priority")
);
--> statement-breakpoint
ALTER TABLE "send_count_changes" ADD COLUMN "segments" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "send_count_changes" ADD COLUMN "priority" "priority" DEFAULT 'normal' NOT NULL;--> statement-breakpoint
CREATE INDEX "usage_counts_by_day" ON "usage_counts" USING btree ("day");--> statement-breakpoint
-- From here on by hand. Its rows of the present day change often.
ALTER TABLE "usage_counts" SET (fillfactor = 70);--> statement-breakpoint
-- What is counted already, by day. The changes that are not added up yet come by the trigger.
INSERT INTO "usage_counts" (account_id, day, channel_id, priority, accepted, sent, delivered, read, undelivered, failed, uncertain, canceled, segments)
  SELECT account_id, (hour at time zone 'UTC')::date, channel_id, 'normal', sum(accepted), sum(sent), sum(delivered), sum(read), sum(undelivered), sum(failed), sum(uncertain), sum(canceled), 0
  FROM "send_counts" WHERE account_id <> '00000000-0000-0000-0000-000000000000' GROUP BY 1, 2, 3;--> statement-breakpoint
-- A trigger, so that no change is missed that the previous release adds up.
CREATE FUNCTION "count_usage"() RETURNS trigger LANGUAGE plpgsql AS $$
begin
  insert into usage_counts as u (account_id, day, channel_id, priority, accepted, sent, delivered, read, undelivered, failed, uncertain, canceled, segments)
  select account_id, (hour at time zone 'UTC')::date, channel_id, priority,
         coalesce(sum(change) filter (where state = 'accepted'), 0),
         coalesce(sum(change) filter (where state = 'sent'), 0),
         coalesce(sum(change) filter (where state = 'delivered'), 0),
         coalesce(sum(change) filter (where state = 'read'), 0),
         coalesce(sum(change) filter (where state = 'undelivered'), 0),
         coalesce(sum(change) filter (where state = 'failed'), 0),
         coalesce(sum(change) filter (where state = 'uncertain'), 0),
         coalesce(sum(change) filter (where state = 'canceled'), 0),
         sum(segments)
  from (select *, split_part(counted_as, '/', 1) as state from taken) t
  group by 1, 2, 3, 4
  on conflict (account_id, day, channel_id, priority) do update set
    accepted = u.accepted + excluded.accepted,
    sent = u.sent + excluded.sent,
    delivered = u.delivered + excluded.delivered,
    read = u.read + excluded.read,
    undelivered = u.undelivered + excluded.undelivered,
    failed = u.failed + excluded.failed,
    uncertain = u.uncertain + excluded.uncertain,
    canceled = u.canceled + excluded.canceled,
    segments = u.segments + excluded.segments;
  return null;
end
$$;--> statement-breakpoint
CREATE TRIGGER "count_usage" AFTER DELETE ON "send_count_changes" REFERENCING OLD TABLE AS taken
  FOR EACH STATEMENT EXECUTE FUNCTION "count_usage"();--> statement-breakpoint
-- As 0026 has them, but with segments and priority.
CREATE OR REPLACE FUNCTION "count_scheduled_sends"() RETURNS trigger LANGUAGE plpgsql AS $$
begin
  insert into send_count_changes
  select account_id, channel_id, date_trunc('hour', accepted_at, 'UTC'), 'accepted',
         case tg_op when 'INSERT' then count(*) else -count(*) end,
         coalesce(case tg_op when 'INSERT' then sum(segments) else -sum(segments) end, 0), priority
  from changed group by account_id, channel_id, 3, priority;
  return null;
end
$$;--> statement-breakpoint
CREATE OR REPLACE FUNCTION "count_send"() RETURNS trigger LANGUAGE plpgsql AS $$
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
    insert into send_count_changes values (new.account_id, channel, at_hour, 'accepted', 1, coalesce(new.segments, 0), new.priority);
    new.counted_as := 'waiting';
  end if;
  insert into send_count_changes
  select new.account_id, channel, at_hour, e.counted_as, e.change, 0, new.priority
  from (values (counted, 1), (new.counted_as, -1)) e (counted_as, change)
  where counted <> new.counted_as and e.counted_as <> 'waiting';
  if tg_op = 'INSERT' then
    new.counted_as := counted;
  else
    update sends set counted_as = counted where request_id = new.request_id and counted_as <> counted;
  end if;
  return new;
end
$$;