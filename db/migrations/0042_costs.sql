CREATE TABLE "usage_costs" (
	"account_id" uuid NOT NULL,
	"day" date NOT NULL,
	"channel_id" uuid NOT NULL,
	"priority" "priority" NOT NULL,
	"currency" text NOT NULL,
	"amount" numeric NOT NULL,
	CONSTRAINT "usage_costs_account_id_day_channel_id_priority_currency_pk" PRIMARY KEY("account_id","day","channel_id","priority","currency")
);
--> statement-breakpoint
ALTER TABLE "send_count_changes" ADD COLUMN "currency" text;--> statement-breakpoint
ALTER TABLE "send_count_changes" ADD COLUMN "amount" numeric;--> statement-breakpoint
ALTER TABLE "sends" ADD COLUMN "costs" jsonb;--> statement-breakpoint
CREATE INDEX "usage_costs_by_day" ON "usage_costs" USING btree ("day");--> statement-breakpoint
-- From here on by hand. Its rows of the present day change often.
ALTER TABLE "usage_costs" SET (fillfactor = 70);--> statement-breakpoint
-- As 0040 has it, but with costs.
CREATE OR REPLACE FUNCTION "count_usage"() RETURNS trigger LANGUAGE plpgsql AS $$
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
  insert into usage_costs as u (account_id, day, channel_id, priority, currency, amount)
  select account_id, (hour at time zone 'UTC')::date, channel_id, priority, currency, sum(amount)
  from taken where currency is not null
  group by 1, 2, 3, 4, 5
  on conflict (account_id, day, channel_id, priority, currency) do update set
    amount = u.amount + excluded.amount;
  return null;
end
$$;
