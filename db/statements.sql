-- The service's prepared statements, as PostgreSQL gets them. Written by `npm run statements`, not by hand:
-- their sources are the files of db/ that call `prepared`.

-- accepted_by_hour: Counts the accepted sends of channels by the hour.
-- $1: the hours; $2: the channels.
select c.channel_id as "channelId", c.hour, sum(c.accepted)::int as accepted
from (
  select hour, channel_id, accepted, sent, delivered, read, undelivered, failed, uncertain, canceled
  from (select distinct unnest($2::uuid[])) wanted (id) cross join lateral (
      select * from send_counts
      where channel_id = wanted.id
        and hour between (select min(h) from unnest($1::timestamptz[]) h)
                   and (select max(h) from unnest($1::timestamptz[]) h) offset 0) counts
  union all
  select hour, channel_id,
         case when state = 'accepted' then change else 0 end as accepted,
         case when state = 'sent' then change else 0 end as sent,
         case when state = 'delivered' then change else 0 end as delivered,
         case when state = 'read' then change else 0 end as read,
         case when state = 'undelivered' then change else 0 end as undelivered,
         case when state = 'failed' then change else 0 end as failed,
         case when state = 'uncertain' then change else 0 end as uncertain,
         case when state = 'canceled' then change else 0 end as canceled
  from (
    select hour, channel_id,
           split_part(counted_as, '/', 1) as state, change
    from send_count_changes
    where hour between (select min(h) from unnest($1::timestamptz[]) h)
               and (select max(h) from unnest($1::timestamptz[]) h)
      and channel_id = any($2::uuid[])
    offset 0) changes) c
group by c.channel_id, c.hour;

-- account_progress: Finds how far the set-up of an account is.
with own as (
  select id from channels where account_id = $1 and deleted_at is null order by created_at limit 100)
select (select id from own limit 1) as "channelId",
       exists (select from audit t where t.target in (select id::text from own) and t.action = 'channel.try')
         as "isTried",
       exists (select from api_keys k
               where k.account_id = $1 and k.revoked_at is null and (k.expires_at > now()) is not false)
         as "hasKey",
       exists (select from (select api_key_id from sends where account_id = $1
                            order by accepted_at desc limit 100) s
               where s.api_key_id is not null) as "hasSent";

-- add_suppression: Adds an entry to an account's list of contacts that get nothing, unless it is there.
-- $1: the account; $2: the contact; $3: the key of hashes; $4: the channel; $5: the id of a new entry; $6: the kind
-- of the contact; $7: why.
with
-- The existing entry.
same as (
  select e.* from suppressions e
  where e.account_id = $1::uuid
    and coalesce(e.contact_key,
        lower(e.contact_value collate "C") collate "default") = any(
      case when (select exists (
           select from suppressions where erased_at is not null)) then
        array[lower($2::text collate "C") collate "default",
              'erased:' || encode(sha256(
                substring($3::bytea from 65)
                  || sha256(substring($3::bytea for 64)
                    || convert_to($1::uuid || ' '
                    || lower($2::text collate "C") collate "default", 'UTF8'))), 'hex'),
              case when $2::text <> lower($2::text collate "C") collate "default" then
                'erased:' || encode(sha256(
                  substring($3::bytea from 65)
                    || sha256(substring($3::bytea for 64)
                      || convert_to($1::uuid || ' '
                      || $2::text, 'UTF8'))), 'hex') end]
      else array[lower($2::text collate "C") collate "default"] end)
    and e.channel_id is not distinct from $4::uuid
  order by e.contact_value = coalesce(e.contact_key,
      lower(e.contact_value collate "C") collate "default") desc, e.id
  limit 1),
-- The new one.
added as (
  insert into suppressions (id, account_id, contact_type, contact_value, channel_id, cause, reason)
  select $5::uuid, $1::uuid, $6::text, $2::text, $4::uuid, 'manual', $7::text
  where not exists (select from same)
  on conflict do nothing
  returning *),
-- Its contact's waiting sends are to be failed.
checked as (
  insert into suppression_checks (account_id, contact_value)
  select account_id, contact_value from added)
select e.id as "suppressionId", e.contact_type as "contactType",
  case when e.erased_at is null then e.contact_value end as "contactValue",
  e.channel_id as "channelId", e.cause, e.reason, e.request_id as "requestId", e.created_at as "createdAt"
from (select * from same union all select * from added) e;

-- agree_on_queue_shards: Records the number of shards of a worker: if there is none yet; if the worker names the number in force as its former one,
   which begins a change; or if it has the number in force and names no former one, which ends a change.
insert into queue_shards as in_force (count) values ($1::int)
on conflict (only_row) do update set count = $1::int, previous = $2::int
where in_force.count = $2::int or (in_force.count = $1::int and $2::int is null and in_force.previous is not null);

-- audit_by_time: Lists a page of all changes.
-- $1: the target, null for all; $2: the person; $3: the action; $4: since when; $5: before this time, in microseconds;
-- $6: of those, before this row; $7: how many to look at; $8: the limit of the page, and one more.
with
-- The next rows, matching or not, so that every page takes about the same time.
looked_at as materialized (
  select a.* from audit a
  where true and a.at >= $4::timestamptz
    and (a.at, a.id) < (coalesce(timestamptz 'epoch' + $5::float8 * interval '1 microsecond', 'infinity'), $6::uuid)
  order by a.at desc, a.id desc limit (select $7::int)),
page as materialized (
  select * from looked_at l
  where coalesce(l.target = $1::text, $1 is null) and coalesce(l.by = $2::text, true)
      and coalesce(l.action = $3::text, true)
  order by l.at desc, l.id desc limit $8),
-- The last one that was looked at, if there may be more.
last as materialized (
  select * from looked_at l
  order by l.at desc, l.id desc offset (select $7::int - 1) limit 1)
select p.at, p.by, p.via, p.address, p.action, p.target, p.details, p.id,
       (extract(epoch from p.at) * 1000000)::bigint::text as micros,
       last.id as "endId", (extract(epoch from last.at) * 1000000)::bigint::text as "endMicros"
from (select) one left join last on true left join page p on true
order by p.at desc, p.id desc;

-- audit_of_contact: Lists the newest rows about a contact, by the ids of what it has: the audit never has the contact itself.
-- $1: ids, and paths of pages; $2: the limit.
select distinct found.*
from unnest($1::text[]) given (id) cross join lateral (
  (select a.* from audit a
    where a.target = given.id
    order by a.at desc, a.id desc limit (select $2::int))
  union all
  (select a.* from audit a
    where coalesce(a.details->>'conversationId', a.details->>'requestId', a.details->>'suppressionId') = given.id
    order by a.at desc, a.id desc limit (select $2::int))) found
order by found.at desc, found.id desc limit $2;

-- audit_of_person: Lists a page of a person's changes.
-- $1: the target, null for all; $2: the person; $3: the action; $4: since when; $5: before this time, in microseconds;
-- $6: of those, before this row; $7: how many to look at; $8: the limit of the page, and one more.
with
-- The next rows, matching or not, so that every page takes about the same time.
looked_at as materialized (
  select a.* from audit a
  where a.by = $2 and a.at >= $4::timestamptz
    and (a.at, a.id) < (coalesce(timestamptz 'epoch' + $5::float8 * interval '1 microsecond', 'infinity'), $6::uuid)
  order by a.at desc, a.id desc limit (select $7::int)),
page as materialized (
  select * from looked_at l
  where coalesce(l.target = $1::text, $1 is null) and coalesce(l.by = $2::text, true)
      and coalesce(l.action = $3::text, true)
  order by l.at desc, l.id desc limit $8),
-- The last one that was looked at, if there may be more.
last as materialized (
  select * from looked_at l
  order by l.at desc, l.id desc offset (select $7::int - 1) limit 1)
select p.at, p.by, p.via, p.address, p.action, p.target, p.details, p.id,
       (extract(epoch from p.at) * 1000000)::bigint::text as micros,
       last.id as "endId", (extract(epoch from last.at) * 1000000)::bigint::text as "endMicros"
from (select) one left join last on true left join page p on true
order by p.at desc, p.id desc;

-- audit_of_target: Lists a page of the changes of a target.
-- $1: the target, null for all; $2: the person; $3: the action; $4: since when; $5: before this time, in microseconds;
-- $6: of those, before this row; $7: how many to look at; $8: the limit of the page, and one more.
with
-- The next rows, matching or not, so that every page takes about the same time.
looked_at as materialized (
  select a.* from audit a
  where a.target = $1 and a.at >= $4::timestamptz
    and (a.at, a.id) < (coalesce(timestamptz 'epoch' + $5::float8 * interval '1 microsecond', 'infinity'), $6::uuid)
  order by a.at desc, a.id desc limit (select $7::int)),
page as materialized (
  select * from looked_at l
  where coalesce(l.target = $1::text, $1 is null) and coalesce(l.by = $2::text, true)
      and coalesce(l.action = $3::text, true)
  order by l.at desc, l.id desc limit $8),
-- The last one that was looked at, if there may be more.
last as materialized (
  select * from looked_at l
  order by l.at desc, l.id desc offset (select $7::int - 1) limit 1)
select p.at, p.by, p.via, p.address, p.action, p.target, p.details, p.id,
       (extract(epoch from p.at) * 1000000)::bigint::text as micros,
       last.id as "endId", (extract(epoch from last.at) * 1000000)::bigint::text as "endMicros"
from (select) one left join last on true left join page p on true
order by p.at desc, p.id desc;

-- await_receipts: Notes since when channels have sent messages without a receipt.
with given as materialized (
    select c.id, given.at
    from json_to_recordset($1) as given ("channelId" uuid, at timestamptz) join channels c on c.id = given."channelId"
    order by c.id
    for no key update of c)
update channels c set awaits_receipt_since = given.at
from given
where c.id = given.id and c.expects_receipts and c.awaits_receipt_since is null
  and coalesce(c.receipt_at < given.at, true);

-- backlog_of_callbacks: Counts the callbacks that wait, and how long the oldest have been due, for metrics.
select count(*) filter (where e.disabled_at is null and c.next_try_at <= clock_timestamp())::int as due,
       count(*) filter (where e.disabled_at is null and c.next_try_at > clock_timestamp())::int as later,
       count(*) filter (where e.disabled_at is not null)::int as disabled,
       greatest(0, coalesce(extract(epoch from clock_timestamp() - min(c.next_try_at)
         filter (where e.disabled_at is null and e.failing_since is null and coalesce((
             select false from callbacks earlier
             where earlier.endpoint_id = c.endpoint_id and earlier.request_id = c.request_id
               and earlier.sequence < c.sequence and coalesce(earlier.finished_at, 'infinity') = 'infinity'
             limit 1), true)))::float8, 0)) as "oldestDue"
from callbacks c join endpoints e on e.id = c.endpoint_id
where c.finished_at is null;

-- backlog_of_scheduled: Counts the scheduled sends, or estimates them if they are many, and how long the first has been due, for metrics.
select case when counted.sends <= 10000 then counted.sends
            else greatest(counted.sends, (select reltuples from pg_class
                                          where oid = 'scheduled_sends'::regclass)) end::int as sends,
       coalesce(greatest(0, (
         select extract(epoch from clock_timestamp() - send_at) from scheduled_sends
         order by send_at limit 1)), 0)::float8 as "overdueSeconds"
from (select count(*) as sends
      from (select from scheduled_sends limit 10001) first) counted;

-- backlog_of_sends: Counts the unfinished sends, and how long the oldest have been due, for metrics.
with unfinished as materialized (
  select s.channel_id, s.priority, s.status, s.next_attempt_at,
         s.status = 'queued' and s.next_attempt_at <= clock_timestamp() as is_due,
         (s.lane is null or s.seq = min(s.seq) over (partition by s.lane)) as is_head,
         null::text as waits_as
  from sends s where s.finished_at is null),
of_channel as materialized (
  select channel_id, priority, waits_as, count(*) filter (where is_due) as due,
         count(*) filter (where status = 'sending') as sending,
         count(*) filter (where status = 'queued' and not is_due) as later,
         min(next_attempt_at) filter (where is_due and is_head) as due_since
  from unfinished group by channel_id, priority, waits_as),
labelled as (
  select priority, due, later, sending, due_since,
         coalesce(
           case when channels.held_at is not null then 'stopped'
                when channels.breaker_open_until is not null then 'stopped'
                when num_nonnulls(channels.rate_calls, channels.max_in_flight) > 0 then 'limited' end,
           waits_as,
           'free') as waits_as
  from of_channel join channels on channels.id = of_channel.channel_id)
select (select json_object_agg(priority, json_build_object('due', due, 'later', later, 'sending', sending))
        from (select each_priority.priority, coalesce(sum(due), 0) as due, coalesce(sum(later), 0) as later,
                     coalesce(sum(sending), 0) as sending
              from unnest(enum_range(null::priority)) as each_priority (priority) left join labelled using (priority)
              group by each_priority.priority) by_priority) as unfinished,
       json_build_object(
         'free', coalesce(extract(epoch from
           clock_timestamp() - min(due_since) filter (where waits_as = 'free'))::float8, 0),
         'stopped', coalesce(extract(epoch from
           clock_timestamp() - min(due_since) filter (where waits_as = 'stopped'))::float8, 0),
         'limited', coalesce(extract(epoch from
           clock_timestamp() - min(due_since) filter (where waits_as = 'limited'))::float8, 0)) as "oldestWaiting"
from labelled;

-- beat: Renews a worker’s lease, and thereby all its claims.
insert into workers (name, alive_until) values ($1, clock_timestamp() + $2 * interval '1 ms')
on conflict (name) do update set alive_until = excluded.alive_until
returning alive_until as "aliveUntil";

-- begin_session: Begins the session of a person whose password was right, and removes sessions that have ended.
-- $1: the person; $2: the hash of the password that was checked; $3: the hash of the token; $4: the address.
with
person as (
  update people
  set signed_in_at = now(),
      known_addresses = (array_prepend($4::text, array_remove(known_addresses, $4::text)))[:10]
  where id = $1 and password_hash = $2
  returning id, name),
ended as (delete from person_sessions s where not (s.expires_at > now() and s.used_at > now() - interval '8 hours')),
begun as (
  insert into person_sessions (token_hash, person_id, expires_at, address)
  select $3::bytea, id, now() + interval '12 hours', $4 from person)
select name from person;

-- busiest_channels: Finds the channels with the most sends that went wrong in given hours, then those with the most sends.
-- $1: the hours; $2: the account, its id or name, null for all; $3: how many; $4: after how many.
with counts as materialized (
  select channel_id, sum(failed + undelivered + uncertain) as wrong, sum(accepted) as accepted
  from (
    select hour, channel_id, accepted, sent, delivered, read, undelivered, failed, uncertain, canceled
    from send_counts
      where channel_id <> '00000000-0000-0000-0000-000000000000'
        and hour = any($1::timestamptz[])
    union all
    select hour, channel_id,
           case when state = 'accepted' then change else 0 end as accepted,
           case when state = 'sent' then change else 0 end as sent,
           case when state = 'delivered' then change else 0 end as delivered,
           case when state = 'read' then change else 0 end as read,
           case when state = 'undelivered' then change else 0 end as undelivered,
           case when state = 'failed' then change else 0 end as failed,
           case when state = 'uncertain' then change else 0 end as uncertain,
           case when state = 'canceled' then change else 0 end as canceled
    from (
      select hour, channel_id,
             split_part(counted_as, '/', 1) as state, change
      from send_count_changes
      where hour between (select min(h) from unnest($1::timestamptz[]) h)
                 and (select max(h) from unnest($1::timestamptz[]) h)
        and true
      offset 0) changes) c
  group by channel_id)
select c.id as "channelId"
from channels c join accounts a on a.id = c.account_id left join counts on counts.channel_id = c.id
where (c.deleted_at is null or counts.channel_id is not null)
  and ($2::text is null or a.name = $2 or a.id::text = $2)
order by coalesce(counts.wrong, 0) desc, coalesce(counts.accepted, 0) desc, c.name, c.id
limit $3 offset $4;

-- busy_channels: Lists the channels with overdue sends, except held ones.
with recursive
-- The channels with sends that have not ended.
waiting as (
  (select channel_id as id from sends where finished_at is null order by channel_id limit 1)
  union all
  select (select channel_id from sends where finished_at is null and channel_id > waiting.id
          order by channel_id limit 1)
  from waiting where waiting.id is not null),
-- Those with an overdue send.
overdue as (
  select channels.* from waiting join channels using (id)
  where (channels.held_at is not null) is not true and coalesce((
      select true from sends s
      where s.channel_id = channels.id and s.priority in ('urgent', 'normal', 'bulk')
        and s.finished_at is null and true
        and s.status = 'queued' and s.next_attempt_at <= now() - $1 * interval '1 ms'
          and not coalesce(s.expires_at <= now() - $1 * interval '1 ms', false)
          and (quiet_until(channels.quiet_hours, s.priority, s.contact_type, s.contact_value)
            is not null) is not true
          and (case when (select exists (select from ceilings))
                    and s.attempt = s.attempts_before_replay then
            (select ends
             from passed_ceiling(s.account_id, s.channel_id, s.contact_type, s.segments,
                                 s.account_counted_at, s.channel_counted_at)) end
            is not null) is not true
      limit 1), false))
select id as "channelId",
       (channels.breaker_open_until is not null
        or num_nonnulls(channels.rate_calls, channels.max_in_flight) > 0)
         or (coalesce(channels.answered_at < clock_timestamp() - interval '10 s', true)
             and coalesce((
                 select true from sends s
                 where s.channel_id = channels.id and s.priority in ('urgent', 'normal', 'bulk')
                   and s.finished_at is null and s.overflow
                   and s.status = 'queued' and s.next_attempt_at <= now() - $1 * interval '1 ms'
                     and not coalesce(s.expires_at <= now() - $1 * interval '1 ms', false)
                     and (quiet_until(channels.quiet_hours, s.priority, s.contact_type, s.contact_value)
                       is not null) is not true
                     and (case when (select exists (select from ceilings))
                               and s.attempt = s.attempts_before_replay then
                       (select ends
                        from passed_ceiling(s.account_id, s.channel_id, s.contact_type, s.segments,
                                            s.account_counted_at, s.channel_counted_at)) end
                       is not null) is not true
                 limit 1), false)) as "grantsPermits",
       case when (channels.breaker_open_until is not null
          or num_nonnulls(channels.rate_calls, channels.max_in_flight) > 0) then 'none'
            when coalesce(channels.answered_at < clock_timestamp() - interval '10 s', true) then 'ordinary'
            else 'all' end as "permitFree",
       channels.breaker_open_until is null and coalesce((
         select true from permits p join sends s using (request_id)
         where p.channel_id = channels.id
           and ((s.status = 'queued' and s.attempt = p.attempt - 1)
              and p.valid_until > clock_timestamp() - interval '15 s')
           and p.unused_since < now() - $2 * interval '1 ms'
           and s.status = 'queued' and s.next_attempt_at <= now() - $1 * interval '1 ms'
             and not coalesce(s.expires_at <= now() - $1 * interval '1 ms', false)
             and (quiet_until(channels.quiet_hours, s.priority, s.contact_type, s.contact_value)
               is not null) is not true
             and (case when (select exists (select from ceilings))
                       and s.attempt = s.attempts_before_replay then
               (select ends
                from passed_ceiling(s.account_id, s.channel_id, s.contact_type, s.segments,
                                    s.account_counted_at, s.channel_counted_at)) end
               is not null) is not true
         limit 1), false) as "hasUnusedPermits"
from overdue channels
order by id;

-- callbacks_of_endpoint: Lists a page of the callbacks of an endpoint, the newest first, for its account.
-- $1: the endpoint; $2: after this time; $3: of those, after this send; $4: and number; $5: the state, null for all;
-- $6: how many to look at; $7: the limit of the page, and one more.
with
-- The next callbacks, matching or not, so that every page takes about the same time.
looked_at as materialized (
  select c.request_id, c.sequence, c.created_at,
         case when c.finished_at is null then 'waiting' when c.given_up then 'given_up' else 'delivered' end as state
  from callbacks c
  where c.endpoint_id = $1 and coalesce(c.sequence, 0) >= 0
    and (c.created_at, c.request_id, c.sequence) < ($2::timestamptz, $3::uuid, $4::int)
  order by c.created_at desc, c.request_id desc, c.sequence desc limit (select $6::int)),
page as materialized (
  select * from looked_at l where coalesce(l.state = $5, $5 is null)
  order by l.created_at desc, l.request_id desc, l.sequence desc limit $7),
-- The last one that was looked at, if there may be more.
last as materialized (
  select * from looked_at l
  order by l.created_at desc, l.request_id desc, l.sequence desc offset (select $6::int - 1) limit 1)
select c.request_id as "requestId", c.sequence, c.type, c.created_at as at, p.state, c.tries,
       case when p.state = 'waiting' then greatest(c.next_try_at, e.breaker_open_until) end as "nextTryAt",
       (extract(epoch from c.created_at) * 1000000)::bigint::text as micros,
       (extract(epoch from last.created_at) * 1000000)::bigint::text as "endMicros", last.request_id as "endId",
       last.sequence as "endSequence"
from (select) one left join last on true
  left join (
    page p cross join endpoints e cross join lateral (
      select * from callbacks c
      where c.endpoint_id = e.id and c.request_id = p.request_id and c.sequence = p.sequence
      limit 1) c) on e.id = $1
order by c.created_at desc, c.request_id desc, c.sequence desc;

-- callbacks_of_send: Lists the callbacks of a send, for the support page.
select e.id as "endpointId", e.url, e.disabled_at is not null as "isDisabled",
  c.request_id as "requestId", c.sequence, c.type, c.created_at as "createdAt",
  greatest(c.next_try_at, e.breaker_open_until) as "nextTryAt", c.finished_at as "finishedAt", c.given_up as "givenUp",
  not coalesce((
      select false from callbacks earlier
      where earlier.endpoint_id = c.endpoint_id and earlier.request_id = c.request_id
        and earlier.sequence < c.sequence and coalesce(earlier.finished_at, 'infinity') = 'infinity'
      limit 1), true)
    as "isBehind",
  c.tried, c.tries
from sends s join endpoints e on e.account_id = s.account_id
  join callbacks c on c.endpoint_id = e.id and c.request_id = s.request_id
where s.request_id = $1
order by e.id, c.sequence;

-- cancel_queued: Ends queued sends that nobody wants any more, after lock_to_cancel.
with
-- How each ends.
ended as (
  select s.request_id, s.counted_as,
         case when exists (
             select from send_events e
             where e.request_id = s.request_id
               and (e.event = 'attempt_lost' and e.fields->>'outcome' is distinct from 'not_called'
                    or e.event = 'attempt_finished' and e.fields->>'outcome' in ('sent', 'uncertain'))
               and not exists (
                 select from send_events later
                 where later.request_id = e.request_id and (later.at, later.id) > (e.at, e.id)
                   and (later.event = 'attempt_finished'
                        and later.fields->>'attempt' = e.fields->>'attempt'
                        and later.fields->>'outcome' not in ('sent', 'uncertain')
                        or later.event = 'settled' and later.fields->>'as' = 'failed'
                        or later.event = 'fell_back')))
              then 'uncertain' else 'canceled' end as status
  from sends s where s.request_id = any((select $1::uuid[])::uuid[])),
-- Their next states, numbered.
written as (
  update sends s set
    status = ended.status,
    finished_at = clock_timestamp(),
    failure = case when ended.status = 'uncertain' then 'canceled after an attempt that may have got through' end,
    claimed_at = case when ended.status = 'uncertain' and (s.claimed_at is not null and s.attempt_record is null)
                      then s.claimed_at end,
    change_number = s.change_number + 1,
    counted_as = case when s.counted_as is not null then
        counted_as(
          ended.status, s.delivery,
          case when ended.status = 'uncertain' then 'canceled after an attempt that may have got through' end,
          s.attempt_record, null)
      else s.counted_as end
  from ended
  where s.request_id = ended.request_id and s.request_id = any((select $1::uuid[])::uuid[]) and s.status = 'queued'
  returning
    s.request_id, s.status,
    s.account_id, coalesce(s.former_channels[1], s.channel_id) as counted_channel,
    s.accepted_at, s.priority as counted_priority, s.counted_as, ended.counted_as as counted_before,
    s.change_number, s.attempt as attempts, s.conversation_id,
    'message.' || s.status as type,
    case when (select exists (select from endpoints)) then null::text end as provider_code,
    case when (select exists (select from endpoints)) then
      (select array_agg(e.id) from endpoints e
       where e.account_id = s.account_id
         and (e.events is null or 'message.' || s.status = any(e.events))) end as endpoint_ids),
-- The callbacks.
announced as (
  insert into callbacks (
      endpoint_id, request_id, sequence, type, attempts, conversation_id, provider_at, provider_code, status, delivery,
    next_try_at)
  select e.endpoint_id, w.request_id, w.change_number, w.type, w.attempts, w.conversation_id, null, w.provider_code,
         null, null,
         greatest(clock_timestamp(), case when w.change_number > 1 then
           (select max(earlier.next_try_at) from callbacks earlier
            where earlier.endpoint_id = e.endpoint_id and earlier.request_id = w.request_id
              and coalesce(earlier.finished_at, 'infinity') = 'infinity') end)
  from written w cross join lateral unnest(w.endpoint_ids) e (endpoint_id)
  where (select exists (select from endpoints))),
-- The counters.
counted_changes as (
  insert into send_count_changes (account_id, channel_id, hour, priority, counted_as, change)
  select w.account_id, w.counted_channel, date_trunc('hour', w.accepted_at, 'UTC'),
         w.counted_priority, e.counted_as, sum(e.change)
  from written w cross join lateral (values (w.counted_as, 1), (w.counted_before, -1)) e (counted_as, change)
  where w.counted_as <> w.counted_before and e.counted_as <> 'waiting'
  group by 1, 2, 3, 4, 5)
select request_id as "requestId", status, case when written.endpoint_ids is not null then
    (select array_agg(e.id) from endpoints e
     where e.id = any(written.endpoint_ids) and e.disabled_at is null
       and coalesce(e.breaker_open_until <= clock_timestamp(), true)) end as "endpointsToWake" from written;

-- cancel_scheduled: Ends scheduled sends that nobody wants any more.
with
-- The scheduled sends, which leave their table.
taken as (
  delete from scheduled_sends
  where request_id = any((select $1::uuid[])::uuid[]) and ($2::uuid is null or account_id = $2)
  returning *),
-- Their states, numbered. A trigger counts them.
written as (
  insert into sends as s (
    request_id, account_id, channel_id, api_key_id, contact_type, contact_value,
    contact_name, message_type, message, flow_id, close_conversation, priority,
    traceparent, send_at, reference, expires_in_seconds, metadata, segments,
    encoding,
    accepted_at, status, finished_at, change_number)
  select
    request_id, account_id, channel_id, api_key_id, contact_type, contact_value,
    contact_name, message_type, message, flow_id, close_conversation, priority,
    traceparent, send_at, reference, expires_in_seconds, metadata, segments,
    encoding,
    accepted_at, 'canceled', clock_timestamp(), 1
  from taken
  returning
    s.request_id, s.status,
    s.change_number, s.attempt as attempts, s.conversation_id,
    'message.' || s.status as type,
    case when (select exists (select from endpoints)) then null::text end as provider_code,
    case when (select exists (select from endpoints)) then
      (select array_agg(e.id) from endpoints e
       where e.account_id = s.account_id
         and (e.events is null or 'message.' || s.status = any(e.events))) end as endpoint_ids),
-- The callbacks.
announced as (
  insert into callbacks (
      endpoint_id, request_id, sequence, type, attempts, conversation_id, provider_at, provider_code, status, delivery,
    next_try_at)
  select e.endpoint_id, w.request_id, w.change_number, w.type, w.attempts, w.conversation_id, null, w.provider_code,
         null, null,
         greatest(clock_timestamp(), case when w.change_number > 1 then
           (select max(earlier.next_try_at) from callbacks earlier
            where earlier.endpoint_id = e.endpoint_id and earlier.request_id = w.request_id
              and coalesce(earlier.finished_at, 'infinity') = 'infinity') end)
  from written w cross join lateral unnest(w.endpoint_ids) e (endpoint_id)
  where (select exists (select from endpoints)))
select request_id as "requestId", status, case when written.endpoint_ids is not null then
    (select array_agg(e.id) from endpoints e
     where e.id = any(written.endpoint_ids) and e.disabled_at is null
       and coalesce(e.breaker_open_until <= clock_timestamp(), true)) end as "endpointsToWake" from written;

-- ceiling_states: Reads what is used of ceilings in their present periods, and what the sends take that wait.
-- $1: the accounts and channels.
select c.owner_id as "ownerId", c.amount::float8 as amount, c.unit, c.period, now.ends as until,
       (now.used + coalesce(waiting.amount, 0))::float8 as used
from ceilings c cross join lateral (
    select at, starts, ceiling_end(c.period, starts) as ends,
           case when c.starts_at >= starts then c.used else 0 end as used
    from (select at, ceiling_start(c.period, c.starts_at, at) as starts
          from clock_timestamp() at) of_clock) now
  cross join lateral (
    select sum(first.amount) as amount
    from (
      select ceiling_size(c.unit, s.contact_type, s.segments) as amount
      from channels join sends s on s.channel_id = channels.id
      where (channels.id = c.owner_id or channels.account_id = c.owner_id)
        and s.priority in ('urgent', 'normal', 'bulk')
        and s.finished_at is null and s.status = 'queued'
        and (c.owner_id in (s.channel_id, s.account_id) and s.attempt = s.attempts_before_replay
           and coalesce(case c.owner_id when s.channel_id then s.channel_counted_at
                                        else s.account_counted_at end < now.starts, true))
      limit greatest(0, c.amount - now.used)) first) waiting
where c.owner_id = any((select $1::uuid[])::uuid[]);

-- channel_facts: Reads a channel for its page.
select c.ordering, c.on_uncertain as "onUncertain", c.expire_after_seconds as "expireAfterSeconds",
       c.rate_calls as "rateCalls", c.rate_seconds as "rateSeconds", c.max_in_flight as "maxInFlight",
       c.expects_receipts as "expectsReceipts", c.receipt_at as "receiptAt", c.created_at as "createdAt",
       (select coalesce(json_agg(json_build_object('name', t.name, 'definition', t.definition) order by t.name), '[]')
        from (select * from templates t where t.channel_id = c.id order by name limit 100) t) as templates,
       c.auto_suppress as "autoSuppress", c.countries, c.quiet_hours as "quietHours",
       (select array_agg(concat(own.amount, ' ', own.unit, '/', own.period)
                          order by array_position(array['hour', 'day', 'month'], own.period), own.unit)
         from ceilings own
        where own.owner_id = c.id) as ceilings,
       c.fallback_channel_id as "fallbackChannelId",
       c.fallback_on as "fallbackOn", c.fallback_within_seconds as "fallbackWithinSeconds",
       c.one_click as "oneClick",
       (select coalesce(json_agg(json_build_object('channelId', f.id, 'name', f.name) order by f.name), '[]')
        from channels f
        where f.account_id = c.account_id and f.fallback_channel_id = c.id and f.deleted_at is null) as "fallsBackHere",
       (select json_build_object(
          'channels', count(*),
          'failing', count(*) filter (where o.fails),
          'otherFailing', count(*) filter (where o.fails and o.id <> c.id),
          'since', min(coalesce(o.breaker_opened_at, o.breaker_open_until)) filter (where o.fails))
        from (select o.*, o.held_at is null and o.breaker_open_until is not null as fails from channels o) o
        where o.provider = c.provider and o.deleted_at is null) as "ofProvider"
from channels c where c.id = $1;

-- channel_states: Counts held channels, open circuit breakers and channels without receipts by provider, and names some, for metrics.
select provider, count(*) filter (where held_at is not null)::int as held,
       count(*) filter (where breaker_open_until > clock_timestamp())::int as "breakersOpen",
       count(*) filter (where breaker_open_until <= clock_timestamp())::int as "breakersHalfOpen",
       count(*) filter (where awaits_receipt_since < clock_timestamp() - interval '1 hour')::int as "withoutReceipts",
       coalesce((
         array_agg(a.name || ': ' || c.name order by c.id) filter (
           where held_at is not null))[1:10], '{}') as "heldNames",
       coalesce((
         array_agg(a.name || ': ' || c.name order by c.id) filter (
           where breaker_open_until is not null))[1:10], '{}') as "breakerNames",
       coalesce((
         array_agg(a.name || ': ' || c.name order by c.id) filter (
           where awaits_receipt_since < clock_timestamp() - interval '1 hour'))[1:10], '{}') as "withoutReceiptsNames"
from channels c join accounts a on a.id = c.account_id
where c.deleted_at is null group by provider;

-- channels_given: Reads channels for operators.
select c.id as "channelId", c.account_id as "accountId", c.name, a.name as "accountName", c.provider,
  c.held_at as "heldAt", c.held_reason as "heldReason", c.breaker_open_until as "breakerOpenUntil",
  c.breaker_opened_at as "breakerOpenedAt", c.deleted_at as "deletedAt", w.waiting, w.by_priority as "waitingBy",
  w.oldest as "oldestDue", c.shown_config as "shownConfig"
from channels c join accounts a on a.id = c.account_id
cross join lateral (
  select least(sum(counted.number), 1001)::int as waiting, min(counted.oldest) as oldest,
         json_object_agg(each_priority.priority, counted.number) as by_priority
  from unnest(enum_range(null::priority)) as each_priority (priority) cross join lateral (
    select count(*)::int as number, min(next_attempt_at) as oldest
    from (select s.next_attempt_at from sends s
          where s.channel_id = c.id and s.priority = each_priority.priority and s.finished_at is null
          order by s.next_attempt_at limit 1001) first) counted) w
where c.id = any((select $1::uuid[])::uuid[]);

-- channels_of_sends: Finds the channels of the sends that receipts are about.
select request_id as "requestId", account_id as "accountId", channel_id || former_channels as "channelIds"
from sends where request_id = any((select $1::uuid[])::uuid[]);

-- channels_often_refused: Counts and names the channels of whose sends of a day too many bounced for good or were complained about, for metrics.
select c.provider, r.cause, count(*)::int as channels,
       coalesce((
         array_agg(a.name || ': ' || c.name order by c.id) filter (
           where true))[1:10], '{}') as names
from (
  select coalesce(s.former_channels[1], s.channel_id) as channel_id, e.cause, count(*) as refused
  from suppressions e join sends s on s.request_id = e.request_id
  where e.cause in ('bounce', 'complaint') and e.created_at > now() - interval '1 day'
  group by 1, 2) r
  join channels c on c.id = r.channel_id
  join accounts a on a.id = c.account_id
  cross join lateral (
    select sum(sent + delivered + read + undelivered + failed) as ended
    from send_counts n
    where n.channel_id = r.channel_id
      and n.hour in (select date_trunc('hour', now(), 'UTC') - ago * interval '1 hour'
                     from generate_series(0, 24) ago)) n
where r.refused >= 2 and n.ended >= 100
  and r.refused > n.ended * case r.cause when 'bounce' then 0.05 when 'complaint' then 0.001 end
group by 1, 2;

-- check_account: Lets a worker compare all waiting sends of an account with its entries.
insert into suppression_checks (account_id) values ($1);

-- claim_endpoints: Claims endpoints, or continues to hold them, and reads the callbacks that are due.
-- $1: the endpoints, each with the claim, how many callbacks to read, and the sends with a call under way;
-- $2: the worker.
with
-- The given requests.
asked as materialized (
  select * from json_to_recordset($1) as ("endpointId" uuid, "claimId" uuid, "limit" int, "except" uuid[])),
-- The endpoints, locked in the order of their ids. One look-up for each: the planner doesn't know how many there are.
locked as materialized (
  select e.*, a."claimId", a."limit", a."except"
  from (select * from asked order by "endpointId") a cross join lateral (
    select * from endpoints e where e.id = a."endpointId" for no key update) e),
-- Endpoints that nobody else is calling, and that may be called.
taken as materialized (
  select e.* from locked e
  where (e.claim_id is null or e.claim_id = e."claimId")
    and e.disabled_at is null and coalesce(e.breaker_open_until <= clock_timestamp(), true)
    and (select alive_until > clock_timestamp() from workers where name = $2)),
-- The claims that begin.
begun as (
  update endpoints e set worker = $2, claim_id = t."claimId", claimed_at = clock_timestamp()
  from taken t where e.id = t.id and t.claim_id is null)
select e.id as "endpointId", e.url, e.sealed_secret as "sealedSecret",
       case when e.former_until > clock_timestamp() then e.sealed_former_secret end as "sealedFormerSecret",
       (e.failing_since is not null
        or coalesce(e.answered_at < clock_timestamp() - interval '10 minutes', true)) as "isInSlowStart",
       coalesce(e.answered_at < clock_timestamp() - interval '60 s', true) as "isAnswerOld",
       e.breaker_open_until is not null as "isProbe",
       coalesce((
         select json_agg(json_build_object(
                  'type', c.type, 'at', to_char(c.created_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
                  'endpointId', c.endpoint_id, 'requestId', c.request_id, 'sequence', c.sequence,
                  'channelId', coalesce(s.former_channels[1], s.channel_id),
                  'messageType', s.message_type, 'reference', s.reference, 'metadata', s.metadata,
                  'segments', s.segments, 'encoding', s.encoding,
                  'priority', s.priority,
                  'flowId', s.flow_id, 'conversationId', c.conversation_id, 'attempts', c.attempts,
                  'providerAt', c.provider_at, 'providerCode', c.provider_code,
                  'status', c.status, 'delivery', c.delivery, 'data', c.data, 'tried', c.tried,
                  'triedBeforeResend', c.tried_before_resend))
         from (
           select * from callbacks c
           where c.endpoint_id = e.id and c.finished_at is null and c.next_try_at <= now()
             and c.request_id <> all(e."except")
             and coalesce((
                 select false from callbacks earlier
                 where earlier.endpoint_id = c.endpoint_id and earlier.request_id = c.request_id
                   and earlier.sequence < c.sequence and coalesce(earlier.finished_at, 'infinity') = 'infinity'
                 limit 1), true)
           order by c.next_try_at
           limit case when (e.failing_since is not null
              or coalesce(e.answered_at < clock_timestamp() - interval '10 minutes', true)) then 1 else e."limit" end) c
           left join sends s on s.request_id = c.request_id), '[]') as callbacks
from taken e;

-- claim_sends: Claims those of the given sends that are ready and free to go.
-- $1: the sends; $2: the worker; $3: the claim; $4: ids for new conversations, one for each send; $5: the key of the
-- hashes of erased contacts; $6: whether they go although a more urgent one is ready.
with
-- The sends that are ready, and those that already have this claim, locked in the order of their ids.
candidates as materialized (
  select s.* from sends s
  where s.request_id = any((select $1::uuid[])::uuid[])
    and ((s.status = 'queued' and s.next_attempt_at <= clock_timestamp()
      and not coalesce(s.expires_at <= clock_timestamp(), false)
          and not (case when (select exists (select from suppressions)) then
                (select e.cause from suppressions e
                 where e.account_id = s.account_id
                   and coalesce(e.contact_key,
                       lower(e.contact_value collate "C") collate "default") = any(
                     case when (select exists (
                          select from suppressions where erased_at is not null)) then
                       array[lower(s.contact_value collate "C") collate "default",
                             'erased:' || encode(sha256(
                               substring($5::bytea from 65)
                                 || sha256(substring($5::bytea for 64)
                                   || convert_to(s.account_id || ' '
                                   || lower(s.contact_value collate "C") collate "default", 'UTF8'))), 'hex'),
                             case when s.contact_value <> lower(s.contact_value collate "C") collate "default" then
                               'erased:' || encode(sha256(
                                 substring($5::bytea from 65)
                                   || sha256(substring($5::bytea for 64)
                                     || convert_to(s.account_id || ' '
                                     || s.contact_value, 'UTF8'))), 'hex') end]
                     else array[lower(s.contact_value collate "C") collate "default"] end)
                   and (e.channel_id is null or e.channel_id = s.channel_id)
                 limit 1) end is not null)
          and (select alive_until > clock_timestamp() from workers where name = $2))
         or (s.status = 'sending' and s.claim_id = $3))
  order by s.request_id
  for no key update skip locked),
-- Sends that are free to go, and their contacts' conversations: the open one, or a new one for all sends of a contact.
free as materialized (
  select s.request_id, s.account_id, s.channel_id, s.contact_type, person.value as contact_value,
         case when cardinality(open.ids) = 1 then open.ids[1] end as open_id,
         ($4::uuid[])[dense_rank() over (order by s.account_id, s.contact_type, person.value)] as new_id,
         s.conversation_id is null and not s.close_conversation and open.ids is null as opens
  from candidates s join channels on channels.id = s.channel_id
  cross join lateral (
    select lower(s.contact_value collate "C") collate "default" as value) person
  -- A send with several open ones stays without, and closes all but the newest when it enters.
  cross join lateral (
    select array_agg(id order by id desc) as ids from (
      select c.id from conversations c
      where c.account_id = s.account_id and c.contact_type = s.contact_type
        and c.contact_value = person.value and c.closed_at is null
      union all
      select c.id from conversations c
      where s.contact_type = 'email' and c.account_id = s.account_id and c.contact_type = s.contact_type
        and lower(c.contact_value collate "C") collate "default" = person.value
        and c.contact_value <> lower(c.contact_value collate "C") collate "default"
        and c.closed_at is null) one
    where not s.close_conversation) open
  cross join lateral (
    select s.channel_id, s.priority) mine
  where s.status = 'sending' or (
    (channels.held_at is not null) is not true
    and (quiet_until(channels.quiet_hours, s.priority, s.contact_type, s.contact_value)
      is not null) is not true
    and (case when (select exists (select from ceilings))
              and s.attempt = s.attempts_before_replay then
      (select ends
       from passed_ceiling(s.account_id, s.channel_id, s.contact_type, s.segments,
                           s.account_counted_at, s.channel_counted_at)) end
      is not null) is not true
    and (coalesce((
      select true from sends earlier
      where earlier.lane = s.lane and earlier.seq < s.seq
        and coalesce(earlier.finished_at, 'infinity') = 'infinity'
      limit 1), false)) is not true
    and (not (channels.breaker_open_until is not null
       or num_nonnulls(channels.rate_calls, channels.max_in_flight) > 0
       or s.overflow and coalesce(channels.answered_at < clock_timestamp() - interval '10 s', true))
         or coalesce(
             (select ceil(greatest(
                0, coalesce(extract(epoch from p.call_at - clock_timestamp()) * 1000, 0) - 100))::float8
              from permits p
              where p.request_id = s.request_id and p.attempt = s.attempt + 1
                and p.valid_until > clock_timestamp()
                and (p.is_probe or channels.breaker_open_until is null)) < 100, false))
    and ($6
         or (channels.breaker_open_until is not null
            or num_nonnulls(channels.rate_calls, channels.max_in_flight) > 0)
         or not coalesce((
             select true from sends s
             where s.channel_id = mine.channel_id and s.priority < mine.priority and s.finished_at is null
               and s.status = 'queued' and s.next_attempt_at <= clock_timestamp()
                 and not coalesce(s.expires_at <= clock_timestamp(), false)
             limit 1), false)))),
-- Their ceilings, locked in the order of their keys.
locked_ceilings as materialized (
  select * from ceilings c
  where (select exists (select from ceilings)) and c.owner_id = any(array(
    select unnest(array[account_id, channel_id]) from free))
  order by c.owner_id, c.unit, c.period
  for no key update),
-- Their use when the locks were free.
own_ceilings as materialized (
  select c.owner_id, c.unit, c.period, c.amount, now.*
  from locked_ceilings c cross join lateral (
      select at, starts, ceiling_end(c.period, starts) as ends,
             case when c.starts_at >= starts then c.used else 0 end as used
      from (select at, ceiling_start(c.period, c.starts_at, at) as starts
            from clock_timestamp() at) of_clock) now),
-- The part that each send takes, and whether all up to it are more than is left.
taken as materialized (
  select s.request_id, c.owner_id, c.unit, c.period, t.amount,
         c.used + sum(t.amount) over (partition by c.owner_id, c.unit, c.period
                                      order by s.priority, s.next_attempt_at, s.seq) > c.amount as is_beyond
  from own_ceilings c cross join lateral (select c.starts) now
    join candidates s on
      (c.owner_id in (s.channel_id, s.account_id) and s.attempt = s.attempts_before_replay
       and coalesce(case c.owner_id when s.channel_id then s.channel_counted_at
                                    else s.account_counted_at end < now.starts, true))
    cross join lateral (
      select ceiling_size(c.unit, s.contact_type, s.segments) as amount) t
  where s.status = 'queued' and s.request_id in (select request_id from free)),
-- The sends that have to wait for the next period.
beyond as (
  select request_id from taken where is_beyond),
-- The others are counted.
counted as (
  update ceilings c
  set starts_at = own.starts, used = own.used + sums.amount,
      reported = case when c.starts_at < own.starts then 0 else c.reported end
  from own_ceilings own join (
    select owner_id, unit, period, sum(amount) as amount from taken
    where request_id not in (select request_id from beyond)
    group by owner_id, unit, period) sums using (owner_id, unit, period)
  where (c.owner_id, c.unit, c.period) = (own.owner_id, own.unit, own.period)),
-- The sends that are claimed.
claimable as materialized (
  select * from free where request_id not in (select request_id from beyond)),
-- In the order of contacts, so that two statements can't deadlock. If another transaction opens a conversation at this
-- moment, the send stays without one.
opened as (
  insert into conversations (id, account_id, contact_type, contact_value, opened_at)
  select distinct new_id, account_id, contact_type, contact_value, now()
  from claimable where opens
  order by account_id, contact_type, contact_value
  on conflict (account_id, contact_type, contact_value) where closed_at is null do nothing
  returning id)
update sends s
set status = 'sending', worker = $2, claim_id = $3,
    attempt = s.attempt + case when s.status = 'queued' then 1 else 0 end,
    claimed_at = case when s.status = 'queued' then clock_timestamp() else s.claimed_at end,
    conversation_id = coalesce(s.conversation_id, claimable.open_id, opened.id),
    channel_counted_at = case when (select exists (select from ceilings)) and s.status = 'queued' then
        greatest(s.channel_counted_at, (select min(at) from own_ceilings where owner_id = s.channel_id))
      else s.channel_counted_at end,
    account_counted_at = case when (select exists (select from ceilings)) and s.status = 'queued' then
        greatest(s.account_counted_at, (select min(at) from own_ceilings where owner_id = s.account_id))
      else s.account_counted_at end
from claimable left join opened on opens and opened.id = new_id, channels
where s.request_id = claimable.request_id and channels.id = s.channel_id
returning s.request_id as "requestId", s.account_id as "accountId", s.channel_id as "channelId",
  jsonb_strip_nulls(jsonb_build_object('type', s.contact_type, 'value', s.contact_value,
                                       'name', s.contact_name)) as contact,
  s.message, s.flow_id as "flowId", s.priority, s.reference, s.close_conversation as "closeConversation",
  s.conversation_id as "conversationId", s.attempt, s.traceparent,
  s.attempts_before_replay as "attemptsBeforeReplay", s.worker, s.claim_id as "claimId",
  channels.provider, channels.sealed_config as "sealedConfig", channels.on_uncertain as "onUncertain",
  extract(epoch from s.expires_at - clock_timestamp())::float8 * 1000 as "expiresInMs",
  (channels.breaker_open_until is not null
   or num_nonnulls(channels.rate_calls, channels.max_in_flight) > 0
   or s.overflow and coalesce(channels.answered_at < clock_timestamp() - interval '10 s', true)) as "isLimited",
  s.overflow as "isOverflow", channels.breaker_open_until is not null as "isProbe",
  s.former_channels is not null as "fellBack", channels.fallback_channel_id is not null as "hasFallback",
  channels.one_click as "oneClick",
  case when channels.rate_calls is not null then
    (select extract(epoch from p.call_at - clock_timestamp())::float8 * 1000
     from permits p where p.request_id = s.request_id) end as "callInMs",
  case when channels.rate_calls is not null then
    (select extract(epoch from p.valid_until - clock_timestamp())::float8 * 1000
     from permits p where p.request_id = s.request_id) end as "tooLateInMs";

-- close_breaker: Closes a channel’s circuit breaker.
update channels set breaker_open_until = null, breaker_opened_at = null, breaker_openings = 0
where id = $1 and breaker_open_until is not null
returning id;

-- contact_of_conversation: Reads the contact of a conversation, to whom a page links.
select account_id as "accountId", contact_type as type, contact_value as value
from conversations where id = $1 and true;

-- contact_of_send: Reads the contact of a send, to whom its page links.
select account_id as "accountId", contact_type as type, contact_value as value
from sends where request_id = $1 and true
union all
select account_id as "accountId", contact_type as type, contact_value as value
from scheduled_sends where request_id = $1 and true;

-- contact_of_suppression: Reads the contact of a suppression, to whom a page links.
select account_id as "accountId", contact_type as type, contact_value as value
from suppressions where id = $1 and erased_at is null;

-- content_of_scheduled: Reads channel and message of a scheduled send.
-- $1: the send; $2: its account, null for any.
select s.channel_id as "channelId", c.provider, c.countries, s.message
from scheduled_sends s join channels c on c.id = s.channel_id
where s.request_id = $1 and ($2::uuid is null or s.account_id = $2);

-- count_audit: Counts all changes.
-- $1: the target, null for all; $2: the person; $3: the action; $4: since when; $5: before this time.
select count(*) filter (where coalesce(l.target = $1::text, $1 is null) and coalesce(l.by = $2::text, true)
    and coalesce(l.action = $3::text, true))::int as count, count(*) > 10000 as "isMore"
from (
  select a.* from audit a
  where true and a.at >= $4::timestamptz and a.at < $5::timestamptz
  order by a.at desc, a.id desc limit 10001) l;

-- count_audit_of_person: Counts a person's changes.
-- $1: the target, null for all; $2: the person; $3: the action; $4: since when; $5: before this time.
select count(*) filter (where coalesce(l.target = $1::text, $1 is null) and coalesce(l.by = $2::text, true)
    and coalesce(l.action = $3::text, true))::int as count, count(*) > 10000 as "isMore"
from (
  select a.* from audit a
  where a.by = $2 and a.at >= $4::timestamptz and a.at < $5::timestamptz
  order by a.at desc, a.id desc limit 10001) l;

-- count_audit_of_target: Counts the changes of a target.
-- $1: the target, null for all; $2: the person; $3: the action; $4: since when; $5: before this time.
select count(*) filter (where coalesce(l.target = $1::text, $1 is null) and coalesce(l.by = $2::text, true)
    and coalesce(l.action = $3::text, true))::int as count, count(*) > 10000 as "isMore"
from (
  select a.* from audit a
  where a.target = $1 and a.at >= $4::timestamptz and a.at < $5::timestamptz
  order by a.at desc, a.id desc limit 10001) l;

-- count_callbacks_of_endpoint: Counts the callbacks of an endpoint in a state, for its page.
-- $1: the endpoint; $2: the state, null for all.
select count(*) filter (where l.state = $2 or $2 is null)::int as count, count(*) > 10000 as "isMore"
from (
  select
    case when c.finished_at is null then 'waiting' when c.given_up then 'given_up' else 'delivered' end as state
  from callbacks c
  where c.endpoint_id = $1 and coalesce(c.sequence, 0) >= 0
  order by c.created_at desc, c.request_id desc, c.sequence desc limit 10001) l;

-- count_listed_channels: Counts the channels of a list of the console.
-- $1: the provider; $2: the state; $3: the account, its id or name; $4: a part of the name, or the id.
select least(count(*), 10000)::int as count, count(*) > 10000 as "isMore"
from (
  select 1 from channels c join accounts a on a.id = c.account_id
  where c.deleted_at is null and ($1::text is null or c.provider = $1)
      and ($2::text is null
           or $2 = case when c.held_at is not null then 'held'
                        when c.breaker_open_until is not null then 'failing' else 'ready' end)
      and ($3::text is null or a.name = $3 or a.id::text = $3)
      and ($4::text is null or position(lower($4) in lower(c.name)) > 0 or c.id::text = $4)
  limit 10001) first;

-- count_listed_endpoints: Counts the endpoints of a list of the console.
-- $1: the state; $2: the account, its id or name.
select least(count(*), 10000)::int as count, count(*) > 10000 as "isMore"
from (
  select 1 from endpoints e join accounts a on a.id = e.account_id
    cross join lateral (
      select case when e.disabled_at is not null then 0
                  when e.failing_since is not null then 1 else 2 end as rank) r
  where ($1::text is null or r.rank = array_position('{disabled,failing,answering}', $1) - 1)
      and ($2::text is null or a.name = $2 or a.id::text = $2)
  limit 10001) first;

-- count_refused: Counts all refused requests.
-- $1: the accounts, null for all; $2: the status, null for all.
select count(*) filter (where
         coalesce(l.account_id = any($1::uuid[]), true)
           and coalesce(l.status = $2::int, true))::int as count,
       count(*) > 10000 as "isMore"
from (
  select r.* from refused_requests r
  where true and r.at > now() - interval '24 hours'
  order by r.request_id desc limit 10001) l;

-- count_refused_of_accounts: Counts the refused requests of accounts.
-- $1: the accounts, null for all; $2: the status, null for all.
select count(*) filter (where
         coalesce(l.account_id = any($1::uuid[]), true)
           and coalesce(l.status = $2::int, true))::int as count,
       count(*) > 10000 as "isMore"
from (
  select r.* from refused_requests r
  where r.account_id = any($1::uuid[]) and r.at > now() - interval '24 hours'
  order by r.request_id desc limit 10001) l;

-- count_suppressions: Counts an account's entries, for the console.
-- $1: the account; $2: before this entry; $3: the cause; $4: the channel.
select count(*) filter (where
         ($3::text is null or e.cause = $3)
           and ($4::uuid is null or e.channel_id = $4)
         and (e.contact_value = coalesce(e.contact_key,
               lower(e.contact_value collate "C") collate "default")
           or not exists (
             select from suppressions other
             where other.account_id = e.account_id
               and coalesce(other.contact_key,
                   lower(other.contact_value collate "C") collate "default")
                 = coalesce(e.contact_key,
                     lower(e.contact_value collate "C") collate "default")
               and other.channel_id is not distinct from e.channel_id
               and (other.id < e.id
                 or other.contact_value = coalesce(other.contact_key,
                     lower(other.contact_value collate "C") collate "default")))))::int as count,
       count(*) > 10000 as "isMore"
from (
  select * from suppressions
  where (account_id, id) < ($1, $2) and (account_id, id) > ($1, '00000000-0000-0000-0000-000000000000')
  order by account_id desc, id desc limit 10001) e;

-- count_waiting_callbacks: Counts the callbacks of an endpoint that wait, for its page.
select count(*)::int as count, count(*) > 10000 as "isMore"
from (select 1 from callbacks where endpoint_id = $1 and finished_at is null limit 10001) first;

-- counted_since: Finds when counting began.
select since from counted_since;

-- counts_of_all: Counts all sends by the hour of their accept.
-- $1: the hours.
select c.hour,
       coalesce(sum(c.accepted), 0)::int as accepted,
       coalesce(sum(c.sent), 0)::int as sent,
       coalesce(sum(c.delivered), 0)::int as delivered,
       coalesce(sum(c.read), 0)::int as read,
       coalesce(sum(c.undelivered), 0)::int as undelivered,
       coalesce(sum(c.failed), 0)::int as failed,
       coalesce(sum(c.uncertain), 0)::int as uncertain,
       coalesce(sum(c.canceled), 0)::int as canceled
from (
  select hour, channel_id, accepted, sent, delivered, read, undelivered, failed, uncertain, canceled
  from send_counts
    where channel_id = '00000000-0000-0000-0000-000000000000'
      and hour between (select min(h) from unnest($1::timestamptz[]) h)
                 and (select max(h) from unnest($1::timestamptz[]) h)
  union all
  select hour, channel_id,
         case when state = 'accepted' then change else 0 end as accepted,
         case when state = 'sent' then change else 0 end as sent,
         case when state = 'delivered' then change else 0 end as delivered,
         case when state = 'read' then change else 0 end as read,
         case when state = 'undelivered' then change else 0 end as undelivered,
         case when state = 'failed' then change else 0 end as failed,
         case when state = 'uncertain' then change else 0 end as uncertain,
         case when state = 'canceled' then change else 0 end as canceled
  from (
    select hour, channel_id,
           split_part(counted_as, '/', 1) as state, change
    from send_count_changes
    where hour between (select min(h) from unnest($1::timestamptz[]) h)
               and (select max(h) from unnest($1::timestamptz[]) h)
      and true
    offset 0) changes) c
group by c.hour order by c.hour;

-- counts_of_channels: Counts the sends of channels that were accepted in given hours.
-- $1: the hours; $2: the channels.
select c.channel_id as "channelId",
       coalesce(sum(c.accepted), 0)::int as accepted,
       coalesce(sum(c.sent), 0)::int as sent,
       coalesce(sum(c.delivered), 0)::int as delivered,
       coalesce(sum(c.read), 0)::int as read,
       coalesce(sum(c.undelivered), 0)::int as undelivered,
       coalesce(sum(c.failed), 0)::int as failed,
       coalesce(sum(c.uncertain), 0)::int as uncertain,
       coalesce(sum(c.canceled), 0)::int as canceled
from (
  select hour, channel_id, accepted, sent, delivered, read, undelivered, failed, uncertain, canceled
  from (select distinct unnest($2::uuid[])) wanted (id) cross join lateral (
      select * from send_counts
      where channel_id = wanted.id
        and hour between (select min(h) from unnest($1::timestamptz[]) h)
                   and (select max(h) from unnest($1::timestamptz[]) h) offset 0) counts
  union all
  select hour, channel_id,
         case when state = 'accepted' then change else 0 end as accepted,
         case when state = 'sent' then change else 0 end as sent,
         case when state = 'delivered' then change else 0 end as delivered,
         case when state = 'read' then change else 0 end as read,
         case when state = 'undelivered' then change else 0 end as undelivered,
         case when state = 'failed' then change else 0 end as failed,
         case when state = 'uncertain' then change else 0 end as uncertain,
         case when state = 'canceled' then change else 0 end as canceled
  from (
    select hour, channel_id,
           split_part(counted_as, '/', 1) as state, change
    from send_count_changes
    where hour between (select min(h) from unnest($1::timestamptz[]) h)
               and (select max(h) from unnest($1::timestamptz[]) h)
      and channel_id = any($2::uuid[])
    offset 0) changes) c
group by c.channel_id;

-- counts_of_some: Counts the sends of an account or a channel by the hour of their accept.
-- $1: the hours; $2: account or channel; $3: its id.
select c.hour,
       coalesce(sum(c.accepted), 0)::int as accepted,
       coalesce(sum(c.sent), 0)::int as sent,
       coalesce(sum(c.delivered), 0)::int as delivered,
       coalesce(sum(c.read), 0)::int as read,
       coalesce(sum(c.undelivered), 0)::int as undelivered,
       coalesce(sum(c.failed), 0)::int as failed,
       coalesce(sum(c.uncertain), 0)::int as uncertain,
       coalesce(sum(c.canceled), 0)::int as canceled
from (
  select hour, channel_id, accepted, sent, delivered, read, undelivered, failed, uncertain, canceled
  from (select distinct unnest(case $2 when 'channel' then array[$3::uuid]
              else array(select id from channels where account_id = $3) end)) wanted (id) cross join lateral (
      select * from send_counts
      where channel_id = wanted.id
        and hour between (select min(h) from unnest($1::timestamptz[]) h)
                   and (select max(h) from unnest($1::timestamptz[]) h) offset 0) counts
  union all
  select hour, channel_id,
         case when state = 'accepted' then change else 0 end as accepted,
         case when state = 'sent' then change else 0 end as sent,
         case when state = 'delivered' then change else 0 end as delivered,
         case when state = 'read' then change else 0 end as read,
         case when state = 'undelivered' then change else 0 end as undelivered,
         case when state = 'failed' then change else 0 end as failed,
         case when state = 'uncertain' then change else 0 end as uncertain,
         case when state = 'canceled' then change else 0 end as canceled
  from (
    select hour, channel_id,
           split_part(counted_as, '/', 1) as state, change
    from send_count_changes
    where hour between (select min(h) from unnest($1::timestamptz[]) h)
               and (select max(h) from unnest($1::timestamptz[]) h)
      and channel_id = any(case $2 when 'channel' then array[$3::uuid]
                else array(select id from channels where account_id = $3) end)
    offset 0) changes) c
group by c.hour order by c.hour;

-- drop_dead_permits: Deletes permits that no send can use any more. Unused ones are kept for a while, as evidence.
delete from permits p
where channel_id = any((select $1::uuid[])::uuid[]) and not exists (
  select from sends s
  where s.request_id = p.request_id
    and ((s.status = 'sending' and s.attempt = p.attempt)
         or ((s.status = 'queued' and s.attempt = p.attempt - 1)
            and p.valid_until > clock_timestamp() - interval '15 s')));

-- drop_early_receipts: Deletes kept receipts that were recorded.
delete from early_receipts where id = any($1::bigint[]);

-- due_early_receipts: Finds kept receipts whose sends are known by now.
select e.id, m.request_id as "requestId", e.channel_id as "channelId", c.provider,
       c.fallback_channel_id is not null as "hasFallback", e.receipt
from early_receipts e
  join message_ids m on m.channel_id = e.channel_id and m.message_key = e.message_key
  join channels c on c.id = e.channel_id
order by e.id limit $1;

-- due_endpoints: Lists the endpoints that have been due for a while, and that nobody is calling.
with recursive waiting as (
  (select endpoint_id as id from callbacks where finished_at is null
   order by endpoint_id, next_try_at limit 1)
  union all
  select (select endpoint_id from callbacks where finished_at is null and endpoint_id > waiting.id
          order by endpoint_id, next_try_at limit 1)
  from waiting where waiting.id is not null)
select e.id as "endpointId", 0 as "inMs", (e.failing_since is not null
   or coalesce(e.answered_at < clock_timestamp() - interval '10 minutes', true)) as "isInSlowStart",
  extract(epoch from clock_timestamp() - e.failing_since)::int as "failingForSeconds"
from waiting join endpoints e using (id)
where e.disabled_at is null and e.claim_id is null
  and coalesce(e.breaker_open_until <= clock_timestamp() - $1 * interval '1 ms', true)
  and (
    select true from callbacks c
    where c.endpoint_id = e.id and c.finished_at is null
      and c.next_try_at <= now() - $1 * interval '1 ms'
      and coalesce((
          select false from callbacks earlier
          where earlier.endpoint_id = c.endpoint_id and earlier.request_id = c.request_id
            and earlier.sequence < c.sequence and coalesce(earlier.finished_at, 'infinity') = 'infinity'
          limit 1), true)
    order by c.next_try_at
    limit 1);

-- due_sends: Lists the overdue sends of channels, page by page.
-- $1: the channels, each with the send after which its page begins; $2: for how many ms overdue; $3: how many of each.
select due.*
from json_to_recordset($1) as asked ("channelId" uuid, priority priority, "dueAt" timestamptz, "requestId" uuid)
cross join lateral (
  select asked."channelId", s.request_id as "requestId", case when s.overflow then s.channel_id end as "overflowOf",
         s.priority, s.next_attempt_at::text as "dueAt", not coalesce((
             select true from sends earlier
             where earlier.lane = s.lane and earlier.seq < s.seq
               and coalesce(earlier.finished_at, 'infinity') = 'infinity'
             limit 1), false) as "isHead"
  from sends s join channels on channels.id = s.channel_id
  where s.channel_id = asked."channelId" and s.finished_at is null
    and s.status = 'queued' and s.next_attempt_at <= now() - $2 * interval '1 ms'
      and not coalesce(s.expires_at <= now() - $2 * interval '1 ms', false)
      and (quiet_until(channels.quiet_hours, s.priority, s.contact_type, s.contact_value)
        is not null) is not true
      and (case when (select exists (select from ceilings))
                and s.attempt = s.attempts_before_replay then
        (select ends
         from passed_ceiling(s.account_id, s.channel_id, s.contact_type, s.segments,
                             s.account_counted_at, s.channel_counted_at)) end
        is not null) is not true
    and (s.priority, s.next_attempt_at, s.request_id) > (asked.priority, asked."dueAt", asked."requestId")
  order by s.priority, s.next_attempt_at, s.request_id
  limit $3) due;

-- due_sends_in_quota: Like due_sends, without the overflow.
-- $1: the channels, each with the send after which its page begins; $2: for how many ms overdue; $3: how many of each.
select due.*
from json_to_recordset($1) as asked ("channelId" uuid, priority priority, "dueAt" timestamptz, "requestId" uuid)
cross join lateral (
  select asked."channelId", s.request_id as "requestId", case when s.overflow then s.channel_id end as "overflowOf",
         s.priority, s.next_attempt_at::text as "dueAt", not coalesce((
             select true from sends earlier
             where earlier.lane = s.lane and earlier.seq < s.seq
               and coalesce(earlier.finished_at, 'infinity') = 'infinity'
             limit 1), false) as "isHead"
  from sends s join channels on channels.id = s.channel_id
  where s.channel_id = asked."channelId" and coalesce(s.finished_at, 'infinity') = 'infinity' and not s.overflow
    and s.account_id = (select account_id from channels where id = asked."channelId")
    and s.status = 'queued' and s.next_attempt_at <= now() - $2 * interval '1 ms'
      and not coalesce(s.expires_at <= now() - $2 * interval '1 ms', false)
      and (quiet_until(channels.quiet_hours, s.priority, s.contact_type, s.contact_value)
        is not null) is not true
      and (case when (select exists (select from ceilings))
                and s.attempt = s.attempts_before_replay then
        (select ends
         from passed_ceiling(s.account_id, s.channel_id, s.contact_type, s.segments,
                             s.account_counted_at, s.channel_counted_at)) end
        is not null) is not true
    and (s.priority, s.next_attempt_at, s.request_id) > (asked.priority, asked."dueAt", asked."requestId")
  order by s.priority, s.next_attempt_at, s.request_id
  limit $3) due;

-- due_suppression_checks: Locks checks that are due: of contacts, or one of an account, whose sends may be many.
-- $1: whether of an account.
select array_agg(id) as ids from (
  select id from suppression_checks
  where due_at <= now() and (contact_value is null) = $1
  order by due_at limit case when $1 then 1 else 100 end
  for update skip locked) due;

-- end_of_suppressions: Finds the last entry that page_of_suppressions looks at.
-- $1: the account; $2: before this entry; $3: how many are looked at.
select id as "suppressionId" from suppressions
where (account_id, id) < ($1, $2) and (account_id, id) > ($1, '00000000-0000-0000-0000-000000000000')
order by account_id desc, id desc offset (select $3::int - 1) limit 1;

-- end_session: Ends a session.
delete from person_sessions where token_hash = $1;

-- end_sessions_of: Ends all sessions of a person, or one of them.
-- $1: the key of the name; $2: the session, null for all.
with
person as (select id, name from people where name_key = $1),
ended as (
  delete from person_sessions s using person p
  where s.person_id = p.id and ($2::uuid is null or s.session_id = $2)
  returning 1)
select name, (select count(*)::int from ended) as sessions from person;

-- end_suppression_checks: Removes checks, or puts them off.
-- $1: the checks; $2: whether some of their sends are being sent; $3: whether there may be more.
with
-- Checks that are repeated.
repeated as (
  update suppression_checks
  set due_at = case when $3 then due_at
                    when $2 then now() + interval '1 s'
                    else created_at + interval '30 s' end
  where id = any($1::bigint[]) and ($2::boolean or $3::boolean or created_at > now() - interval '30 s'))
delete from suppression_checks
where id = any($1::bigint[]) and not ($2::boolean or $3::boolean or created_at > now() - interval '30 s');

-- endpoint_states: Counts disabled and failing endpoints, for metrics.
select count(*) filter (where disabled_at is not null)::int as "disabledEndpoints",
       count(*) filter (where disabled_at is null and failing_since is not null)::int as "failingEndpoints"
from endpoints;

-- enter_conversations: Closes, opens and joins the conversations of claimed sends.
with
-- The given sends, each with an id for a conversation that it may open.
given as materialized (
  select * from json_to_recordset($1) as e ("requestId" uuid, "claimId" uuid, "newId" uuid)),
-- Their rows, and whether the claim still holds.
entries as materialized (
  select s.request_id, s.account_id, s.contact_type,
         lower(s.contact_value collate "C") collate "default" as contact_value,
         s.close_conversation, s.conversation_id,
         given."newId" as new_id, given."claimId", s.claim_id is not distinct from given."claimId" as holds_claim
  from given join sends s on s.request_id = given."requestId"
  where s.request_id = any(array(select "requestId" from given))),
-- The sends that still have to enter a conversation, with their contact's open ones.
entering as materialized (
  select e.*, open.ids[1] as open_id,
         case when e.close_conversation then open.ids else open.ids[2:] end as ids_to_close
  from entries e cross join lateral (
    select array_agg(id order by id desc) as ids from (
      select c.id from conversations c
      where c.account_id = e.account_id and c.contact_type = e.contact_type
        and c.contact_value = e.contact_value and c.closed_at is null
      union all
      select c.id from conversations c
      where e.contact_type = 'email' and c.account_id = e.account_id and c.contact_type = e.contact_type
        and lower(c.contact_value collate "C") collate "default" = e.contact_value
        and c.contact_value <> lower(c.contact_value collate "C") collate "default"
        and c.closed_at is null) one) open
  where e.conversation_id is null),
-- The conversations to close, locked: of a contact with several, all but the one that is joined. One that another
-- transaction closes meanwhile isn't open any more.
to_close as materialized (
  select c.id, e.request_id
  from entering e join conversations c on c.id = any(e.ids_to_close) and c.closed_at is null
  order by e.account_id, e.contact_type, e.contact_value, c.id
  for no key update of c),
-- Conversations that are closed here, and by which send.
closed as (
  update conversations c set closed_at = now(), closed_by = t.request_id
  from to_close t
  where c.id = t.id
  returning c.id, t.request_id),
-- Conversations that sends asked for, one for each.
asked_for as (
  select distinct on (request_id) closed.id, request_id
  from closed join entering e using (request_id)
  where e.close_conversation
  order by request_id, closed.id <> e.open_id),
-- The successors of those that are closed here, which no other transaction can open. If none was open, opening
-- one may wait for another transaction that does the same. A statement that also closes must not wait like that.
opened as (
  insert into conversations (id, account_id, contact_type, contact_value, opened_at)
  select new_id, account_id, contact_type, contact_value, now()
  from entering
  where request_id in (select request_id from asked_for)
     or open_id is null and not exists (select from entering where cardinality(ids_to_close) > 0)
  order by account_id, contact_type, contact_value
  on conflict (account_id, contact_type, contact_value) where closed_at is null do nothing
  returning id),
-- The conversation that each send joins: its own new one, or the open one. Null if it has to wait for the next round.
entered as (
  select e.*, coalesce(opened.id, case when not e.close_conversation then e.open_id end) as joined_id,
         asked_for.id as closed_id
  from entering e
    left join opened on opened.id = e.new_id
    left join asked_for on asked_for.request_id = e.request_id),
-- An attempt counts as begun when its conversation is closed.
joined as (
  update sends s
  set conversation_id = e.joined_id,
      claimed_at = case when e.close_conversation and s.status = 'sending' then now() else s.claimed_at end
  from entered e
  where s.request_id = e.request_id and e.joined_id is not null
  returning s.request_id, s.conversation_id, e.closed_id, s.claim_id is not distinct from e."claimId" as holds_claim),
-- The timeline of a send says what it closed.
events as (
  insert into send_events (request_id, at, event, fields)
  select request_id, now(), 'conversation_closed', json_build_object('conversationId', closed_id)
  from entered where close_conversation and joined_id is not null)
select request_id as "requestId", conversation_id as "conversationId", closed_id as "closedConversationId",
       holds_claim as "holdsClaim"
from joined
union all
-- The sends that had entered one before.
select e.request_id, e.conversation_id, (
  select (t.fields->>'conversationId')::uuid from send_events t
  where t.request_id = e.request_id and t.event = 'conversation_closed'), e.holds_claim
from entries e where e.conversation_id is not null;

-- erase_suppressions: Replaces an erased contact in its entries by keyed hashes.
-- $1: the account; $2: the contact; $3: the key of hashes.
with
-- Its entries, with what replaces it: of the spelling, for the previous release, and of all spellings.
theirs as materialized (
  select e.id, e.channel_id,
         'erased:' || encode(sha256(
           substring($3::bytea from 65)
             || sha256(substring($3::bytea for 64)
               || convert_to($1::uuid || ' '
               || e.contact_value, 'UTF8'))), 'hex') as value,
         'erased:' || encode(sha256(
           substring($3::bytea from 65)
             || sha256(substring($3::bytea for 64)
               || convert_to($1::uuid || ' '
               || lower($2::text collate "C") collate "default", 'UTF8'))), 'hex') as key
  from suppressions e
  where e.account_id = $1::uuid and e.erased_at is null
    and coalesce(e.contact_key,
        lower(e.contact_value collate "C") collate "default") = lower($2::text collate "C") collate "default"),
-- Entries of one that was erased before, and added again since.
repeated as materialized (
  select theirs.*, before.id as before_id
  from theirs join suppressions before
    on before.account_id = $1 and before.contact_value = theirs.value
       and before.channel_id is not distinct from theirs.channel_id),
-- The former ones stay in their place.
removed as (
  delete from suppressions where id in (select id from repeated)),
-- The former ones hold for all spellings from now on.
completed as (
  update suppressions e set contact_key = nullif(repeated.key, repeated.value)
  from repeated where e.id = repeated.before_id),
-- Its waiting sends are found by their account from now on.
checks as (
  update suppression_checks set contact_value = null
  where account_id = $1
    and lower(contact_value collate "C") collate "default" = lower($2::text collate "C") collate "default")
update suppressions e
set contact_value = theirs.value, contact_key = nullif(theirs.key, theirs.value),
    erased_at = clock_timestamp(), reason = null
from theirs
where e.id = theirs.id and e.id not in (select id from repeated)
returning e.id;

-- expire_later: Lets sends that are scheduled wait as long from their time as others from their accept.
update sends s set expires_at = s.expires_at + (s.send_at - s.accepted_at)
where s.request_id = any((select $1::uuid[])::uuid[]) and s.send_at > s.accepted_at;

-- expire_sends: Fails queued sends that have expired.
-- $1: how many.
with
-- The sends, locked, and why they fail.
chosen as materialized (
  select s.request_id, s.counted_as, 'expired' as failure
  from sends s
  where s.finished_at is null and s.status = 'queued'
    and s.expires_at <= now()
  order by s.request_id
  limit $1
  for no key update of s skip locked),
-- Their next states, numbered.
written as (
  update sends s set
    status = 'failed',
    failure = chosen.failure,
    finished_at = clock_timestamp(),
    claimed_at = null,
    claim_id = null,
    change_number = s.change_number + 1,
    counted_as = case when s.counted_as is not null then
        counted_as('failed', s.delivery, chosen.failure, s.attempt_record, null)
      else s.counted_as end
  from chosen
  where s.request_id = chosen.request_id
  returning
    s.request_id, s.status, s.failure,
    s.account_id, coalesce(s.former_channels[1], s.channel_id) as counted_channel,
    s.accepted_at, s.priority as counted_priority, s.counted_as, chosen.counted_as as counted_before,
    s.change_number, s.attempt as attempts, s.conversation_id,
    'message.' || s.status as type,
    case when (select exists (select from endpoints)) then null::text end as provider_code,
    case when (select exists (select from endpoints)) then
      (select array_agg(e.id) from endpoints e
       where e.account_id = s.account_id
         and (e.events is null or 'message.' || s.status = any(e.events))) end as endpoint_ids),
-- The callbacks.
announced as (
  insert into callbacks (
      endpoint_id, request_id, sequence, type, attempts, conversation_id, provider_at, provider_code, status, delivery,
    next_try_at)
  select e.endpoint_id, w.request_id, w.change_number, w.type, w.attempts, w.conversation_id, null, w.provider_code,
         null, null,
         greatest(clock_timestamp(), case when w.change_number > 1 then
           (select max(earlier.next_try_at) from callbacks earlier
            where earlier.endpoint_id = e.endpoint_id and earlier.request_id = w.request_id
              and coalesce(earlier.finished_at, 'infinity') = 'infinity') end)
  from written w cross join lateral unnest(w.endpoint_ids) e (endpoint_id)
  where (select exists (select from endpoints))),
-- The counters.
counted_changes as (
  insert into send_count_changes (account_id, channel_id, hour, priority, counted_as, change)
  select w.account_id, w.counted_channel, date_trunc('hour', w.accepted_at, 'UTC'),
         w.counted_priority, e.counted_as, sum(e.change)
  from written w cross join lateral (values (w.counted_as, 1), (w.counted_before, -1)) e (counted_as, change)
  where w.counted_as <> w.counted_before and e.counted_as <> 'waiting'
  group by 1, 2, 3, 4, 5)
select request_id as "requestId", failure as reason from written;

-- expiring_keys: Lists the API keys that expired in the last week, or expire in the next.
select k.display_prefix as "displayPrefix", a.name as "accountName", k.expires_at as "expiresAt",
       k.last_used_at as "lastUsedAt", count(*) over ()::int as total
from api_keys k join accounts a on a.id = k.account_id
where k.revoked_at is null and ($1::uuid is null or k.account_id = $1)
  and k.expires_at between now() - interval '7 days' and now() + interval '7 days'
order by k.expires_at limit 10;

-- fail_suppressed: Fails queued sends whose contact is suppressed.
-- $1: how many; $2: the sends; $3: the key of the hashes of erased contacts.
with
-- The sends, locked, and why they fail.
chosen as materialized (
  select s.request_id, s.counted_as, case suppressed.cause
      when 'manual' then 'suppressed: the contact was put on the list of those who get nothing'
      when 'bounce' then 'suppressed: an earlier message to this contact could not be delivered, for good'
      when 'complaint' then 'suppressed: the contact complained about an earlier message'
      when 'opt_out' then 'suppressed: the contact wants no messages from this channel' end as failure
  from sends s
    cross join lateral (
      select case when (select exists (select from suppressions)) then
          (select e.cause from suppressions e
           where e.account_id = s.account_id
             and coalesce(e.contact_key,
                 lower(e.contact_value collate "C") collate "default") = any(
               case when (select exists (
                    select from suppressions where erased_at is not null)) then
                 array[lower(s.contact_value collate "C") collate "default",
                       'erased:' || encode(sha256(
                         substring($3::bytea from 65)
                           || sha256(substring($3::bytea for 64)
                             || convert_to(s.account_id || ' '
                             || lower(s.contact_value collate "C") collate "default", 'UTF8'))), 'hex'),
                       case when s.contact_value <> lower(s.contact_value collate "C") collate "default" then
                         'erased:' || encode(sha256(
                           substring($3::bytea from 65)
                             || sha256(substring($3::bytea for 64)
                               || convert_to(s.account_id || ' '
                               || s.contact_value, 'UTF8'))), 'hex') end]
               else array[lower(s.contact_value collate "C") collate "default"] end)
             and (e.channel_id is null or e.channel_id = s.channel_id)
           limit 1) end as cause) suppressed
  where s.finished_at is null and s.status = 'queued'
    and s.request_id = any((select $2::uuid[])::uuid[])
      and suppressed.cause is not null
  order by s.request_id
  limit $1
  for no key update of s skip locked),
-- Their next states, numbered.
written as (
  update sends s set
    status = 'failed',
    failure = chosen.failure,
    finished_at = clock_timestamp(),
    claimed_at = null,
    claim_id = null,
    change_number = s.change_number + 1,
    counted_as = case when s.counted_as is not null then
        counted_as('failed', s.delivery, chosen.failure, s.attempt_record, null)
      else s.counted_as end
  from chosen
  where s.request_id = chosen.request_id
  returning
    s.request_id, s.status, s.failure,
    s.account_id, coalesce(s.former_channels[1], s.channel_id) as counted_channel,
    s.accepted_at, s.priority as counted_priority, s.counted_as, chosen.counted_as as counted_before,
    s.change_number, s.attempt as attempts, s.conversation_id,
    'message.' || s.status as type,
    case when (select exists (select from endpoints)) then null::text end as provider_code,
    case when (select exists (select from endpoints)) then
      (select array_agg(e.id) from endpoints e
       where e.account_id = s.account_id
         and (e.events is null or 'message.' || s.status = any(e.events))) end as endpoint_ids),
-- The callbacks.
announced as (
  insert into callbacks (
      endpoint_id, request_id, sequence, type, attempts, conversation_id, provider_at, provider_code, status, delivery,
    next_try_at)
  select e.endpoint_id, w.request_id, w.change_number, w.type, w.attempts, w.conversation_id, null, w.provider_code,
         null, null,
         greatest(clock_timestamp(), case when w.change_number > 1 then
           (select max(earlier.next_try_at) from callbacks earlier
            where earlier.endpoint_id = e.endpoint_id and earlier.request_id = w.request_id
              and coalesce(earlier.finished_at, 'infinity') = 'infinity') end)
  from written w cross join lateral unnest(w.endpoint_ids) e (endpoint_id)
  where (select exists (select from endpoints))),
-- The counters.
counted_changes as (
  insert into send_count_changes (account_id, channel_id, hour, priority, counted_as, change)
  select w.account_id, w.counted_channel, date_trunc('hour', w.accepted_at, 'UTC'),
         w.counted_priority, e.counted_as, sum(e.change)
  from written w cross join lateral (values (w.counted_as, 1), (w.counted_before, -1)) e (counted_as, change)
  where w.counted_as <> w.counted_before and e.counted_as <> 'waiting'
  group by 1, 2, 3, 4, 5)
select request_id as "requestId", failure as reason from written;

-- fail_waiting: Fails sends of a channel that have been due for too long while its provider kept failing.
-- $1: how many; $2: the channel; $3: how many seconds are too long; $4: the reason.
with
-- The sends, locked, and why they fail.
chosen as materialized (
  select s.request_id, s.counted_as, $4::text as failure
  from sends s join channels on channels.id = s.channel_id
  where s.finished_at is null and s.status = 'queued'
    and s.channel_id = $2 and s.priority in ('urgent', 'normal', 'bulk')
      and s.next_attempt_at < clock_timestamp() - $3 * interval '1 s'
      and channels.breaker_opened_at < clock_timestamp() - $3 * interval '1 s'
      and (channels.held_at is not null) is not true
        and (quiet_until(channels.quiet_hours, s.priority, s.contact_type, s.contact_value)
          is not null) is not true
        and (case when (select exists (select from ceilings))
                  and s.attempt = s.attempts_before_replay then
          (select ends
           from passed_ceiling(s.account_id, s.channel_id, s.contact_type, s.segments,
                               s.account_counted_at, s.channel_counted_at)) end
          is not null) is not true
  order by s.request_id
  limit $1
  for no key update of s skip locked),
-- Their next states, numbered.
written as (
  update sends s set
    status = 'failed',
    failure = chosen.failure,
    finished_at = clock_timestamp(),
    claimed_at = null,
    claim_id = null,
    change_number = s.change_number + 1,
    counted_as = case when s.counted_as is not null then
        counted_as('failed', s.delivery, chosen.failure, s.attempt_record, null)
      else s.counted_as end
  from chosen
  where s.request_id = chosen.request_id
  returning
    s.request_id, s.status, s.failure,
    s.account_id, coalesce(s.former_channels[1], s.channel_id) as counted_channel,
    s.accepted_at, s.priority as counted_priority, s.counted_as, chosen.counted_as as counted_before,
    s.change_number, s.attempt as attempts, s.conversation_id,
    'message.' || s.status as type,
    case when (select exists (select from endpoints)) then null::text end as provider_code,
    case when (select exists (select from endpoints)) then
      (select array_agg(e.id) from endpoints e
       where e.account_id = s.account_id
         and (e.events is null or 'message.' || s.status = any(e.events))) end as endpoint_ids),
-- The callbacks.
announced as (
  insert into callbacks (
      endpoint_id, request_id, sequence, type, attempts, conversation_id, provider_at, provider_code, status, delivery,
    next_try_at)
  select e.endpoint_id, w.request_id, w.change_number, w.type, w.attempts, w.conversation_id, null, w.provider_code,
         null, null,
         greatest(clock_timestamp(), case when w.change_number > 1 then
           (select max(earlier.next_try_at) from callbacks earlier
            where earlier.endpoint_id = e.endpoint_id and earlier.request_id = w.request_id
              and coalesce(earlier.finished_at, 'infinity') = 'infinity') end)
  from written w cross join lateral unnest(w.endpoint_ids) e (endpoint_id)
  where (select exists (select from endpoints))),
-- The counters.
counted_changes as (
  insert into send_count_changes (account_id, channel_id, hour, priority, counted_as, change)
  select w.account_id, w.counted_channel, date_trunc('hour', w.accepted_at, 'UTC'),
         w.counted_priority, e.counted_as, sum(e.change)
  from written w cross join lateral (values (w.counted_as, 1), (w.counted_before, -1)) e (counted_as, change)
  where w.counted_as <> w.counted_before and e.counted_as <> 'waiting'
  group by 1, 2, 3, 4, 5)
select request_id as "requestId", failure as reason from written;

-- fail_waiting_of_deleted: Fails the waiting sends of deleted channels.
-- $1: how many.
with
-- The sends, locked, and why they fail.
chosen as materialized (
  select s.request_id, s.counted_as, 'its channel was deleted' as failure
  from sends s
  where s.finished_at is null and s.status = 'queued'
    and s.channel_id = any(array(
        select id from channels where deleted_at is not null and ($2::uuid is null or id = $2)))
  order by s.request_id
  limit $1
  for no key update of s skip locked),
-- Their next states, numbered.
written as (
  update sends s set
    status = 'failed',
    failure = chosen.failure,
    finished_at = clock_timestamp(),
    claimed_at = null,
    claim_id = null,
    change_number = s.change_number + 1,
    counted_as = case when s.counted_as is not null then
        counted_as('failed', s.delivery, chosen.failure, s.attempt_record, null)
      else s.counted_as end
  from chosen
  where s.request_id = chosen.request_id
  returning
    s.request_id, s.status, s.failure,
    s.account_id, coalesce(s.former_channels[1], s.channel_id) as counted_channel,
    s.accepted_at, s.priority as counted_priority, s.counted_as, chosen.counted_as as counted_before,
    s.change_number, s.attempt as attempts, s.conversation_id,
    'message.' || s.status as type,
    case when (select exists (select from endpoints)) then null::text end as provider_code,
    case when (select exists (select from endpoints)) then
      (select array_agg(e.id) from endpoints e
       where e.account_id = s.account_id
         and (e.events is null or 'message.' || s.status = any(e.events))) end as endpoint_ids),
-- The callbacks.
announced as (
  insert into callbacks (
      endpoint_id, request_id, sequence, type, attempts, conversation_id, provider_at, provider_code, status, delivery,
    next_try_at)
  select e.endpoint_id, w.request_id, w.change_number, w.type, w.attempts, w.conversation_id, null, w.provider_code,
         null, null,
         greatest(clock_timestamp(), case when w.change_number > 1 then
           (select max(earlier.next_try_at) from callbacks earlier
            where earlier.endpoint_id = e.endpoint_id and earlier.request_id = w.request_id
              and coalesce(earlier.finished_at, 'infinity') = 'infinity') end)
  from written w cross join lateral unnest(w.endpoint_ids) e (endpoint_id)
  where (select exists (select from endpoints))),
-- The counters.
counted_changes as (
  insert into send_count_changes (account_id, channel_id, hour, priority, counted_as, change)
  select w.account_id, w.counted_channel, date_trunc('hour', w.accepted_at, 'UTC'),
         w.counted_priority, e.counted_as, sum(e.change)
  from written w cross join lateral (values (w.counted_as, 1), (w.counted_before, -1)) e (counted_as, change)
  where w.counted_as <> w.counted_before and e.counted_as <> 'waiting'
  group by 1, 2, 3, 4, 5)
select request_id as "requestId", failure as reason from written;

-- failing_endpoints: Lists the endpoints that are disabled, or fail, disabled ones first.
select e.id as "endpointId", e.url, a.name as "accountName", e.disabled_at is not null as "isDisabled",
       coalesce(e.disabled_at, e.failing_since) as since, e.disabled_reason as reason,
       count(*) over ()::int as total
from endpoints e join accounts a on a.id = e.account_id
where ($1::uuid is null or e.account_id = $1) and (e.disabled_at is not null or e.failing_since is not null)
order by e.disabled_at is null, since limit 10;

-- failing_providers: Finds the providers of which several channels fail at once.
select provider, count(*)::int as channels, count(*) filter (where fails)::int as failing,
       min(coalesce(breaker_opened_at, breaker_open_until)) filter (where fails) as since
from (select c.*, c.held_at is null and c.breaker_open_until is not null as fails from channels c) c
where deleted_at is null and ($1::uuid is null or c.account_id = $1)
group by provider having count(*) filter (where fails) > 1
order by failing desc;

-- failures_of_all: Counts all sends that went wrong by reason and code.
-- $1: the hours; $2: how many.
select state, reason, code, sum(sends)::int as sends
from (
  select state, reason, code, sends
  from failure_counts
  where hour = any($1::timestamptz[])
    and channel_id = '00000000-0000-0000-0000-000000000000'
  union all
  select split_part(counted_as, '/', 1),
         split_part(counted_as, '/', 2),
         coalesce(substring(counted_as from '^[^/]*/[^/]*/(.*)$'), ''), change
  from send_count_changes
  where hour between (select min(h) from unnest($1::timestamptz[]) h)
             and (select max(h) from unnest($1::timestamptz[]) h)
    and true
    and split_part(counted_as, '/', 1) in ('failed', 'uncertain', 'undelivered')) f
group by state, reason, code having sum(sends) > 0
order by sum(sends) desc, state, reason, code limit $2;

-- failures_of_some: Counts the sends of an account or a channel that went wrong by reason and code.
-- $1: the hours; $2: account or channel; $3: its id; $4: how many.
select state, reason, code, sum(sends)::int as sends
from (
  select state, reason, code, sends
  from failure_counts
  where hour = any($1::timestamptz[])
    and channel_id = any(case $2 when 'channel' then array[$3::uuid]
              else array(select id from channels where account_id = $3) end)
  union all
  select split_part(counted_as, '/', 1),
         split_part(counted_as, '/', 2),
         coalesce(substring(counted_as from '^[^/]*/[^/]*/(.*)$'), ''), change
  from send_count_changes
  where hour between (select min(h) from unnest($1::timestamptz[]) h)
             and (select max(h) from unnest($1::timestamptz[]) h)
    and channel_id = any(case $2 when 'channel' then array[$3::uuid]
              else array(select id from channels where account_id = $3) end)
    and split_part(counted_as, '/', 1) in ('failed', 'uncertain', 'undelivered')) f
group by state, reason, code having sum(sends) > 0
order by sum(sends) desc, state, reason, code limit $4;

-- fall_back: Moves sends that have just ended to their fallback channels.
-- $1: the sends, each with its new channel, its message there, why it ended, its provider's code, whether
-- that was seen.
with
-- The decision about each.
decided as materialized (
  select * from json_to_recordset($1) as
    ("requestId" uuid, "toChannelId" uuid, message jsonb, reason text, "providerCode" text, "wasSeen" boolean)),
-- The sends that fall back, locked.
chosen as materialized (
  select s.*, d."toChannelId", d.message as "newMessage", d.reason, d."providerCode", d."wasSeen",
         clock_timestamp() as moved_at
  from sends s join decided d on d."requestId" = s.request_id
  where s.request_id = any(array(select "requestId" from decided))
  order by s.request_id
  for no key update of s),
-- As an accept on their new channels gives them.
given as materialized (
  select s.request_id as "requestId", s.account_id as "accountId", channels.id as "channelId",
         jsonb_build_object('type', s.contact_type, 'value', s.contact_value) as contact,
         s.priority, channels.ordering, channels.expire_after_seconds,
         row_number() over (order by s.seq) as ordinality
  from chosen s join channels on channels.id = s."toChannelId"),
-- The part of their quotas that their accounts have used, by channel.
used as materialized (
  select "accountId" as account_id, channel_id, is_urgent, sends
  from (select distinct "accountId" from given) accounts cross join lateral (
    select channel_id, priority = 'urgent' as is_urgent, count(*) as sends from sends
    where account_id = "accountId" and coalesce(sends.finished_at, 'infinity') = 'infinity' and not sends.overflow
    group by channel_id, is_urgent) by_channel),
-- The lane of each, and whether it is beyond its channel's quota.
counted as (
  select given.*,
         case ordering when 'contact' then
           hashtextextended(concat(
             "channelId", ' ', contact->>'type', ' ',
             lower((contact->>'value') collate "C") collate "default",
             case when priority = 'urgent' then ' urgent' end), 0) end as lane,
         row_number() over (partition by "channelId", "isUrgent" order by ordinality)
           > 16 - coalesce(of_channel.sends, 0) as "isBeyondChannel",
         of_account.sends as "usedByAccount"
  from (select *, coalesce(priority = 'urgent', false) as "isUrgent" from given) given
    left join used of_channel on of_channel.channel_id = "channelId" and of_channel.is_urgent = "isUrgent"
    left join (select account_id, is_urgent, sum(sends) as sends from used group by account_id, is_urgent) of_account
      on of_account.account_id = "accountId" and of_account.is_urgent = "isUrgent"),
-- The send before each in its lane, in this batch or earlier, and whether it goes to the overflow.
ordered as (
  select counted.*,
         case when lane is not null then
           coalesce(lag("requestId") over (partition by lane order by ordinality),
                    (select request_id from sends s
                     where s.lane = counted.lane and coalesce(s.finished_at, 'infinity') = 'infinity'
                     order by seq desc limit 1)) end as behind,
         "isBeyondChannel" or row_number() over (
               partition by "accountId", "isUrgent", "isBeyondChannel" order by ordinality)
             > 100 - coalesce("usedByAccount", 0) as overflow
  from counted),
-- Each with its place among the sends to its contact.
placed as materialized (
  select o.*, nextval('sends_seq_seq') as seq from (select * from ordered order by ordinality) o),
-- Their last attempts.
attempts as (
  select s.request_id, s.channel_id, s."toChannelId", s.reason, s.moved_at,
         s.attempt, s.worker,
         case when not ((s.claimed_at is not null and s.attempt_record is null) and coalesce((
             select true from send_events e
             where e.request_id = s.request_id and e.at = s.claimed_at and e.event = 'attempt_started'
             limit 1), false))
              then s.claimed_at end as claimed_at,
         s.finished_at as ended_at, s.attempt_record as record,
         case when (s.claimed_at is not null and s.attempt_record is null)
                   and not ((s.claimed_at is not null and s.attempt_record is null) and coalesce((
                       select true from send_events e
                       where e.request_id = s.request_id and e.at = s.claimed_at and e.event = 'attempt_started'
                       limit 1), false))
              then json_build_object('attempt', s.attempt, 'reason', s.failure) end as loss,
         s.status, s.failure,
         case when s.status <> 'failed' then s.finished_at end as sent_at,
         case when s.status = 'failed' and s."wasSeen" then s.finished_at end as failed_at
  from chosen s),
-- Their events.
events as (
  insert into send_events (request_id, at, event, fields)
  select a.request_id, e.at, e.event, e.fields
  from attempts a cross join lateral (values
    (1, a.claimed_at, 'attempt_started', json_build_object('attempt', a.attempt, 'worker', a.worker)),
    (2, a.ended_at, 'attempt_lost', a.loss),
    (3, a.ended_at, 'attempt_finished', a.record),
    (4, a.sent_at, 'sent', json_build_object()),
    (5, a.failed_at, 'failed', json_build_object('reason', a.failure)),
    (6, a.moved_at, 'fell_back', json_build_object(
      'fromChannelId', a.channel_id, 'toChannelId', a."toChannelId",
      'reason', a.reason))
  ) as e (position, at, event, fields)
  where e.at is not null and e.fields is not null
  order by a.request_id, e.position),
-- Sends to contacts that are suppressed there are failed, also if they would wait.
checked as (
  insert into suppression_checks (account_id, contact_value)
  select distinct c.account_id, c.contact_value
  from chosen c
  where (select exists (select from suppressions)) and coalesce((
    select true from suppressions e
    where e.account_id = c.account_id
      and coalesce(e.contact_key,
          lower(e.contact_value collate "C") collate "default")
        = lower(c.contact_value collate "C") collate "default"
    limit 1), false)),
-- A permit was for the other channel.
unused as (
  delete from permits where request_id = any(array(select request_id from chosen))),
-- Its endpoints get no callback about a failure after which it goes on, unless they may have got it.
retracted as (
  delete from callbacks c using chosen s join endpoints e on e.account_id = s.account_id
  where c.endpoint_id = e.id and c.request_id = s.request_id and c.sequence = s.change_number
    and c.type = 'message.failed' and not s."wasSeen"),
-- Their next states, numbered. The message is as old as before, and the other channel may let it wait for less long.
written as (
  update sends s set
    status = 'queued',
    channel_id = placed."channelId",
    former_channels = s.former_channels || s.channel_id,
    message = chosen."newMessage",
    lane = placed.lane,
    seq = placed.seq,
    behind = placed.behind,
    overflow = placed.overflow,
    next_attempt_at = chosen.moved_at,
    expires_at = least(s.expires_at,
                       greatest(s.accepted_at, s.send_at) + placed.expire_after_seconds * interval '1 s'),
    attempts_before_replay = s.attempt,
    channel_counted_at = null,
    account_counted_at = case when s.account_counted_at is not null then 'infinity'::timestamptz end,
    losses = 0,
    claimed_at = null,
    attempt_record = null,
    provider_message_id = null,
    delivery = null,
    delivery_at = null,
    finished_at = null,
    failure = null,
    change_number = s.change_number + 1,
    counted_as = case when s.counted_as is not null then
        counted_as('queued', null, null, null, null)
      else s.counted_as end
  from placed join chosen on chosen.request_id = placed."requestId"
  where s.request_id = placed."requestId"
  returning
    s.request_id, s.status, s.channel_id, s.overflow,
    s.account_id, coalesce(s.former_channels[1], s.channel_id) as counted_channel,
    s.accepted_at, s.priority as counted_priority, s.counted_as, chosen.counted_as as counted_before,
    s.change_number, s.attempt as attempts, s.conversation_id,
    'message.fell_back' as type,
    case when (select exists (select from endpoints)) then chosen."providerCode" end as provider_code,
    case when (select exists (select from endpoints)) then
      (select array_agg(e.id) from endpoints e
       where e.account_id = s.account_id
         and (e.events is null or 'message.fell_back' = any(e.events))) end as endpoint_ids),
-- The callbacks.
announced as (
  insert into callbacks (
      endpoint_id, request_id, sequence, type, attempts, conversation_id, provider_at, provider_code, status, delivery,
    next_try_at)
  select e.endpoint_id, w.request_id, w.change_number, w.type, w.attempts, w.conversation_id, null, w.provider_code,
         null, null,
         greatest(clock_timestamp(), case when w.change_number > 1 then
           (select max(earlier.next_try_at) from callbacks earlier
            where earlier.endpoint_id = e.endpoint_id and earlier.request_id = w.request_id
              and coalesce(earlier.finished_at, 'infinity') = 'infinity') end)
  from written w cross join lateral unnest(w.endpoint_ids) e (endpoint_id)
  where (select exists (select from endpoints))),
-- The counters.
counted_changes as (
  insert into send_count_changes (account_id, channel_id, hour, priority, counted_as, change)
  select w.account_id, w.counted_channel, date_trunc('hour', w.accepted_at, 'UTC'),
         w.counted_priority, e.counted_as, sum(e.change)
  from written w cross join lateral (values (w.counted_as, 1), (w.counted_before, -1)) e (counted_as, change)
  where w.counted_as <> w.counted_before and e.counted_as <> 'waiting'
  group by 1, 2, 3, 4, 5)
select request_id as "requestId", case when written.overflow then written.channel_id end as "overflowOf" from written;

-- fallback_chains: Finds the channels by which sends may go on, in their order.
-- $1: the channels that have the sends, each with the name of a template.
with recursive
-- The channels.
asked as (
  select * from json_to_recordset($1) as ("channelId" uuid, "templateName" text)),
-- The fallback of each, and the fallback of that.
chain as (
  select a."channelId" as start, a."templateName", 1 as place, c.fallback_channel_id as next,
         c.fallback_on as "on", c.fallback_within_seconds as within
  from asked a join channels c on c.id = a."channelId" and c.fallback_channel_id is not null
  union all
  select chain.start, chain."templateName", chain.place + 1, c.fallback_channel_id,
         c.fallback_on, c.fallback_within_seconds
  from chain join channels c on c.id = chain.next
  where chain.place < 2 and c.fallback_channel_id is not null)
select chain.start as from, chain."templateName", c.id as "channelId", c.name, c.provider,
       c.sealed_config as "sealedConfig", c.deleted_at is not null as "isDeleted",
       c.expire_after_seconds as "expireAfterSeconds", c.countries,
       (select t.definition from templates t where t.channel_id = c.id and t.name = chain."templateName") as template,
       chain."on" as "fallbackOn", chain.within as "fallbackWithinSeconds"
from chain join channels c on c.id = chain.next
order by chain.place;

-- find_accounts: Finds accounts by their id, or a part of their name in any case, for operators; those that fit best come first.
-- $1: the id or the part; $2: how many.
select id as "accountId", name,
       case when id::text = $1 then 0 when name = $1 then 1 when lower(name) = lower($1) then 2
            when starts_with(lower(name), lower($1)) then 3 else 4 end as rank
from accounts
where id::text = $1 or position(lower($1) in lower(name)) > 0
order by rank, lower(name), id limit $2;

-- find_callers: Finds the accounts and permissions of API keys by their hashes.
select encode(k.hash, 'hex') as hash, k.id as "keyId", k.display_prefix as "keyPrefix",
       k.account_id as "accountId", k.permissions,
       extract(epoch from k.expires_at - clock_timestamp())::float8 * 1000 as "expiresInMs",
       a.rate_limit_points as points, a.rate_limit_seconds as seconds,
       (k.last_used_at > clock_timestamp() - interval '1 hour') is not true as "isUseDue"
from api_keys k join accounts a on a.id = k.account_id
where k.hash = any(array(select decode(hex, 'hex') from json_array_elements_text($1) as hex))
  and k.revoked_at is null and coalesce(k.expires_at > clock_timestamp(), true);

-- find_content: Reads the content of an account's send, scheduled or not, unless it was erased.
select s.message from sends s
where s.request_id = $1 and s.account_id = $2 and not s.contact_value = 'erased'
union all
select s.message from scheduled_sends s
where s.request_id = $1 and s.account_id = $2 and not s.contact_value = 'erased';

-- find_dead_workers: Lists the workers whose lease has run out.
select name from workers where alive_until < clock_timestamp();

-- find_fallbacks: Reads sends that have just ended on channels with a fallback, and what decides whether they move to it.
-- $1: the sends; $2: the key of the hashes of erased contacts.
with
-- The channel that has each now, and the fallback of that.
ways as (
  select s.request_id, present.provider as "presentProvider",
         present.fallback_on as "fallbackOn", present.fallback_within_seconds as "fallbackWithinSeconds",
         case when target.id is not null then json_build_object(
           'channelId', target.id, 'name', target.name, 'provider', target.provider,
           'sealedConfig', target.sealed_config, 'isDeleted', target.deleted_at is not null,
           'expireAfterSeconds', target.expire_after_seconds, 'countries', target.countries,
           'template', (select t.definition from templates t
                        where t.channel_id = target.id
                          and t.name = s.message->'template'->>'name')) end as target
  from sends s
    join channels present on present.id = s.channel_id
    left join channels target on target.id = present.fallback_channel_id
  where s.request_id = any((select $1::uuid[])::uuid[])),
-- Their events.
stored as (
  select e.request_id,
         json_agg(json_build_object('at', e.at, 'event', e.event, 'fields', e.fields) order by e.id) as events
  from send_events e
  where e.request_id = any((select $1::uuid[])::uuid[])
  group by e.request_id)
select s.request_id as "requestId", s.status as "status",
  coalesce(s.former_channels[1], s.channel_id) as "channelId",
  s.contact_type as "contactType", s.contact_value as "contactValue",
  s.contact_name as "contactName", s.message_type as "messageType",
  s.flow_id as "flowId", s.conversation_id as "conversationId",
  s.accepted_at as "acceptedAt", s.finished_at as "finishedAt",
  s.attempt as "attempt", s.worker as "worker", s.claimed_at as "claimedAt",
  s.attempt_record as "attemptRecord",
  s.provider_message_id as "providerMessageId", s.failure as "failure",
  s.delivery as "delivery", s.delivery_at as "deliveryAt",
  case when s.delivery = 'undelivered' then
    (select e.fields from send_events e
     where e.request_id = s.request_id and e.event = 'undelivered'
     order by e.at desc limit 1) end as "undelivered",
  s.send_at as "sendAt",
  case when s.status = 'queued' and s.next_attempt_at > clock_timestamp()
       then s.next_attempt_at end as "nextAttemptAt",
  s.priority as "priority", s.reference as "reference",
  s.expires_in_seconds as "expiresInSeconds", s.metadata as "metadata",
  s.segments as "segments", s.encoding as "encoding",
  case when s.former_channels is not null then s.channel_id end as "sentThrough",
       s.message, s.former_channels as "formerChannels", s.channel_id as "presentChannelId",
       s.expires_at as "expiresAt", clock_timestamp() as now,
       case when s.overflow then s.channel_id end as "overflowOf",
       ways."presentProvider", ways."fallbackOn", ways."fallbackWithinSeconds", ways.target,
       coalesce(stored.events, '[]') as "storedEvents",
       exists (
         select from suppressions e
         where e.account_id = s.account_id and e.channel_id is null
           and coalesce(e.contact_key,
               lower(e.contact_value collate "C") collate "default") = any(
             case when (select exists (
                  select from suppressions where erased_at is not null)) then
               array[lower(s.contact_value collate "C") collate "default",
                     'erased:' || encode(sha256(
                       substring($2::bytea from 65)
                         || sha256(substring($2::bytea for 64)
                           || convert_to(s.account_id || ' '
                           || lower(s.contact_value collate "C") collate "default", 'UTF8'))), 'hex'),
                     case when s.contact_value <> lower(s.contact_value collate "C") collate "default" then
                       'erased:' || encode(sha256(
                         substring($2::bytea from 65)
                           || sha256(substring($2::bytea for 64)
                             || convert_to(s.account_id || ' '
                             || s.contact_value, 'UTF8'))), 'hex') end]
             else array[lower(s.contact_value collate "C") collate "default"] end)) as "isSuppressed"
from sends s join ways using (request_id) left join stored using (request_id)
where s.request_id = any((select $1::uuid[])::uuid[]);

-- find_idempotency_keys: Finds the sends of Idempotency-Keys.
select encode(hash, 'hex') as hash, encode(fingerprint, 'hex') as fingerprint, request_id as "requestId",
       batch
from idempotency_keys
where hash = any(array(select decode(hex, 'hex') from json_array_elements_text($1) as hex))
  and created_at >= clock_timestamp() - interval '24 hours';

-- find_lost_claims: Finds claims that no worker will end, because their worker is dead or has dropped them.
-- $1: how many; $2: the sweeping worker; $3: its sends in flight; $4: until when it may sweep.
select s.request_id as "requestId", s.claim_id as "claimId", s.attempt,
       s.attempts_before_replay as "attemptsBeforeReplay", s.losses, s.worker,
       s.channel_id as "channelId", channels.provider, channels.sealed_config as "sealedConfig",
       channels.on_uncertain as "onUncertain", channels.fallback_channel_id is not null as "hasFallback",
       (s.conversation_id is not null) as "mayHaveCalled"
from sends s join channels on channels.id = s.channel_id left join workers w on w.name = s.worker
where s.finished_at is null and s.status = 'sending'
  and ((s.worker <> $2 and w.alive_until < clock_timestamp() and clock_timestamp() < $4) or
     (s.worker <> $2 and w.name is null and s.claimed_at < clock_timestamp() - interval '1 minutes') or
     (s.worker = $2 and s.request_id <> all($3::uuid[]) and s.claimed_at < clock_timestamp() - interval '1 minutes'))
limit $1;

-- find_own_channels: Finds channels, each only if it belongs to its account.
select own.*
from json_to_recordset($1) as asked ("channelId" uuid, "accountId" uuid)
cross join lateral (
  select id as "channelId", account_id as "accountId", provider, ordering, expire_after_seconds as "expireAfterSeconds",
    countries, case when provider in ('twilio', 'vonage') then sealed_config end as "sealedConfig",
    deleted_at is not null as "isDeleted",
    exists (select from ceilings where owner_id in (id, account_id)) as "hasCeiling"
  from channels where id = asked."channelId" and account_id = asked."accountId" limit 1) own;

-- find_own_key: Reads what a client sees of its API key.
select a.name as "accountName", k.expires_at as "expiresAt"
from api_keys k join accounts a on a.id = k.account_id
where k.id = $1;

-- find_send: Reads a send, scheduled or not, with its stored events.
select found.*, e.at as "eventAt", e.event, e.fields
from (
  select s.request_id as "requestId", s.status as "status",
    coalesce(s.former_channels[1], s.channel_id) as "channelId",
    s.contact_type as "contactType", s.contact_value as "contactValue",
    s.contact_name as "contactName", s.message_type as "messageType",
    s.flow_id as "flowId", s.conversation_id as "conversationId",
    s.accepted_at as "acceptedAt", s.finished_at as "finishedAt",
    s.attempt as "attempt", s.worker as "worker", s.claimed_at as "claimedAt",
    s.attempt_record as "attemptRecord",
    s.provider_message_id as "providerMessageId", s.failure as "failure",
    s.delivery as "delivery", s.delivery_at as "deliveryAt",
    case when s.delivery = 'undelivered' then
      (select e.fields from send_events e
       where e.request_id = s.request_id and e.event = 'undelivered'
       order by e.at desc limit 1) end as "undelivered",
    s.send_at as "sendAt",
    case when s.status = 'queued' and s.next_attempt_at > clock_timestamp()
         then s.next_attempt_at end as "nextAttemptAt",
    s.priority as "priority", s.reference as "reference",
    s.expires_in_seconds as "expiresInSeconds", s.metadata as "metadata",
    s.segments as "segments", s.encoding as "encoding",
    case when s.former_channels is not null then s.channel_id end as "sentThrough"
  from sends s where s.request_id = $1 and ($2::uuid is null or s.account_id = $2)
  union all
  select s.request_id as "requestId", 'queued' as "status", s.channel_id as "channelId",
    s.contact_type as "contactType", s.contact_value as "contactValue",
    s.contact_name as "contactName", s.message_type as "messageType",
    s.flow_id as "flowId", null as "conversationId", s.accepted_at as "acceptedAt",
    null as "finishedAt", 0 as "attempt", null as "worker", null as "claimedAt",
    null as "attemptRecord", null as "providerMessageId", null as "failure",
    null as "delivery", null as "deliveryAt", null as "undelivered",
    s.send_at as "sendAt", s.send_at as "nextAttemptAt", s.priority as "priority",
    s.reference as "reference", s.expires_in_seconds as "expiresInSeconds",
    s.metadata as "metadata", s.segments as "segments", s.encoding as "encoding",
    null as "sentThrough"
  from scheduled_sends s where s.request_id = $1 and ($2::uuid is null or s.account_id = $2)) found
  left join send_events e on e.request_id = found."requestId"
order by e.id;

-- finish_audit: Adds what came of a change to its row of the audit.
select finish_audit($1::uuid, $2::jsonb);

-- fold_counts: Adds a page of the changes that statements have appended to the counters.
with
-- The changes, which leave their table.
taken as (
  delete from send_count_changes
  where ctid = any(array(select ctid from send_count_changes limit $1))
  returning hour, channel_id, account_id, counted_as, change),
-- Each for its channel, and for all.
changes as materialized (
  select hour, whose.channel_id, whose.account_id,
         split_part(counted_as, '/', 1) as state,
         split_part(counted_as, '/', 2) as reason,
         coalesce(substring(counted_as from '^[^/]*/[^/]*/(.*)$'), '') as code, change
  from taken cross join lateral (values
    (taken.channel_id, taken.account_id),
    ('00000000-0000-0000-0000-000000000000'::uuid, '00000000-0000-0000-0000-000000000000'::uuid)
  ) whose (channel_id, account_id)),
-- By state.
by_state as (
  insert into send_counts as c (
    hour, channel_id, account_id, accepted, sent, delivered, read, undelivered, failed, uncertain, canceled)
  select hour, channel_id, account_id,
         coalesce(sum(change) filter (where state = 'accepted'), 0),
         coalesce(sum(change) filter (where state = 'sent'), 0),
         coalesce(sum(change) filter (where state = 'delivered'), 0),
         coalesce(sum(change) filter (where state = 'read'), 0),
         coalesce(sum(change) filter (where state = 'undelivered'), 0),
         coalesce(sum(change) filter (where state = 'failed'), 0),
         coalesce(sum(change) filter (where state = 'uncertain'), 0),
         coalesce(sum(change) filter (where state = 'canceled'), 0)
  from changes group by hour, channel_id, account_id
  on conflict (hour, channel_id) do update set
    accepted = c.accepted + excluded.accepted,
    sent = c.sent + excluded.sent,
    delivered = c.delivered + excluded.delivered,
    read = c.read + excluded.read,
    undelivered = c.undelivered + excluded.undelivered,
    failed = c.failed + excluded.failed,
    uncertain = c.uncertain + excluded.uncertain,
    canceled = c.canceled + excluded.canceled),
-- By reason and code.
by_reason as (
  insert into failure_counts as c (hour, channel_id, account_id, state, reason, code, sends)
  select hour, channel_id, account_id, state, reason, code, sum(change)
  from changes where state in ('failed', 'uncertain', 'undelivered')
  group by hour, channel_id, account_id, state, reason, code
  on conflict (hour, channel_id, state, reason, code) do update set sends = c.sends + excluded.sends)
select count(*)::int as folded from taken;

-- foresee_sends: Reads what keeps sends from being called, and whether they have a permit.
-- $1: the sends; $2: the key of the hashes of erased contacts.
with
-- The sends, and when they are due.
asked as (
  select s.*, at.now, greatest(s.send_at, at.now) as due_at
  from sends s cross join lateral (
    select clock_timestamp() as now) at
  where s.request_id = any((select $1::uuid[])::uuid[])),
-- What each waits for: now, or at its later time.
waiting as (
  select s.request_id,
         case when s.due_at > s.now then
           (select coalesce(json_agg(json_build_object('reason', reason.name, 'until', reason.until)
                                     order by reason.place), '[]')
            from (values
              (0, 'held',
               channels.held_at is not null,
               null::timestamptz),
              (1, 'quiet_hours',
               quiet_until(channels.quiet_hours, s.priority, s.contact_type, s.contact_value, s.due_at) is not null,
               quiet_until(channels.quiet_hours, s.priority, s.contact_type, s.contact_value, s.due_at))
            ) reason (place, name, is_waiting, until)
            where reason.is_waiting)
         else
           (select coalesce(json_agg(json_build_object('reason', reason.name, 'until', reason.until)
                                     order by reason.place), '[]')
            from (values
                (0, 'held',
                 channels.held_at is not null,
                 null::timestamptz),
                (1, 'quiet_hours',
                 quiet_until(channels.quiet_hours, s.priority, s.contact_type, s.contact_value)
                   is not null,
                 quiet_until(channels.quiet_hours, s.priority, s.contact_type, s.contact_value)),
                (2, 'ceiling',
                 case when (select exists (select from ceilings))
                           and s.attempt = s.attempts_before_replay then
                   (select ends
                    from passed_ceiling(s.account_id, s.channel_id, s.contact_type, s.segments,
                                        s.account_counted_at, s.channel_counted_at)) end
                   is not null,
                 case when (select exists (select from ceilings))
                           and s.attempt = s.attempts_before_replay then
                   (select ends
                    from passed_ceiling(s.account_id, s.channel_id, s.contact_type, s.segments,
                                        s.account_counted_at, s.channel_counted_at)) end),
                (3, 'behind',
                 coalesce((
                   select true from sends earlier
                   where earlier.lane = s.lane and earlier.seq < s.seq
                     and coalesce(earlier.finished_at, 'infinity') = 'infinity'
                   limit 1), false),
                 null::timestamptz),
                (4, 'retry',
                 s.next_attempt_at > clock_timestamp(),
                 s.next_attempt_at),
                (5, 'breaker_open',
                 channels.breaker_open_until is not null,
                 channels.breaker_open_until),
                (6, 'waits_for_permit',
                 num_nonnulls(channels.rate_calls, channels.max_in_flight) > 0,
                 null::timestamptz),
                (7, 'slow_start',
                 s.overflow and coalesce(channels.answered_at < clock_timestamp() - interval '10 s', true),
                 null::timestamptz)) reason (place, name, is_waiting, until)
            where reason.is_waiting)
         end as waits
  from asked s join channels on channels.id = s.channel_id)
select s.request_id as "requestId", s.channel_id as "channelId", s.failure,
       coalesce(cardinality(s.former_channels), 0) as "formerChannels",
       case when channels.fallback_channel_id is not null then channels.provider end as "fallsBackFrom",
       s.status = 'queued' and (case when (select exists (select from suppressions)) then
             (select e.cause from suppressions e
              where e.account_id = s.account_id
                and coalesce(e.contact_key,
                    lower(e.contact_value collate "C") collate "default") = any(
                  case when (select exists (
                       select from suppressions where erased_at is not null)) then
                    array[lower(s.contact_value collate "C") collate "default",
                          'erased:' || encode(sha256(
                            substring($2::bytea from 65)
                              || sha256(substring($2::bytea for 64)
                                || convert_to(s.account_id || ' '
                                || lower(s.contact_value collate "C") collate "default", 'UTF8'))), 'hex'),
                          case when s.contact_value <> lower(s.contact_value collate "C") collate "default" then
                            'erased:' || encode(sha256(
                              substring($2::bytea from 65)
                                || sha256(substring($2::bytea for 64)
                                  || convert_to(s.account_id || ' '
                                  || s.contact_value, 'UTF8'))), 'hex') end]
                  else array[lower(s.contact_value collate "C") collate "default"] end)
                and (e.channel_id is null or e.channel_id = s.channel_id)
              limit 1) end is not null) as "isSuppressed",
       s.now, s.due_at as "dueAt", s.due_at > s.now as "isLater", s.expires_at as "expiresAt",
       waiting.waits,
       (select ceil(greatest(
          0, coalesce(extract(epoch from p.call_at - clock_timestamp()) * 1000, 0) - 100))::float8
        from permits p
        where p.request_id = s.request_id and p.attempt = s.attempt + 1
          and p.valid_until > clock_timestamp()
          and (p.is_probe or channels.breaker_open_until is null)) as "permitInMs",
       case when not (channels.breaker_open_until is not null
          or num_nonnulls(channels.rate_calls, channels.max_in_flight) > 0) then exists (
         select s.request_id
         from (select * from sends s
               where s.channel_id = mine.channel_id and s.priority < mine.priority and s.finished_at is null
                 and s.status = 'queued' and s.next_attempt_at <= clock_timestamp()
                   and not coalesce(s.expires_at <= clock_timestamp(), false)
               order by s.priority, s.next_attempt_at limit 100) s
         where (channels.held_at is not null) is not true
           and (quiet_until(channels.quiet_hours, s.priority, s.contact_type, s.contact_value)
             is not null) is not true
           and (case when (select exists (select from ceilings))
                     and s.attempt = s.attempts_before_replay then
             (select ends
              from passed_ceiling(s.account_id, s.channel_id, s.contact_type, s.segments,
                                  s.account_counted_at, s.channel_counted_at)) end
             is not null) is not true
           and (coalesce((
             select true from sends earlier
             where earlier.lane = s.lane and earlier.seq < s.seq
               and coalesce(earlier.finished_at, 'infinity') = 'infinity'
             limit 1), false)) is not true
           and (not (channels.breaker_open_until is not null
              or num_nonnulls(channels.rate_calls, channels.max_in_flight) > 0
              or s.overflow and coalesce(channels.answered_at < clock_timestamp() - interval '10 s', true))
                or coalesce(
                    (select ceil(greatest(
                       0, coalesce(extract(epoch from p.call_at - clock_timestamp()) * 1000, 0) - 100))::float8
                     from permits p
                     where p.request_id = s.request_id and p.attempt = s.attempt + 1
                       and p.valid_until > clock_timestamp()
                       and (p.is_probe or channels.breaker_open_until is null)) < 100, false))
         order by s.priority, s.next_attempt_at, s.seq)
       else false end as "isAfterMoreUrgent"
from asked s join channels on channels.id = s.channel_id join waiting using (request_id)
  cross join lateral (
    select s.channel_id, s.priority) mine;

-- forget_dead_workers: Removes dead workers whose claims have been given up.
delete from workers where name = any($1) and alive_until < clock_timestamp();

-- give_up_claims: Ends lost claims: uncertain, failed or queued again, as decided for each.
-- $1: what was decided about each claim; $2: the sweeping worker; $3: its sends in flight; $4: until when it may sweep.
with
-- The given decisions.
given_up as materialized (
  select * from json_to_recordset($1) as
    ("requestId" uuid, "claimId" uuid, "mayHaveCalled" boolean, status text, reason text, "delayMs" float8)),
-- The claims that are still lost, with the attempt from the send's row. Locked in the order of ids.
attempted as materialized (
  select s.request_id, s.attempt, s.worker, s.claimed_at, clock_timestamp() as ended_at, s.contact_type, s.receipt_keys,
         s.pending_receipts, s.attempts_before_replay, s.counted_as, s.costs, s.segments, s.message_type, g.*
  from sends s join given_up g on g."requestId" = s.request_id left join workers w on w.name = s.worker
  where s.request_id = any(array(select "requestId" from given_up))
    and s.status = 'sending' and s.claim_id = g."claimId" and (s.conversation_id is not null) = g."mayHaveCalled"
    and ((s.worker <> $2 and w.alive_until < clock_timestamp() and clock_timestamp() < $4) or
       (s.worker <> $2 and w.name is null and s.claimed_at < clock_timestamp() - interval '1 minutes') or
       (s.worker = $2 and s.request_id <> all($3::uuid[]) and s.claimed_at < clock_timestamp() - interval '1 minutes'))
  order by s.request_id
  for no key update of s),
-- Each receipt that came during the call, with its send.
received as materialized (
  select p.ord, p.receipt->>'kind' as kind, (p.receipt->'fields')::json as fields, p.receipt->>'key' as key,
         left(md5(coalesce(
           p.receipt->'fields'->>'providerMessageId',
           null,
           s.attempts_before_replay::text)), 12) as cost_message,
         s.request_id, s.ended_at as at, coalesce(s.receipt_keys, '{}') as known_keys,
         false as is_pending,
         s.status = 'sent' as was_sent, s.sent_by,
         coalesce(case s.contact_type
           when 'phone' then array_position('{undelivered,delivered,read}'::text[], p.receipt->>'kind')
           when 'email' then array_position('{delivered,read,undelivered}'::text[], p.receipt->>'kind') end, 0) as rank,
         0 as known_rank, null as known_id
  from (
    select a.*,
           case when a."mayHaveCalled" then '{accepted,delivered,read,undelivered}'::text[] end as sent_by
    from attempted a) s
    cross join lateral jsonb_array_elements(s.pending_receipts) with ordinality p (receipt, ord)),
-- Whether each is new: no repeat of one that is recorded, nor of one before it.
compared as (
  select *, sent_by is not null and key <> all(known_keys)
              and row_number() over (partition by request_id, key order by ord) = 1 as is_new
  from received),
-- Its number among the send's receipts.
counted as (
  select *, cardinality(known_keys)
              + count(*) filter (where is_new) over (partition by request_id order by ord) as number
  from compared),
-- Whether it is recorded now.
chosen as (
  select *, is_new and not is_pending and number <= 50 as is_recorded
  from counted),
-- Whether the send is sent by then.
followed as (
  select *, is_recorded
              and bool_or(is_recorded and (was_sent or kind = any(sent_by)))
                    over (partition by request_id order by ord) as is_sent
  from chosen),
-- Adds the rank that counts for the delivery state. A failure of another message than the recorded one doesn't count.
ranked as (
  select *, case when is_sent and not coalesce(kind = 'undelivered' and fields->>'providerMessageId' <> known_id, false)
                 then rank end as counted_rank
  from followed),
-- The change by each one: it makes the send sent, or raises its delivery state.
judged as (
  select *, is_sent and not was_sent and not coalesce(bool_or(is_sent) over before, false) as confirms,
         coalesce(counted_rank > greatest(known_rank, max(counted_rank) over before), false) as raises
  from ranked
  window before as (partition by request_id order by ord rows between unbounded preceding and 1 preceding)),
-- Adds what all of a send's receipts change together.
effects as materialized (
  select *, bool_or(confirms) over every as confirmed,
         array_agg(key) filter (where is_recorded) over every as new_keys,
         array_agg(kind) filter (where raises) over every as new_states,
         array_agg(fields->>'providerCode') filter (where raises) over every as new_codes,
         array_agg(fields->>'providerMessageId') filter (where is_sent) over every as new_ids,
         count(*) filter (where is_recorded and kind = 'complained') over every as complaints,
         jsonb_object_agg(
           cost_message,
           jsonb_build_object(
             'amount', fields->'cost'->>'amount',
             'currency', fields->'cost'->>'currency'))
           filter (where is_recorded and fields->'cost'->>'amount' is not null) over every as new_costs,
         array_agg((fields->'cost'->>'parts')::smallint)
           filter (where is_recorded and (fields->'cost'->>'parts')::smallint is not null) over every as all_parts,
         lead(ord) over (partition by request_id order by ord) is null as is_last
  from judged
  window every as (partition by request_id order by ord rows between unbounded preceding and unbounded following)),
-- Changes, once for each send.
changes as materialized (
  select *, new_states[cardinality(new_states)] as new_state, new_codes[cardinality(new_codes)] as new_code,
         new_ids[1] as new_id, all_parts[cardinality(all_parts)] as new_parts
  from effects where is_last and new_keys is not null),
-- Their events. One that doesn't raise the delivery state is recorded as another receipt.
receipt_events as (
  insert into send_events (request_id, at, event, fields)
  select r.request_id, e.at, e.event, r.fields
  from effects r cross join lateral (values
    (case when r.raises and r.kind = 'delivered' then r.at end, 'delivered', r.fields),
    (case when r.raises and r.kind = 'read' then r.at end, 'read', r.fields),
    (case when r.raises and r.kind = 'undelivered' then r.at end, 'undelivered', r.fields),
    (case when (r.kind = 'complained') then r.at end, 'complained', r.fields),
    (case when not r.raises and not (r.kind = 'complained') then r.at end, 'receipt', r.fields)
  ) as e (at, event, fields)
  where r.is_recorded and e.at is not null
  order by r.request_id, r.ord),
-- As decided, unless a receipt says that the provider has it: then nothing of the attempt stays in the row.
ended as materialized (
  select a.request_id, a.attempt, a.worker, a.claimed_at, a.counted_as, a.ended_at, a.reason, a."delayMs",
         a.costs, a.segments, a.message_type,
         a."mayHaveCalled" and changes.confirmed is not true as "staysInRow", a."mayHaveCalled",
         case when changes.confirmed then 'sent' else a.status end as status,
         coalesce(changes.confirmed, false) as confirms
  from attempted a left join changes using (request_id)),
-- Their next states, numbered. An attempt without a call is undone.
written as (
  update sends s set
    status = ended.status,
    losses = s.losses + 1,
    attempt = s.attempt - case when ended."mayHaveCalled" then 0 else 1 end,
    claimed_at = case when ended."staysInRow" then s.claimed_at end,
    claim_id = case when ended."staysInRow" then s.claim_id end,
    finished_at = case when ended.status <> 'queued' then ended.ended_at end,
    next_attempt_at = case when ended.status = 'queued' then ended.ended_at + ended."delayMs" * interval '1 ms'
                           else s.next_attempt_at end,
    failure = case when ended.status in ('failed', 'uncertain') then ended.reason end,
    provider_message_id = case when ended.confirms then changes.new_id else s.provider_message_id end,
    pending_receipts = null,
    delivery = changes.new_state,
    delivery_at = case when changes.new_state is not null then changes.at end,
    receipt_keys = coalesce(s.receipt_keys, '{}') || coalesce(changes.new_keys, '{}'),
    costs = nullif(coalesce(ended.costs, '{}')
      || coalesce(changes.new_costs, '{}'), '{}'),
    segments = coalesce(
      case when ended.message_type <> 'media' then
        coalesce(changes.new_parts) end,
      ended.segments),
    change_number = s.change_number + case when ended.status <> 'queued' then 1 else 0 end
      + coalesce(cardinality(changes.new_states), 0) + coalesce(changes.complaints, 0)::int,
    counted_as = case when s.counted_as is not null then
        counted_as(
          ended.status, changes.new_state,
          case when ended.status in ('failed', 'uncertain') then ended.reason end,
          s.attempt_record, changes.new_code)
      else s.counted_as end
  from ended left join changes using (request_id)
  where s.request_id = ended.request_id
  returning
    s.request_id, s.status, s.next_attempt_at, ended.confirms,
    s.account_id, coalesce(s.former_channels[1], s.channel_id) as counted_channel,
    s.accepted_at, s.priority as counted_priority, s.counted_as, ended.counted_as as counted_before,
    s.costs, s.segments, ended.costs as costs_before, ended.segments as segments_before,
    s.delivery, s.change_number, s.attempt as attempts, s.conversation_id,
    case when (select exists (select from endpoints)) then
      (select array_agg(e.id) from endpoints e where e.account_id = s.account_id) end as endpoint_ids),
-- The callbacks.
announced as (
  insert into callbacks (
      endpoint_id, request_id, sequence, type, attempts, conversation_id, provider_at, provider_code, status, delivery,
    next_try_at)
  select e.id, m.request_id, m.sequence, m.type, m.attempts, m.conversation_id, m.provider_at, m.provider_code,
         case when m.type = 'message.complained' then m.status end,
         case when m.type = 'message.complained' then m.delivery end,
         greatest(clock_timestamp(), case when m.sequence > 1 then
           (select max(earlier.next_try_at) from callbacks earlier
            where earlier.endpoint_id = e.id and earlier.request_id = m.request_id
              and coalesce(earlier.finished_at, 'infinity') = 'infinity') end)
  from (
    select w.*, made.type, made.provider_at, made.provider_code,
           w.change_number - count(*) over (partition by w.request_id)
             + row_number() over (partition by w.request_id order by made.ord, made.part) as sequence
    from written w join (
      select r.request_id, r.ord, made.part, made.type, r.fields->>'providerAt' as provider_at,
             r.fields->>'providerCode' as provider_code
      from effects r cross join lateral (values
        (1, case when r.confirms then 'message.sent' end),
        (2, case when r.raises or r.is_recorded and (r.kind = 'complained')
                 then 'message.' || r.kind end)) made (part, type)
      where made.type is not null
      union all
      select ended.request_id, 0, 0, 'message.' || ended.status, null, null
      from ended where ended.status <> 'queued' and not ended.confirms) made using (request_id)
    where w.endpoint_ids is not null and (select exists (select from endpoints))) m
  join endpoints e on e.id = any(m.endpoint_ids) and (e.events is null or m.type = any(e.events))),
-- The counters.
counted_changes as (
  insert into send_count_changes (account_id, channel_id, hour, priority, counted_as, change)
  select w.account_id, w.counted_channel, date_trunc('hour', w.accepted_at, 'UTC'),
         w.counted_priority, e.counted_as, sum(e.change)
  from written w cross join lateral (values (w.counted_as, 1), (w.counted_before, -1)) e (counted_as, change)
  where w.counted_as <> w.counted_before and e.counted_as <> 'waiting'
  group by 1, 2, 3, 4, 5),
-- The counters of their costs.
counted_costs as (
  insert into send_count_changes (
    account_id, channel_id, hour, priority, counted_as, change, segments, currency, amount)
  select w.account_id, w.counted_channel, date_trunc('hour', w.accepted_at, 'UTC'),
         w.counted_priority, 'accepted', 0, d.segments, d.currency, d.amount
  from written w cross join lateral (
    select coalesce(w.segments, 0) - coalesce(w.segments_before, 0) as segments, null as currency, null as amount
    where w.segments is distinct from w.segments_before
    union all
    select 0, currency, sum(amount)
    from (
      select p.value->>'currency' as currency, (p.value->>'amount')::numeric as amount
      from jsonb_each(w.costs) p
      union all
      select p.value->>'currency' as currency, -(p.value->>'amount')::numeric as amount
      from jsonb_each(w.costs_before) p) p
    where w.costs is distinct from w.costs_before
    group by currency having sum(amount) <> 0) d),
-- The attempts that are no longer in their rows.
removed as (
  select e.*, null::json as record, w.next_attempt_at,
         case when "mayHaveCalled" then json_build_object('attempt', attempt, 'reason', reason)
              else json_build_object(
                  'attempt', attempt, 'outcome', 'not_called', 'reason', reason)
         end as loss,
         case when e.status = 'queued' then ended_at end as scheduled_at
  from ended e join written w using (request_id)
  where e.status = 'queued' or not e."staysInRow"),
-- Their events.
events as (
  insert into send_events (request_id, at, event, fields)
  select a.request_id, e.at, e.event, e.fields
  from removed a cross join lateral (values
    (1, a.claimed_at, 'attempt_started', json_build_object('attempt', a.attempt, 'worker', a.worker)),
    (2, a.ended_at, 'attempt_lost', a.loss),
    (3, a.ended_at, 'attempt_finished', a.record),
    (4, a.scheduled_at, 'retry_scheduled', json_build_object(
      'reason', a.reason,
      'nextAttemptAt', to_char(a.next_attempt_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')))
  ) as e (position, at, event, fields)
  where e.at is not null and e.fields is not null
  order by a.request_id, e.position)
select request_id as "requestId", case when status = 'queued' then next_attempt_at end as "nextAttemptAt",
       json_build_object(
         'confirm', confirms,
         'effects',
         coalesce((
           select json_agg(json_build_object('event', case when r.raises or (r.kind = 'complained')
                                             then r.kind else 'receipt' end,
                               'isRaised', r.raises, 'fields', r.fields) order by r.ord)
           from effects r where r.is_recorded and r.request_id = written.request_id), '[]')) as receipts,
       case when written.endpoint_ids is not null then
         (select array_agg(e.id) from endpoints e
          where e.id = any(written.endpoint_ids) and e.disabled_at is null
            and coalesce(e.breaker_open_until <= clock_timestamp(), true)) end as "endpointsToWake"
from written;

-- grant_permits: Grants the free permits of channels to their due sends.
-- $1: the channels; $2: how many seconds a breaker waits for its probe; $3: how many a permit is valid.
with
-- The channels whose sends need permits: the time of the next call by the rate, and the spacing of calls.
limited as materialized (
  select *, (channels.breaker_open_until is not null
     or num_nonnulls(channels.rate_calls, channels.max_in_flight) > 0) as has_limits,
         (channels.breaker_open_until is not null
          or num_nonnulls(channels.rate_calls, channels.max_in_flight) > 0) and
           coalesce(least(max_in_flight, rate_calls::float8 / rate_seconds), 1) <= 16 as are_few,
         greatest(next_call_at, at + 0.05 * interval '1 s') as first_at,
         rate_seconds * 1.05::float8 / rate_calls as spacing
  from channels, clock_timestamp() as at
  where id = any((select $1::uuid[])::uuid[]) and (channels.held_at is not null) is not true
    and ((channels.breaker_open_until is not null
       or num_nonnulls(channels.rate_calls, channels.max_in_flight) > 0)
         or coalesce(channels.answered_at < clock_timestamp() - interval '10 s', true))),
-- How many permits each limit leaves free.
free_by as materialized (
  select limited.*,
         case when rate_calls is not null then least(200, greatest(
           0, 1 + floor((0.8 - extract(epoch from first_at - at)) / spacing))) end as by_rate,
         max_in_flight - in_flight as by_flight,
         case when not has_limits then 4 - in_flight end as by_slow_start,
         case when breaker_open_until > at then 0 when breaker_open_until is not null then 1 end as by_breaker
  from limited cross join lateral (
    select count(*) as in_flight from permits p join sends s using (request_id)
    where p.channel_id = limited.id
      and ((s.status = 'sending' and s.attempt = p.attempt)
         or (s.status = 'queued' and s.attempt = p.attempt - 1)
            and p.valid_until > clock_timestamp() - interval '1 s')) now),
-- The strictest limit counts. is_trial: the state of the provider is unknown, and the calls should show it.
available as materialized (
  select free_by.*, greatest(0, least(200, by_rate, by_flight, by_slow_start, by_breaker)::int) as permits,
         coalesce(by_breaker = 1, by_slow_start is not null) as is_trial
  from free_by),
-- The first due sends of each channel, by priority, each with its place among them.
due as materialized (
  select channels.id, channels.urgent_in_a_row, channels.normal_in_a_row, s.*,
         row_number() over (partition by channels.id, s.priority
                            order by s.comes_last, s.next_attempt_at, s.seq) as place
  from available channels cross join unnest(enum_range(null::priority)) as each_priority (priority) cross join lateral (
    select s.request_id, s.attempt + 1 as attempt, case when s.overflow then s.channel_id end as overflow_of,
           s.priority, s.next_attempt_at, s.seq, is_trial and (s.attempt > s.attempts_before_replay
              or (s.message->'media'->>'mediaUrl' is not null
                  and s.message->'media'->>'sizeBytes' is null)
              or s.message @? '$.email.attachments[*].url') as comes_last
    from sends s
    where s.channel_id = channels.id and s.priority = each_priority.priority and s.finished_at is null
      and s.status = 'queued' and s.next_attempt_at <= channels.at
        and not coalesce(s.expires_at <= channels.at, false)
        and (quiet_until(channels.quiet_hours, s.priority, s.contact_type, s.contact_value)
          is not null) is not true
        and (case when (select exists (select from ceilings))
                  and s.attempt = s.attempts_before_replay then
          (select ends
           from passed_ceiling(s.account_id, s.channel_id, s.contact_type, s.segments,
                               s.account_counted_at, s.channel_counted_at)) end
          is not null) is not true
      and (channels.breaker_open_until is not null
         or num_nonnulls(channels.rate_calls, channels.max_in_flight) > 0
         or s.overflow and coalesce(channels.answered_at < clock_timestamp() - interval '10 s', true))
      and not coalesce((
          select true from sends earlier
          where earlier.lane = s.lane and earlier.seq < s.seq
            and coalesce(earlier.finished_at, 'infinity') = 'infinity'
          limit 1), false)
      and not exists (select from permits p where p.request_id = s.request_id and p.attempt = s.attempt + 1
        and p.valid_until > clock_timestamp())
    order by s.next_attempt_at, s.seq
    limit case when is_trial and permits > 0 then 1000 else permits end) s),
-- The order of normal and bulk sends: one turn in ten is of a bulk send. The channel's last turns count, too.
others as (
  select due.*, row_number() over (partition by id, priority = 'urgent' order by comes_last,
           case when priority = 'bulk' then 9 * place - normal_in_a_row else place end, priority) as nth
  from due),
-- Likewise that of all: one turn in ten is not of an urgent send.
turns as (
  select others.*, case when priority = 'urgent' then nth else 9 * nth - urgent_in_a_row end as turn
  from others),
-- The sends that get a permit, and the time of each call.
chosen as materialized (
  select channels.*, s.request_id, s.attempt, case when not are_few then s.overflow_of end as overflow_of,
         s.priority, s.position, s.position * spacing * interval '1 s' + first_at as call_at,
         max(s.position) filter (where s.priority <> 'urgent') over (partition by channels.id) as last_other,
         max(s.position) filter (where s.priority = 'bulk') over (partition by channels.id) as last_bulk
  from available channels cross join lateral (
    select first.*, row_number() over (order by first.turn, first.priority) - 1 as position
    from (
      select request_id, attempt, overflow_of, priority, turn from turns
      where turns.id = channels.id
      order by comes_last, turn, priority
      limit permits) first) s),
-- A send has one permit at most, so a new one replaces an old one that can't be used any more. Another one for the same
-- attempt keeps the time since when none was used.
granted as (
  insert into permits (request_id, channel_id, attempt, call_at, unused_since, valid_until, is_probe)
  select request_id, id, attempt, call_at, coalesce(call_at, at),
         coalesce(call_at + least($3, 0.05::float8 * rate_seconds) * interval '1 s',
                  at + $3 * interval '1 s'),
         breaker_open_until is not null
  from chosen
  on conflict (request_id) do update
    set channel_id = excluded.channel_id, attempt = excluded.attempt, call_at = excluded.call_at,
        unused_since = case when permits.attempt = excluded.attempt then permits.unused_since
                            else excluded.unused_since end,
        valid_until = excluded.valid_until, is_probe = excluded.is_probe),
-- The next calls come after these. A breaker that lets a probe through waits for its result.
moved as (
  update channels
  set next_call_at = coalesce(last.call_at + last.spacing * interval '1 s', next_call_at),
      breaker_open_until = case when channels.breaker_open_until is not null
                                then clock_timestamp() + $2 * interval '1 s' end,
      urgent_in_a_row = least(9, last.urgent + case when last.has_other then 0 else urgent_in_a_row end),
      normal_in_a_row = least(9, last.normal + case when last.has_bulk then 0 else normal_in_a_row end)
  -- Of each kind, how many were the last in a row.
  from (select id, spacing, max(call_at) as call_at,
               count(*) filter (where priority = 'urgent' and position > coalesce(last_other, -1)) as urgent,
               count(*) filter (where priority = 'normal' and position > coalesce(last_bulk, -1)) as normal,
               max(last_other) is not null as has_other, max(last_bulk) is not null as has_bulk
        from chosen group by id, spacing) last
  where channels.id = last.id
  returning channels.id, next_call_at)
-- When more permits may be free: if the breaker is open, when it lets a probe through; if one transaction
-- couldn't grant all, at once; if the rate was used up, a little before its next call.
select available.id as "channelId",
       coalesce(json_agg(json_build_object(
         'requestId', chosen.request_id, 'overflowOf', chosen.overflow_of,
         'inMs', coalesce(ceil(extract(epoch from chosen.call_at - chosen.at) * 1000), 0))
         order by chosen.call_at) filter (where chosen.request_id is not null), '[]') as permits,
       count(chosen.request_id) >= available.permits as "isFull",
       ceil(1000 * case
         when available.by_breaker = 0 then extract(epoch from available.breaker_open_until - available.at)
         when count(chosen.request_id) = 200 then 0
         when count(chosen.request_id) = available.by_rate then
           greatest(0, extract(epoch from coalesce(moved.next_call_at, available.first_at) - available.at)
                       - 0.4) end)::float8 as "moreInMs"
from available left join chosen using (id) left join moved using (id)
group by available.id, available.at, available.permits, available.first_at, available.by_rate, available.by_breaker,
         available.breaker_open_until, moved.next_call_at;

-- grant_permits_to_some: Like grant_permits, but only to given sends.
-- $1: the channels; $2: how many seconds a breaker waits for its probe; $3: how many a permit is valid.
with
-- The channels whose sends need permits: the time of the next call by the rate, and the spacing of calls.
limited as materialized (
  select *, (channels.breaker_open_until is not null
     or num_nonnulls(channels.rate_calls, channels.max_in_flight) > 0) as has_limits,
         (channels.breaker_open_until is not null
          or num_nonnulls(channels.rate_calls, channels.max_in_flight) > 0) and
           coalesce(least(max_in_flight, rate_calls::float8 / rate_seconds), 1) <= 16 as are_few,
         greatest(next_call_at, at + 0.05 * interval '1 s') as first_at,
         rate_seconds * 1.05::float8 / rate_calls as spacing
  from channels, clock_timestamp() as at
  where id = any((select $1::uuid[])::uuid[]) and (channels.held_at is not null) is not true
    and ((channels.breaker_open_until is not null
       or num_nonnulls(channels.rate_calls, channels.max_in_flight) > 0)
         or coalesce(channels.answered_at < clock_timestamp() - interval '10 s', true))),
-- How many permits each limit leaves free.
free_by as materialized (
  select limited.*,
         case when rate_calls is not null then least(200, greatest(
           0, 1 + floor((0.8 - extract(epoch from first_at - at)) / spacing))) end as by_rate,
         max_in_flight - in_flight as by_flight,
         case when not has_limits then 4 - in_flight end as by_slow_start,
         case when breaker_open_until > at then 0 when breaker_open_until is not null then 1 end as by_breaker
  from limited cross join lateral (
    select count(*) as in_flight from permits p join sends s using (request_id)
    where p.channel_id = limited.id
      and ((s.status = 'sending' and s.attempt = p.attempt)
         or (s.status = 'queued' and s.attempt = p.attempt - 1)
            and p.valid_until > clock_timestamp() - interval '1 s')) now),
-- The strictest limit counts. is_trial: the state of the provider is unknown, and the calls should show it.
available as materialized (
  select free_by.*, greatest(0, least(200, by_rate, by_flight, by_slow_start, by_breaker)::int) as permits,
         coalesce(by_breaker = 1, by_slow_start is not null) as is_trial
  from free_by),
-- The first due sends of each channel, by priority, each with its place among them.
due as materialized (
  select channels.id, channels.urgent_in_a_row, channels.normal_in_a_row, s.*,
         row_number() over (partition by channels.id, s.priority
                            order by s.comes_last, s.next_attempt_at, s.seq) as place
  from available channels cross join unnest(enum_range(null::priority)) as each_priority (priority) cross join lateral (
    select s.request_id, s.attempt + 1 as attempt, case when s.overflow then s.channel_id end as overflow_of,
           s.priority, s.next_attempt_at, s.seq, is_trial and (s.attempt > s.attempts_before_replay
              or (s.message->'media'->>'mediaUrl' is not null
                  and s.message->'media'->>'sizeBytes' is null)
              or s.message @? '$.email.attachments[*].url') as comes_last
    from (
        -- $4: these sends, each with its channel.
        select found.*
        from json_to_recordset($4) as given ("channelId" uuid, "requestId" uuid)
          cross join lateral (select * from sends where request_id = given."requestId" limit 1) found
        where given."channelId" = channels.id) s
    where s.channel_id = channels.id and s.priority = each_priority.priority and s.finished_at is null
      and s.status = 'queued' and s.next_attempt_at <= channels.at
        and not coalesce(s.expires_at <= channels.at, false)
        and (quiet_until(channels.quiet_hours, s.priority, s.contact_type, s.contact_value)
          is not null) is not true
        and (case when (select exists (select from ceilings))
                  and s.attempt = s.attempts_before_replay then
          (select ends
           from passed_ceiling(s.account_id, s.channel_id, s.contact_type, s.segments,
                               s.account_counted_at, s.channel_counted_at)) end
          is not null) is not true
      and (channels.breaker_open_until is not null
         or num_nonnulls(channels.rate_calls, channels.max_in_flight) > 0
         or s.overflow and coalesce(channels.answered_at < clock_timestamp() - interval '10 s', true))
      and not coalesce((
          select true from sends earlier
          where earlier.lane = s.lane and earlier.seq < s.seq
            and coalesce(earlier.finished_at, 'infinity') = 'infinity'
          limit 1), false)
      and not exists (select from permits p where p.request_id = s.request_id and p.attempt = s.attempt + 1
        and p.valid_until > clock_timestamp())
    order by s.next_attempt_at, s.seq
    limit case when is_trial and permits > 0 then 1000 else permits end) s),
-- The order of normal and bulk sends: one turn in ten is of a bulk send. The channel's last turns count, too.
others as (
  select due.*, row_number() over (partition by id, priority = 'urgent' order by comes_last,
           case when priority = 'bulk' then 9 * place - normal_in_a_row else place end, priority) as nth
  from due),
-- Likewise that of all: one turn in ten is not of an urgent send.
turns as (
  select others.*, case when priority = 'urgent' then nth else 9 * nth - urgent_in_a_row end as turn
  from others),
-- The sends that get a permit, and the time of each call.
chosen as materialized (
  select channels.*, s.request_id, s.attempt, case when not are_few then s.overflow_of end as overflow_of,
         s.priority, s.position, s.position * spacing * interval '1 s' + first_at as call_at,
         max(s.position) filter (where s.priority <> 'urgent') over (partition by channels.id) as last_other,
         max(s.position) filter (where s.priority = 'bulk') over (partition by channels.id) as last_bulk
  from available channels cross join lateral (
    select first.*, row_number() over (order by first.turn, first.priority) - 1 as position
    from (
      select request_id, attempt, overflow_of, priority, turn from turns
      where turns.id = channels.id
      order by comes_last, turn, priority
      limit permits) first) s),
-- A send has one permit at most, so a new one replaces an old one that can't be used any more. Another one for the same
-- attempt keeps the time since when none was used.
granted as (
  insert into permits (request_id, channel_id, attempt, call_at, unused_since, valid_until, is_probe)
  select request_id, id, attempt, call_at, coalesce(call_at, at),
         coalesce(call_at + least($3, 0.05::float8 * rate_seconds) * interval '1 s',
                  at + $3 * interval '1 s'),
         breaker_open_until is not null
  from chosen
  on conflict (request_id) do update
    set channel_id = excluded.channel_id, attempt = excluded.attempt, call_at = excluded.call_at,
        unused_since = case when permits.attempt = excluded.attempt then permits.unused_since
                            else excluded.unused_since end,
        valid_until = excluded.valid_until, is_probe = excluded.is_probe),
-- The next calls come after these. A breaker that lets a probe through waits for its result.
moved as (
  update channels
  set next_call_at = coalesce(last.call_at + last.spacing * interval '1 s', next_call_at),
      breaker_open_until = case when channels.breaker_open_until is not null
                                then clock_timestamp() + $2 * interval '1 s' end,
      urgent_in_a_row = least(9, last.urgent + case when last.has_other then 0 else urgent_in_a_row end),
      normal_in_a_row = least(9, last.normal + case when last.has_bulk then 0 else normal_in_a_row end)
  -- Of each kind, how many were the last in a row.
  from (select id, spacing, max(call_at) as call_at,
               count(*) filter (where priority = 'urgent' and position > coalesce(last_other, -1)) as urgent,
               count(*) filter (where priority = 'normal' and position > coalesce(last_bulk, -1)) as normal,
               max(last_other) is not null as has_other, max(last_bulk) is not null as has_bulk
        from chosen group by id, spacing) last
  where channels.id = last.id
  returning channels.id, next_call_at)
-- When more permits may be free: if the breaker is open, when it lets a probe through; if one transaction
-- couldn't grant all, at once; if the rate was used up, a little before its next call.
select available.id as "channelId",
       coalesce(json_agg(json_build_object(
         'requestId', chosen.request_id, 'overflowOf', chosen.overflow_of,
         'inMs', coalesce(ceil(extract(epoch from chosen.call_at - chosen.at) * 1000), 0))
         order by chosen.call_at) filter (where chosen.request_id is not null), '[]') as permits,
       count(chosen.request_id) >= available.permits as "isFull",
       ceil(1000 * case
         when available.by_breaker = 0 then extract(epoch from available.breaker_open_until - available.at)
         when count(chosen.request_id) = 200 then 0
         when count(chosen.request_id) = available.by_rate then
           greatest(0, extract(epoch from coalesce(moved.next_call_at, available.first_at) - available.at)
                       - 0.4) end)::float8 as "moreInMs"
from available left join chosen using (id) left join moved using (id)
group by available.id, available.at, available.permits, available.first_at, available.by_rate, available.by_breaker,
         available.breaker_open_until, moved.next_call_at;

-- import_suppressions: Adds a page of imported entries, but those that are there.
-- $1: the account; $2: their ids; $3: the kinds of the contacts; $4: the contacts; $5: the channels; $6: why.
with
-- Each contact and channel once, in the first of its spellings.
given as (
  select distinct on (folded, channel_id) given.*, lower(value collate "C") collate "default" as folded
  from unnest($2::uuid[], $3::text[], $4::text[], $5::uuid[], $6::text[])
    as given (id, type, value, channel_id, reason)
  order by folded, channel_id, id),
-- But those that are there.
added as (
  insert into suppressions (id, account_id, contact_type, contact_value, channel_id, cause, reason)
  select given.id, $1, given.type, given.value, given.channel_id, 'manual', given.reason
  from given
  where not exists (
    select from suppressions e
    where e.account_id = $1 and coalesce(e.contact_key,
        lower(e.contact_value collate "C") collate "default") = given.folded
      and e.channel_id is not distinct from given.channel_id
    offset 0)
  on conflict do nothing
  returning 1)
select count(*)::int as added from added;

-- insert_batch: Accepts a batch of sends, all or none.
-- $1: the sends; $2: the hash of their key; $3: the fingerprint of their request; $4: its id; $5: until when.
with
-- The messages, all or none, in the order of the batch.
given as materialized (
  select fields.*
  from rows from (jsonb_to_recordset($1) as (
    "requestId" uuid, "accountId" uuid, "channelId" uuid, "apiKeyId" uuid,
    "contact" jsonb, "message" jsonb, "flowId" uuid, "closeConversation" boolean,
    "priority" priority, "ordering" text, "expireAfterSeconds" float8,
    "idempotency" jsonb, "traceparent" text, "sendAt" timestamptz, "reference" text,
    "expiresInSeconds" int, "metadata" jsonb, "segments" int, "encoding" text,
    "recordBy" timestamptz,
    "isLater" boolean)) with ordinality as fields
  where now() < $5::timestamptz),
-- The key, if it is unused, or its last use has expired.
keyed as (
  insert into idempotency_keys as kept (hash, fingerprint, request_id, batch, created_at)
  select decode($2, 'hex'), decode($3, 'hex'), $4::uuid, array_agg("requestId" order by ordinality),
         greatest(clock_timestamp(), max("sendAt"))
  from given where $2::text is not null
  having count(*) > 0
  on conflict (hash) do update
    set fingerprint = excluded.fingerprint, request_id = excluded.request_id, batch = excluded.batch,
        created_at = excluded.created_at
    where kept.created_at < clock_timestamp() - interval '24 hours'
  returning request_id),
-- All, if they have no key, or got it.
admitted as materialized (
  select * from given where $2::text is null or exists (select from keyed)),
-- The part of its quota that their account has used, by channel.
used as materialized (
  select "accountId" as account_id, channel_id, is_urgent, sends
  from (select distinct "accountId" from given) accounts cross join lateral (
    select channel_id, priority = 'urgent' as is_urgent, count(*) as sends from sends
    where account_id = "accountId" and coalesce(sends.finished_at, 'infinity') = 'infinity' and not sends.overflow
    group by channel_id, is_urgent) by_channel),
-- Sends that don't wait for a time of their own.
sent_now as (
  select * from admitted where not "isLater"),
-- The lane of each, and whether it is beyond its channel's quota.
counted as (
  select given.*,
         case ordering when 'contact' then
           hashtextextended(concat(
             "channelId", ' ', contact->>'type', ' ',
             lower((contact->>'value') collate "C") collate "default",
             case when priority = 'urgent' then ' urgent' end), 0) end as lane,
         row_number() over (partition by "channelId", "isUrgent" order by ordinality)
           > 16 - coalesce(of_channel.sends, 0) as "isBeyondChannel",
         of_account.sends as "usedByAccount"
  from (select *, coalesce(priority = 'urgent', false) as "isUrgent" from sent_now) given
    left join used of_channel on of_channel.channel_id = "channelId" and of_channel.is_urgent = "isUrgent"
    left join (select account_id, is_urgent, sum(sends) as sends from used group by account_id, is_urgent) of_account
      on of_account.account_id = "accountId" and of_account.is_urgent = "isUrgent"),
-- The send before each in its lane, in this batch or earlier, and whether it goes to the overflow.
ordered as (
  select counted.*,
         case when lane is not null then
           coalesce(lag("requestId") over (partition by lane order by ordinality),
                    (select request_id from sends s
                     where s.lane = counted.lane and coalesce(s.finished_at, 'infinity') = 'infinity'
                     order by seq desc limit 1)) end as behind,
         "isBeyondChannel" or row_number() over (
               partition by "accountId", "isUrgent", "isBeyondChannel" order by ordinality)
             > 100 - coalesce("usedByAccount", 0) as overflow
  from counted),
-- The sends, in the order in which they were given.
recorded as (
  insert into sends (
    request_id, account_id, channel_id, api_key_id, contact_type, contact_value,
    contact_name, message_type, message, flow_id, close_conversation, priority, lane,
    behind, overflow, expires_at, traceparent, send_at, reference,
    expires_in_seconds, metadata, segments, encoding, counted_as)
  select
    "requestId", "accountId", "channelId", "apiKeyId", contact->>'type',
    contact->>'value', contact->>'name', message->>'type', message, "flowId",
    "closeConversation", coalesce(priority, 'normal'), lane, behind, overflow,
    clock_timestamp() + "expireAfterSeconds" * interval '1 s', traceparent, "sendAt",
    reference, "expiresInSeconds", metadata, segments, encoding, 'waiting'
  from ordered order by ordinality
  returning request_id as "requestId", case when sends.overflow then sends.channel_id end as "overflowOf",
    behind is not null as "isBehind", account_id, channel_id, accepted_at, priority, segments),
-- The counters.
counted_accepts as (
  insert into send_count_changes (account_id, channel_id, hour, priority, counted_as, change, segments)
  select account_id, channel_id, date_trunc('hour', accepted_at, 'UTC'), priority, 'accepted', count(*),
         coalesce(sum(segments), 0)
  from recorded group by 1, 2, 3, 4),
-- Sends that do.
scheduled as (
  insert into scheduled_sends (
    request_id, account_id, channel_id, api_key_id, contact_type, contact_value,
    contact_name, message_type, message, flow_id, close_conversation, priority,
    traceparent, send_at, reference, expires_in_seconds, metadata, segments,
    encoding)
  select
    "requestId", "accountId", "channelId", "apiKeyId", contact->>'type',
    contact->>'value', contact->>'name', message->>'type', message, "flowId",
    "closeConversation", coalesce(priority, 'normal'), traceparent, "sendAt",
    reference, "expiresInSeconds", metadata, segments, encoding
  from admitted where "isLater"
  order by ordinality
  returning request_id, null::uuid, false, account_id, channel_id, accepted_at, priority, segments)
select "requestId", "overflowOf", "isBehind"
from (select * from recorded union all select * from scheduled) accepted
where case when clock_timestamp() < $5::timestamptz and accepted_at is not null then true else too_late() end;

-- insert_keyed_sends: Accepts sends with and without an Idempotency-Key.
with
-- The sends that are in time.
given as materialized (
  select fields.*
  from rows from (jsonb_to_recordset($1) as (
    "requestId" uuid, "accountId" uuid, "channelId" uuid, "apiKeyId" uuid,
    "contact" jsonb, "message" jsonb, "flowId" uuid, "closeConversation" boolean,
    "priority" priority, "ordering" text, "expireAfterSeconds" float8,
    "idempotency" jsonb, "traceparent" text, "sendAt" timestamptz, "reference" text,
    "expiresInSeconds" int, "metadata" jsonb, "segments" int, "encoding" text,
    "recordBy" timestamptz)) with ordinality as fields
  where clock_timestamp() < "recordBy"),
-- The part of their quotas that their accounts have used, by channel.
used as materialized (
  select "accountId" as account_id, channel_id, is_urgent, sends
  from (select distinct "accountId" from given) accounts cross join lateral (
    select channel_id, priority = 'urgent' as is_urgent, count(*) as sends from sends
    where account_id = "accountId" and coalesce(sends.finished_at, 'infinity') = 'infinity' and not sends.overflow
    group by channel_id, is_urgent) by_channel),
-- The keys that are unused, or whose last use has expired.
keyed as (
  insert into idempotency_keys as kept (hash, fingerprint, request_id, created_at)
  select distinct on (idempotency->>'hash') decode(idempotency->>'hash', 'hex'),
         decode(idempotency->>'fingerprint', 'hex'), "requestId", greatest(clock_timestamp(), "sendAt")
  from given where idempotency is not null
  order by idempotency->>'hash', ordinality
  on conflict (hash) do update
    set fingerprint = excluded.fingerprint, request_id = excluded.request_id, batch = null,
        created_at = excluded.created_at
    where kept.created_at < clock_timestamp() - interval '24 hours'
  returning request_id),
-- Sends without a key, and those that got theirs.
admitted as (
  select * from given where idempotency is null or "requestId" in (select request_id from keyed)),
-- The lane of each, and whether it is beyond its channel's quota.
counted as (
  select given.*,
         case ordering when 'contact' then
           hashtextextended(concat(
             "channelId", ' ', contact->>'type', ' ',
             lower((contact->>'value') collate "C") collate "default",
             case when priority = 'urgent' then ' urgent' end), 0) end as lane,
         row_number() over (partition by "channelId", "isUrgent" order by ordinality)
           > 16 - coalesce(of_channel.sends, 0) as "isBeyondChannel",
         of_account.sends as "usedByAccount"
  from (select *, coalesce(priority = 'urgent', false) as "isUrgent" from admitted) given
    left join used of_channel on of_channel.channel_id = "channelId" and of_channel.is_urgent = "isUrgent"
    left join (select account_id, is_urgent, sum(sends) as sends from used group by account_id, is_urgent) of_account
      on of_account.account_id = "accountId" and of_account.is_urgent = "isUrgent"),
-- The send before each in its lane, in this batch or earlier, and whether it goes to the overflow.
ordered as (
  select counted.*,
         case when lane is not null then
           coalesce(lag("requestId") over (partition by lane order by ordinality),
                    (select request_id from sends s
                     where s.lane = counted.lane and coalesce(s.finished_at, 'infinity') = 'infinity'
                     order by seq desc limit 1)) end as behind,
         "isBeyondChannel" or row_number() over (
               partition by "accountId", "isUrgent", "isBeyondChannel" order by ordinality)
             > 100 - coalesce("usedByAccount", 0) as overflow
  from counted),
-- The sends, in the order in which they were given.
recorded as (
  insert into sends (
    request_id, account_id, channel_id, api_key_id, contact_type, contact_value,
    contact_name, message_type, message, flow_id, close_conversation, priority, lane,
    behind, overflow, expires_at, traceparent, send_at, reference,
    expires_in_seconds, metadata, segments, encoding, counted_as)
  select
    "requestId", "accountId", "channelId", "apiKeyId", contact->>'type',
    contact->>'value', contact->>'name', message->>'type', message, "flowId",
    "closeConversation", coalesce(priority, 'normal'), lane, behind, overflow,
    clock_timestamp() + "expireAfterSeconds" * interval '1 s', traceparent, "sendAt",
    reference, "expiresInSeconds", metadata, segments, encoding, 'waiting'
  from ordered order by ordinality
  returning request_id as "requestId", case when sends.overflow then sends.channel_id end as "overflowOf",
    behind is not null as "isBehind", account_id, channel_id, accepted_at, priority, segments),
-- The counters.
counted_accepts as (
  insert into send_count_changes (account_id, channel_id, hour, priority, counted_as, change, segments)
  select account_id, channel_id, date_trunc('hour', accepted_at, 'UTC'), priority, 'accepted', count(*),
         coalesce(sum(segments), 0)
  from recorded group by 1, 2, 3, 4)
select "requestId", "overflowOf", "isBehind"
from recorded join given using ("requestId")
where given.idempotency is null
   or case when clock_timestamp() < given."recordBy" and recorded.accepted_at is not null then true else too_late() end;

-- insert_send: Accepts a single send without an Idempotency-Key.
with
-- The send, in its lane.
recorded as (
  insert into sends (
    request_id, account_id, channel_id, api_key_id, contact_type, contact_value,
    contact_name, message_type, message, flow_id, close_conversation, priority, lane,
    behind, overflow, expires_at, traceparent, send_at, reference,
    expires_in_seconds, metadata, segments, encoding, counted_as)
  select
    "requestId", "accountId", "channelId", "apiKeyId", contact->>'type',
    contact->>'value', contact->>'name', message->>'type', message, "flowId",
    "closeConversation", coalesce(priority, 'normal'), lane, behind, overflow,
    clock_timestamp() + "expireAfterSeconds" * interval '1 s', traceparent, "sendAt",
    reference, "expiresInSeconds", metadata, segments, encoding, 'waiting'
  from (
    -- The send before it in its lane, and whether it goes to the overflow.
    select given.*,
           (select request_id from sends s
            where s.lane = given.lane and coalesce(s.finished_at, 'infinity') = 'infinity'
            order by seq desc limit 1) as behind,
           (exists (select from sends
                    where account_id = "accountId" and channel_id = "channelId"
                      and coalesce(sends.finished_at, 'infinity') = 'infinity' and not sends.overflow
                      and (sends.priority = 'urgent') = "isUrgent"
                    offset 15)
            or exists (select from sends
                       where account_id = "accountId"
                         and coalesce(sends.finished_at, 'infinity') = 'infinity' and not sends.overflow
                         and (sends.priority = 'urgent') = "isUrgent"
                       offset 99)) as overflow
    from (
      -- The send, if it is in time, and its lane.
      select fields.*,
             case ordering when 'contact' then
               hashtextextended(concat(
                 "channelId", ' ', contact->>'type', ' ',
                 lower((contact->>'value') collate "C") collate "default",
                 case when priority = 'urgent' then ' urgent' end), 0) end as lane,
             coalesce(priority = 'urgent', false) as "isUrgent"
      from jsonb_to_record($1) as fields (
        "requestId" uuid, "accountId" uuid, "channelId" uuid, "apiKeyId" uuid,
        "contact" jsonb, "message" jsonb, "flowId" uuid, "closeConversation" boolean,
        "priority" priority, "ordering" text, "expireAfterSeconds" float8,
        "idempotency" jsonb, "traceparent" text, "sendAt" timestamptz, "reference" text,
        "expiresInSeconds" int, "metadata" jsonb, "segments" int, "encoding" text,
        "recordBy" timestamptz)
      where clock_timestamp() < "recordBy") given) ordered
  returning request_id as "requestId", case when sends.overflow then sends.channel_id end as "overflowOf",
    behind is not null as "isBehind", account_id, channel_id, accepted_at, priority, segments),
-- The counters.
counted_accepts as (
  insert into send_count_changes (account_id, channel_id, hour, priority, counted_as, change, segments)
  select account_id, channel_id, date_trunc('hour', accepted_at, 'UTC'), priority, 'accepted', count(*),
         coalesce(sum(segments), 0)
  from recorded group by 1, 2, 3, 4)
select "requestId", "overflowOf", "isBehind" from recorded;

-- insert_send_with_media: Accepts a single send with its media.
-- $1: the send; $2: the content of its media.
with
-- The sends that are in time.
given as materialized (
  select fields.*
  from rows from (jsonb_to_recordset($1) as (
    "requestId" uuid, "accountId" uuid, "channelId" uuid, "apiKeyId" uuid,
    "contact" jsonb, "message" jsonb, "flowId" uuid, "closeConversation" boolean,
    "priority" priority, "ordering" text, "expireAfterSeconds" float8,
    "idempotency" jsonb, "traceparent" text, "sendAt" timestamptz, "reference" text,
    "expiresInSeconds" int, "metadata" jsonb, "segments" int, "encoding" text,
    "recordBy" timestamptz)) with ordinality as fields
  where clock_timestamp() < "recordBy"),
-- The part of their quotas that their accounts have used, by channel.
used as materialized (
  select "accountId" as account_id, channel_id, is_urgent, sends
  from (select distinct "accountId" from given) accounts cross join lateral (
    select channel_id, priority = 'urgent' as is_urgent, count(*) as sends from sends
    where account_id = "accountId" and coalesce(sends.finished_at, 'infinity') = 'infinity' and not sends.overflow
    group by channel_id, is_urgent) by_channel),
-- The keys that are unused, or whose last use has expired.
keyed as (
  insert into idempotency_keys as kept (hash, fingerprint, request_id, created_at)
  select distinct on (idempotency->>'hash') decode(idempotency->>'hash', 'hex'),
         decode(idempotency->>'fingerprint', 'hex'), "requestId", greatest(clock_timestamp(), "sendAt")
  from given where idempotency is not null
  order by idempotency->>'hash', ordinality
  on conflict (hash) do update
    set fingerprint = excluded.fingerprint, request_id = excluded.request_id, batch = null,
        created_at = excluded.created_at
    where kept.created_at < clock_timestamp() - interval '24 hours'
  returning request_id),
-- Sends without a key, and those that got theirs.
admitted as (
  select * from given where idempotency is null or "requestId" in (select request_id from keyed)),
-- The lane of each, and whether it is beyond its channel's quota.
counted as (
  select given.*,
         case ordering when 'contact' then
           hashtextextended(concat(
             "channelId", ' ', contact->>'type', ' ',
             lower((contact->>'value') collate "C") collate "default",
             case when priority = 'urgent' then ' urgent' end), 0) end as lane,
         row_number() over (partition by "channelId", "isUrgent" order by ordinality)
           > 16 - coalesce(of_channel.sends, 0) as "isBeyondChannel",
         of_account.sends as "usedByAccount"
  from (select *, coalesce(priority = 'urgent', false) as "isUrgent" from admitted) given
    left join used of_channel on of_channel.channel_id = "channelId" and of_channel.is_urgent = "isUrgent"
    left join (select account_id, is_urgent, sum(sends) as sends from used group by account_id, is_urgent) of_account
      on of_account.account_id = "accountId" and of_account.is_urgent = "isUrgent"),
-- The send before each in its lane, in this batch or earlier, and whether it goes to the overflow.
ordered as (
  select counted.*,
         case when lane is not null then
           coalesce(lag("requestId") over (partition by lane order by ordinality),
                    (select request_id from sends s
                     where s.lane = counted.lane and coalesce(s.finished_at, 'infinity') = 'infinity'
                     order by seq desc limit 1)) end as behind,
         "isBeyondChannel" or row_number() over (
               partition by "accountId", "isUrgent", "isBeyondChannel" order by ordinality)
             > 100 - coalesce("usedByAccount", 0) as overflow
  from counted),
-- The send.
recorded as (
  insert into sends (
    request_id, account_id, channel_id, api_key_id, contact_type, contact_value,
    contact_name, message_type, message, flow_id, close_conversation, priority, lane,
    behind, overflow, expires_at, traceparent, send_at, reference,
    expires_in_seconds, metadata, segments, encoding, counted_as)
  select
    "requestId", "accountId", "channelId", "apiKeyId", contact->>'type',
    contact->>'value', contact->>'name', message->>'type', message, "flowId",
    "closeConversation", coalesce(priority, 'normal'), lane, behind, overflow,
    clock_timestamp() + "expireAfterSeconds" * interval '1 s', traceparent, "sendAt",
    reference, "expiresInSeconds", metadata, segments, encoding, 'waiting'
  from ordered order by ordinality
  returning request_id as "requestId", case when sends.overflow then sends.channel_id end as "overflowOf",
    behind is not null as "isBehind", account_id, channel_id, accepted_at, priority, segments),
-- The counters.
counted_accepts as (
  insert into send_count_changes (account_id, channel_id, hour, priority, counted_as, change, segments)
  select account_id, channel_id, date_trunc('hour', accepted_at, 'UTC'), priority, 'accepted', count(*),
         coalesce(sum(segments), 0)
  from recorded group by 1, 2, 3, 4),
-- Its media.
stored as (
  insert into media (request_id, content) select "requestId", $2 from recorded)
select "requestId", "overflowOf", "isBehind"
from recorded join given using ("requestId")
where given.idempotency is null
   or case when clock_timestamp() < given."recordBy" and recorded.accepted_at is not null then true else too_late() end;

-- insert_sends: Accepts sends without an Idempotency-Key, which most sends are.
with
-- The sends that are in time.
given as materialized (
  select fields.*
  from rows from (jsonb_to_recordset($1) as (
    "requestId" uuid, "accountId" uuid, "channelId" uuid, "apiKeyId" uuid,
    "contact" jsonb, "message" jsonb, "flowId" uuid, "closeConversation" boolean,
    "priority" priority, "ordering" text, "expireAfterSeconds" float8,
    "idempotency" jsonb, "traceparent" text, "sendAt" timestamptz, "reference" text,
    "expiresInSeconds" int, "metadata" jsonb, "segments" int, "encoding" text,
    "recordBy" timestamptz)) with ordinality as fields
  where clock_timestamp() < "recordBy"),
-- The part of their quotas that their accounts have used, by channel.
used as materialized (
  select "accountId" as account_id, channel_id, is_urgent, sends
  from (select distinct "accountId" from given) accounts cross join lateral (
    select channel_id, priority = 'urgent' as is_urgent, count(*) as sends from sends
    where account_id = "accountId" and coalesce(sends.finished_at, 'infinity') = 'infinity' and not sends.overflow
    group by channel_id, is_urgent) by_channel),
-- The lane of each, and whether it is beyond its channel's quota.
counted as (
  select given.*,
         case ordering when 'contact' then
           hashtextextended(concat(
             "channelId", ' ', contact->>'type', ' ',
             lower((contact->>'value') collate "C") collate "default",
             case when priority = 'urgent' then ' urgent' end), 0) end as lane,
         row_number() over (partition by "channelId", "isUrgent" order by ordinality)
           > 16 - coalesce(of_channel.sends, 0) as "isBeyondChannel",
         of_account.sends as "usedByAccount"
  from (select *, coalesce(priority = 'urgent', false) as "isUrgent" from given) given
    left join used of_channel on of_channel.channel_id = "channelId" and of_channel.is_urgent = "isUrgent"
    left join (select account_id, is_urgent, sum(sends) as sends from used group by account_id, is_urgent) of_account
      on of_account.account_id = "accountId" and of_account.is_urgent = "isUrgent"),
-- The send before each in its lane, in this batch or earlier, and whether it goes to the overflow.
ordered as (
  select counted.*,
         case when lane is not null then
           coalesce(lag("requestId") over (partition by lane order by ordinality),
                    (select request_id from sends s
                     where s.lane = counted.lane and coalesce(s.finished_at, 'infinity') = 'infinity'
                     order by seq desc limit 1)) end as behind,
         "isBeyondChannel" or row_number() over (
               partition by "accountId", "isUrgent", "isBeyondChannel" order by ordinality)
             > 100 - coalesce("usedByAccount", 0) as overflow
  from counted),
-- The sends, in the order in which they were given.
recorded as (
  insert into sends (
    request_id, account_id, channel_id, api_key_id, contact_type, contact_value,
    contact_name, message_type, message, flow_id, close_conversation, priority, lane,
    behind, overflow, expires_at, traceparent, send_at, reference,
    expires_in_seconds, metadata, segments, encoding, counted_as)
  select
    "requestId", "accountId", "channelId", "apiKeyId", contact->>'type',
    contact->>'value', contact->>'name', message->>'type', message, "flowId",
    "closeConversation", coalesce(priority, 'normal'), lane, behind, overflow,
    clock_timestamp() + "expireAfterSeconds" * interval '1 s', traceparent, "sendAt",
    reference, "expiresInSeconds", metadata, segments, encoding, 'waiting'
  from ordered order by ordinality
  returning request_id as "requestId", case when sends.overflow then sends.channel_id end as "overflowOf",
    behind is not null as "isBehind", account_id, channel_id, accepted_at, priority, segments),
-- The counters.
counted_accepts as (
  insert into send_count_changes (account_id, channel_id, hour, priority, counted_as, change, segments)
  select account_id, channel_id, date_trunc('hour', accepted_at, 'UTC'), priority, 'accepted', count(*),
         coalesce(sum(segments), 0)
  from recorded group by 1, 2, 3, 4)
select "requestId", "overflowOf", "isBehind" from recorded;

-- keep_early_receipts: Keeps receipts whose message no send is known for yet.
insert into early_receipts (channel_id, message_key, receipt)
select $1, md5(r.receipt->>'providerMessageId')::uuid, r.receipt
from jsonb_array_elements($2::jsonb) as r (receipt);

-- last_failures_of_channels: Finds what the providers of channels last answered when a call failed.
-- Looks at the last sends that failed after a call, and at those that are tried again, among the last in line. The
-- attempts before a replay or a fallback don't count: another channel may have made them.
select c.id as "channelId", last.*
from unnest($1::uuid[]) c (id) cross join lateral (
  (select f.request_id as "requestId", f.finished_at as at, f.attempt_record as record
   from (select s.request_id, s.finished_at, s.attempt_record from sends s
         where s.channel_id = c.id and s.failure is not null
         order by s.seq desc limit (select 100)) f
   where f.attempt_record is not null)
  union all
  select w.request_id, e.at, e.fields
  from unnest(enum_range(null::priority)) as each_priority (priority) cross join lateral (
      select s.request_id, s.attempt > s.attempts_before_replay as is_tried_again from sends s
      where s.channel_id = c.id and s.priority = each_priority.priority and s.finished_at is null
      order by s.next_attempt_at desc limit (select 100)) w
    cross join lateral (
      select e.at, e.fields from send_events e
      where w.is_tried_again and e.request_id = w.request_id and e.event = 'attempt_finished'
      order by e.at desc limit 1) e
  order by at desc limit 1) last;

-- list_accounts: Lists a page of all accounts, the newest first, for operators.
-- $1: of this account alone; $2: after this one; $3: how many.
select a.id as "accountId", a.name, a.rate_limit_points as "rateLimitPoints",
       a.rate_limit_seconds as "rateLimitSeconds", a.created_at as "createdAt",
       (select count(*)::int from channels c where c.account_id = a.id and c.deleted_at is null) as channels,
       (select count(*)::int from api_keys k
        where k.account_id = a.id and k.revoked_at is null
          and (k.expires_at > now()) is not false) as keys
from accounts a
where ($1::uuid is null or a.id = $1) and ($2::uuid is null or a.id < $2)
order by a.id desc limit $3;

-- list_channels: Lists a page of all channels, those with waiting sends first, for operators.
-- $1: the provider; $2: the state; $3: the account, its id or name; $4: a part of the name, or the id.
-- After the place of $5: the rank, $6: the name, $7: the id; $8: how many.
select page.rank, c.id as "channelId", c.account_id as "accountId", c.name, a.name as "accountName", c.provider,
  c.held_at as "heldAt", c.held_reason as "heldReason", c.breaker_open_until as "breakerOpenUntil",
  c.breaker_opened_at as "breakerOpenedAt", c.deleted_at as "deletedAt", w.waiting, w.by_priority as "waitingBy",
  w.oldest as "oldestDue", c.shown_config as "shownConfig"
from (
  select c.id, r.rank
  from channels c join accounts a on a.id = c.account_id
    cross join lateral (
      select case when c.held_at is not null or c.breaker_open_until is not null then 0 else 1 end as rank) r
  where c.deleted_at is null and ($1::text is null or c.provider = $1)
      and ($2::text is null
           or $2 = case when c.held_at is not null then 'held'
                        when c.breaker_open_until is not null then 'failing' else 'ready' end)
      and ($3::text is null or a.name = $3 or a.id::text = $3)
      and ($4::text is null or position(lower($4) in lower(c.name)) > 0 or c.id::text = $4)
    and ($5::int is null or (r.rank, c.name, c.id) > ($5::int, $6::text, $7::uuid))
  order by 2, c.name, c.id limit $8) page
join channels c on c.id = page.id join accounts a on a.id = c.account_id
cross join lateral (
  select least(sum(counted.number), 1001)::int as waiting, min(counted.oldest) as oldest,
         json_object_agg(each_priority.priority, counted.number) as by_priority
  from unnest(enum_range(null::priority)) as each_priority (priority) cross join lateral (
    select count(*)::int as number, min(next_attempt_at) as oldest
    from (select s.next_attempt_at from sends s
          where s.channel_id = c.id and s.priority = each_priority.priority and s.finished_at is null
          order by s.next_attempt_at limit 1001) first) counted) w
order by page.rank, c.name, c.id;

-- list_endpoints: Lists a page of all endpoints, those first that get no callbacks, for operators.
-- $1: the state; $2: the account, its id or name; $3: after this rank; $4: and of it after this endpoint;
-- $5: how many.
select page.rank, e.id as "endpointId", e.account_id as "accountId", a.name as "accountName", e.url,
       e.disabled_at as "disabledAt", e.disabled_reason as "disabledReason", e.failing_since as "failingSince",
       e.answered_at as "answeredAt", w.waiting, w.oldest as "oldestDue"
from (
  select e.id, r.rank
  from endpoints e join accounts a on a.id = e.account_id
    cross join lateral (
      select case when e.disabled_at is not null then 0
                  when e.failing_since is not null then 1 else 2 end as rank) r
  where ($1::text is null or r.rank = array_position('{disabled,failing,answering}', $1) - 1)
      and ($2::text is null or a.name = $2 or a.id::text = $2)
    and ($3::int is null or (r.rank, e.id) > ($3::int, $4::uuid))
  order by 2, e.id limit $5) page
join endpoints e on e.id = page.id join accounts a on a.id = e.account_id
cross join lateral (
  select count(*)::int as waiting, min(next_try_at) as oldest
  from (select c.next_try_at from callbacks c
        where c.endpoint_id = e.id and c.finished_at is null
        order by c.next_try_at limit 1001) first) w
order by page.rank, e.id;

-- list_sessions: Lists the sessions of a person, the last used first.
-- $1: the key of the name; $2: the hash of the own token, null if there is none.
select s.session_id as "id", s.begun_at as "begunAt", s.used_at as "usedAt", s.address,
       coalesce(s.token_hash = $2::bytea, false) as "isOwn"
from person_sessions s join people p on p.id = s.person_id
where p.name_key = $1 and s.expires_at > now() and s.used_at > now() - interval '8 hours'
order by s.used_at desc, s.session_id;

-- list_suppressions: Lists an account's entries page by page, oldest first.
-- $1: the account; $2: after this entry; $3: how many.
select e.id as "suppressionId", e.contact_type as "contactType",
  case when e.erased_at is null then e.contact_value end as "contactValue",
  e.channel_id as "channelId", e.cause, e.reason, e.request_id as "requestId", e.created_at as "createdAt"
from suppressions e
-- By the index of accounts: in that of ids, a plan may read the entries of others.
where (e.account_id, e.id) > ($1, $2) and (e.account_id, e.id) <= ($1, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
  and (e.contact_value = coalesce(e.contact_key,
        lower(e.contact_value collate "C") collate "default")
    or not exists (
      select from suppressions other
      where other.account_id = e.account_id
        and coalesce(other.contact_key,
            lower(other.contact_value collate "C") collate "default")
          = coalesce(e.contact_key,
              lower(e.contact_value collate "C") collate "default")
        and other.channel_id is not distinct from e.channel_id
        and (other.id < e.id
          or other.contact_value = coalesce(other.contact_key,
              lower(other.contact_value collate "C") collate "default"))))
order by e.account_id, e.id limit $3;

-- lock_channels: Locks the channels whose permits are about to be granted.
select from channels where id = any((select $1::uuid[])::uuid[]) order by id for no key update;

-- lock_counters: Lets one process at a time add changes to the counters.
select pg_try_advisory_xact_lock(7091500213) as "isFree";

-- lock_moving: Lets one process at a time move scheduled sends.
select pg_try_advisory_xact_lock(7091500212) as "isFree";

-- lock_to_cancel: Locks sends that are to be canceled.
select request_id as "requestId", status from sends
where request_id = any((select $1::uuid[])::uuid[]) and ($2::uuid is null or account_id = $2)
order by request_id
for no key update;

-- lock_to_reschedule: Locks a scheduled send that is not yet due.
-- $1: the send; $2: its account, null for any.
select true as "isFound" from scheduled_sends
where request_id = $1 and ($2::uuid is null or account_id = $2) and send_at > clock_timestamp()
for update;

-- look_up_contacts: Finds the accounts that know a contact, by its sends and suppressions, for the box of the support page.
select t.kind, t.id, t.name, t.account_id as "accountId", a.name as "accountName"
from (
  select distinct on (known.value, known.account_id) known.kind, known.id, null as name, known.account_id
  from unnest($1::text[]) as given (value) cross join lateral (
    (select 'contactOfSend' as kind, 1 as rank, s.request_id as id, s.account_id, given.value
     from sends s where (s.contact_value = given.value
         or lower(s.contact_value collate "C") collate "default" = given.value
           and s.contact_value <> lower(s.contact_value collate "C") collate "default") limit 2000)
    union all
    (select 'contactOfSend', 1, s.request_id, s.account_id, given.value
     from scheduled_sends s where (s.contact_value = given.value
         or lower(s.contact_value collate "C") collate "default" = given.value
           and s.contact_value <> lower(s.contact_value collate "C") collate "default") limit 2000)
    union all
    select 'contactOfSuppression', 2, e.id, e.account_id, given.value
    from accounts a cross join lateral (
      select * from suppressions e where e.account_id = a.id and coalesce(e.contact_key,
          lower(e.contact_value collate "C") collate "default") = given.value
      order by e.id desc limit 1) e) known
  order by known.value, known.account_id, known.rank, known.id desc) t
  join accounts a on a.id = t.account_id
order by t.kind, t.id desc;

-- look_up_ids: Finds what has one of these ids, for the box of the support page.
select t.kind, t.id, t.name, t.account_id as "accountId", a.name as "accountName"
from (
  select 'send' as kind, request_id as id, status as name, account_id as account_id
  from sends where request_id = any((select $1::uuid[])::uuid[])
  union all
  select 'send' as kind, request_id as id, 'scheduled' as name, account_id as account_id
  from scheduled_sends where request_id = any((select $1::uuid[])::uuid[])
  union all
  select 'channel' as kind, id as id, name as name, account_id as account_id
  from channels where id = any((select $1::uuid[])::uuid[])
  union all
  select 'endpoint' as kind, id as id, split_part(url, '/', 3) as name, account_id as account_id
  from endpoints where id = any((select $1::uuid[])::uuid[])
  union all
  select 'flow' as kind, id as id, name as name, account_id as account_id
  from flows where id = any((select $1::uuid[])::uuid[])
  union all
  select 'conversation' as kind, id as id, null as name, account_id as account_id
  from conversations where id = any((select $1::uuid[])::uuid[])
  union all
  select 'suppression' as kind, id as id, cause as name, account_id as account_id
  from suppressions where id = any((select $1::uuid[])::uuid[])
  union all
  select 'account' as kind, id as id, name as name, id as account_id
  from accounts where id = any((select $1::uuid[])::uuid[])) t
  join accounts a on a.id = t.account_id
order by t.kind, t.id desc;

-- look_up_names: Finds channels and accounts whose name is in a text, or which have the text in their name, for the box of the support page.
select t.kind, t.id, t.name, t.account_id as "accountId", a.name as "accountName"
from (
  (select 'channel' as kind, id, name, account_id as account_id
   from channels
   where length(name) >= 3 and position(lower(name) in lower($1)) > 0
      or length($1) >= 3 and position(lower($1) in lower(name)) > 0
      or name = $1
   order by lower(name) = lower($1) desc, id desc limit 100)
  union all
  (select 'account' as kind, id, name, id as account_id
   from accounts
   where length(name) >= 3 and position(lower(name) in lower($1)) > 0
      or length($1) >= 3 and position(lower($1) in lower(name)) > 0
      or name = $1
   order by lower(name) = lower($1) desc, id desc limit 100)) t
  join accounts a on a.id = t.account_id
order by t.kind, t.id desc;

-- look_up_references: Finds sends by their references, for the box of the support page.
(select request_id as "requestId" from sends
 where reference = any((select $1::text[])::text[]) limit 21)
union all
(select request_id from scheduled_sends
 where reference = any((select $1::text[])::text[]) limit 21);

-- mark_try: Marks a send as the try of its channel by an operator.
insert into send_events (request_id, at, event, fields)
select $1::uuid, clock_timestamp(), 'tried', json_build_object();

-- media_content: Reads the content of media.
select content from media where request_id = $1;

-- move_due_sends: Moves a page of scheduled sends whose time has come to the others.
with
-- The scheduled sends to move, locked.
chosen as materialized (
  select * from scheduled_sends
  where send_at <= now()
  order by send_at, seq limit $1
  for update skip locked),
-- They leave their table.
removed as (
  delete from scheduled_sends where request_id = any(array(select request_id from chosen))),
-- As an accept gives them, in the order of their times.
given as materialized (
  select s.request_id as "requestId", s.account_id as "accountId", s.channel_id as "channelId",
    s.api_key_id as "apiKeyId",
    jsonb_strip_nulls(jsonb_build_object('type', s.contact_type, 'value', s.contact_value,
                                         'name', s.contact_name)) as contact,
    s.message, s.flow_id as "flowId", s.close_conversation as "closeConversation", s.priority, channels.ordering,
    least(channels.expire_after_seconds,
          extract(epoch from (
            greatest(s.accepted_at, s.send_at)
              + s.expires_in_seconds * interval '1 s') - clock_timestamp())) as "expireAfterSeconds",
    s.traceparent, s.reference, s.expires_in_seconds as "expiresInSeconds", s.metadata,
    s.segments, s.encoding,
    s.send_at as "sendAt", s.accepted_at as "acceptedAt",
         row_number() over (order by s.send_at, s.seq) as ordinality
  from chosen s join channels on channels.id = s.channel_id),
-- The part of their quotas that their accounts have used, by channel.
used as materialized (
  select "accountId" as account_id, channel_id, is_urgent, sends
  from (select distinct "accountId" from given) accounts cross join lateral (
    select channel_id, priority = 'urgent' as is_urgent, count(*) as sends from sends
    where account_id = "accountId" and coalesce(sends.finished_at, 'infinity') = 'infinity' and not sends.overflow
    group by channel_id, is_urgent) by_channel),
-- The lane of each, and whether it is beyond its channel's quota.
counted as (
  select given.*,
         case ordering when 'contact' then
           hashtextextended(concat(
             "channelId", ' ', contact->>'type', ' ',
             lower((contact->>'value') collate "C") collate "default",
             case when priority = 'urgent' then ' urgent' end), 0) end as lane,
         row_number() over (partition by "channelId", "isUrgent" order by ordinality)
           > 16 - coalesce(of_channel.sends, 0) as "isBeyondChannel",
         of_account.sends as "usedByAccount"
  from (select *, coalesce(priority = 'urgent', false) as "isUrgent" from given) given
    left join used of_channel on of_channel.channel_id = "channelId" and of_channel.is_urgent = "isUrgent"
    left join (select account_id, is_urgent, sum(sends) as sends from used group by account_id, is_urgent) of_account
      on of_account.account_id = "accountId" and of_account.is_urgent = "isUrgent"),
-- The send before each in its lane, in this batch or earlier, and whether it goes to the overflow.
ordered as (
  select counted.*,
         case when lane is not null then
           coalesce(lag("requestId") over (partition by lane order by ordinality),
                    (select request_id from sends s
                     where s.lane = counted.lane and coalesce(s.finished_at, 'infinity') = 'infinity'
                     order by seq desc limit 1)) end as behind,
         "isBeyondChannel" or row_number() over (
               partition by "accountId", "isUrgent", "isBeyondChannel" order by ordinality)
             > 100 - coalesce("usedByAccount", 0) as overflow
  from counted)
insert into sends (
  request_id, account_id, channel_id, api_key_id, contact_type, contact_value,
  contact_name, message_type, message, flow_id, close_conversation, priority, lane,
  behind, overflow, expires_at, traceparent, send_at, reference,
  expires_in_seconds, metadata, segments, encoding, accepted_at)
select
  "requestId", "accountId", "channelId", "apiKeyId", contact->>'type',
  contact->>'value', contact->>'name', message->>'type', message, "flowId",
  "closeConversation", coalesce(priority, 'normal'), lane, behind, overflow,
  clock_timestamp() + "expireAfterSeconds" * interval '1 s', traceparent, "sendAt",
  reference, "expiresInSeconds", metadata, segments, encoding, "acceptedAt"
from ordered
order by ordinality
returning request_id as "requestId", case when sends.overflow then sends.channel_id end as "overflowOf",
  behind is not null as "isBehind";

-- move_given_sends: Moves given scheduled sends to the others, where they fail.
with
-- The scheduled sends to move, locked.
chosen as materialized (
  select * from scheduled_sends
  where request_id = any((select $1::uuid[])::uuid[])
  for update skip locked),
-- They leave their table.
removed as (
  delete from scheduled_sends where request_id = any(array(select request_id from chosen))),
-- As an accept gives them, in the order of their times.
given as materialized (
  select s.request_id as "requestId", s.account_id as "accountId", s.channel_id as "channelId",
    s.api_key_id as "apiKeyId",
    jsonb_strip_nulls(jsonb_build_object('type', s.contact_type, 'value', s.contact_value,
                                         'name', s.contact_name)) as contact,
    s.message, s.flow_id as "flowId", s.close_conversation as "closeConversation", s.priority, channels.ordering,
    least(channels.expire_after_seconds,
          extract(epoch from (
            greatest(s.accepted_at, s.send_at)
              + s.expires_in_seconds * interval '1 s') - clock_timestamp())) as "expireAfterSeconds",
    s.traceparent, s.reference, s.expires_in_seconds as "expiresInSeconds", s.metadata,
    s.segments, s.encoding,
    s.send_at as "sendAt", s.accepted_at as "acceptedAt",
         row_number() over (order by s.send_at, s.seq) as ordinality
  from chosen s join channels on channels.id = s.channel_id),
-- The part of their quotas that their accounts have used, by channel.
used as materialized (
  select "accountId" as account_id, channel_id, is_urgent, sends
  from (select distinct "accountId" from given) accounts cross join lateral (
    select channel_id, priority = 'urgent' as is_urgent, count(*) as sends from sends
    where account_id = "accountId" and coalesce(sends.finished_at, 'infinity') = 'infinity' and not sends.overflow
    group by channel_id, is_urgent) by_channel),
-- The lane of each, and whether it is beyond its channel's quota.
counted as (
  select given.*,
         case ordering when 'contact' then
           hashtextextended(concat(
             "channelId", ' ', contact->>'type', ' ',
             lower((contact->>'value') collate "C") collate "default",
             case when priority = 'urgent' then ' urgent' end), 0) end as lane,
         row_number() over (partition by "channelId", "isUrgent" order by ordinality)
           > 16 - coalesce(of_channel.sends, 0) as "isBeyondChannel",
         of_account.sends as "usedByAccount"
  from (select *, coalesce(priority = 'urgent', false) as "isUrgent" from given) given
    left join used of_channel on of_channel.channel_id = "channelId" and of_channel.is_urgent = "isUrgent"
    left join (select account_id, is_urgent, sum(sends) as sends from used group by account_id, is_urgent) of_account
      on of_account.account_id = "accountId" and of_account.is_urgent = "isUrgent"),
-- The send before each in its lane, in this batch or earlier, and whether it goes to the overflow.
ordered as (
  select counted.*,
         case when lane is not null then
           coalesce(lag("requestId") over (partition by lane order by ordinality),
                    (select request_id from sends s
                     where s.lane = counted.lane and coalesce(s.finished_at, 'infinity') = 'infinity'
                     order by seq desc limit 1)) end as behind,
         "isBeyondChannel" or row_number() over (
               partition by "accountId", "isUrgent", "isBeyondChannel" order by ordinality)
             > 100 - coalesce("usedByAccount", 0) as overflow
  from counted)
insert into sends (
  request_id, account_id, channel_id, api_key_id, contact_type, contact_value,
  contact_name, message_type, message, flow_id, close_conversation, priority, lane,
  behind, overflow, expires_at, traceparent, send_at, reference,
  expires_in_seconds, metadata, segments, encoding, accepted_at)
select
  "requestId", "accountId", "channelId", "apiKeyId", contact->>'type',
  contact->>'value', contact->>'name', message->>'type', message, "flowId",
  "closeConversation", coalesce(priority, 'normal'), lane, behind, overflow,
  clock_timestamp() + "expireAfterSeconds" * interval '1 s', traceparent, "sendAt",
  reference, "expiresInSeconds", metadata, segments, encoding, "acceptedAt"
from ordered
order by ordinality
returning request_id as "requestId", case when sends.overflow then sends.channel_id end as "overflowOf",
  behind is not null as "isBehind";

-- names_of: Reads the names of accounts, channels and flows, for lists of the console.
select id, name from accounts where id = any((select $1::uuid[])::uuid[])
union all
select id, name from channels where id = any((select $1::uuid[])::uuid[])
union all
select id, name from flows where id = any((select $1::uuid[])::uuid[]);

-- names_of_channels: Lists the channels of an account by their names, for the forms of the console.
select id, name from channels where account_id = $1 and deleted_at is null order by name, id;

-- names_of_targets: Reads the names of what rows of the audit are about.
select id, name from accounts where id = any((select $1::uuid[])::uuid[])
union all
select id, name from channels where id = any((select $1::uuid[])::uuid[])
union all
select id, name from flows where id = any((select $1::uuid[])::uuid[])
union all
-- Only the host of a URL: its path and query may hold secrets.
select id, substring(url from '^[a-z]+://(?:[^/?#@]*@)?([^/?#]+)')
from endpoints where id = any((select $1::uuid[])::uuid[])
union all
select id, display_prefix from api_keys where id = any((select $1::uuid[])::uuid[]);

-- next_calls: Finds when endpoints are to be called next.
select e.id as "endpointId", due."inMs", (e.failing_since is not null
   or coalesce(e.answered_at < clock_timestamp() - interval '10 minutes', true)) as "isInSlowStart",
  extract(epoch from clock_timestamp() - e.failing_since)::int as "failingForSeconds"
from endpoints e cross join lateral (
  select greatest(0, ceil(1000 * extract(epoch from
           greatest(c.next_try_at, e.breaker_open_until) - clock_timestamp())))::float8 as "inMs"
  from callbacks c
  where c.endpoint_id = e.id and c.finished_at is null
    and coalesce((
        select false from callbacks earlier
        where earlier.endpoint_id = c.endpoint_id and earlier.request_id = c.request_id
          and earlier.sequence < c.sequence and coalesce(earlier.finished_at, 'infinity') = 'infinity'
        limit 1), true)
  order by c.next_try_at
  limit 1) due
where e.id = any((select $1::uuid[])::uuid[]) and e.disabled_at is null and e.claim_id is null;

-- next_due: Finds when the next scheduled send is due.
select extract(epoch from send_at - clock_timestamp())::float8 * 1000 as "inMs"
from scheduled_sends order by send_at limit 1;

-- next_probe: Allows another probe of an open circuit breaker at once.
update channels set breaker_open_until = clock_timestamp() where id = $1 and breaker_open_until is not null;

-- note_answer: Records that a send of the channel’s overflow got an answer, which ends its slow start.
with channels as materialized (
  select id, coalesce(channels.answered_at < clock_timestamp() - interval '10 s', true) as was_in_slow_start
  from channels where id = $1 for no key update)
update channels noted set answered_at = clock_timestamp() from channels where noted.id = channels.id
returning was_in_slow_start as "wasInSlowStart";

-- note_endpoint_answers: Notes that endpoints answered with a 2xx, which closes their circuit breakers.
-- $1: the endpoints; $2: the URLs that were called.
with before as materialized (
  select id, breaker_open_until is not null as was_open
  from endpoints
  where id = any((select $1::uuid[])::uuid[]) and (id, url) in (select * from unnest($1::uuid[], $2::text[]))
  order by id for no key update)
update endpoints e
set answered_at = clock_timestamp(), failing_since = null, failed_at = null,
    breaker_open_until = null, breaker_opened_at = null, breaker_openings = 0
from before where e.id = before.id
returning e.id as "endpointId", before.was_open as "breakerWasOpen";

-- note_endpoint_failure: Notes that a call of an endpoint failed, and disables it if it wants no more, or has failed for days.
-- $1: the endpoint; $2: why to disable it at once, else null; $3: why it is disabled if it has failed for too long;
-- $4: the URL that was called.
with since as materialized (
  select id,
         case when failed_at < clock_timestamp() - interval '36 hours' then clock_timestamp()
              else coalesce(failing_since, clock_timestamp()) end as failing_since
  from endpoints where id = $1 and disabled_at is null and url = $4 for no key update),
judged as (
  select *, coalesce($2::text, case when failing_since < clock_timestamp() - interval '5 days'
                                    then $3::text end) as reason
  from since)
update endpoints e
set failing_since = judged.failing_since, failed_at = clock_timestamp(), disabled_reason = judged.reason,
    disabled_at = case when judged.reason is not null then clock_timestamp() end
from judged where e.id = judged.id
returning e.disabled_reason as "disabledReason";

-- note_fallback_unused: Adds to the reasons of sends that have just ended why their fallback was not used.
-- $1: the sends and their reasons.
with
-- The given reasons.
unused as materialized (
  select * from json_to_recordset($1) as ("requestId" uuid, reason text)),
-- The reasons of sends that failed.
failed as (
  update sends s set failure = unused.reason
  from unused
  where s.request_id = unused."requestId" and s.request_id = any(array(select "requestId" from unused))
    and s.status = 'failed')
-- The reasons of sends that are reported as undelivered.
update send_events e set fields = (e.fields::jsonb || jsonb_build_object('reason', unused.reason))::json
from unused join sends s on s.request_id = unused."requestId"
where s.request_id = any(array(select "requestId" from unused)) and s.delivery = 'undelivered'
  and e.id = (select id from send_events last
              where last.request_id = s.request_id and last.event = 'undelivered'
              order by last.at desc limit 1);

-- note_receipts: Notes when channels last got a receipt.
with given as materialized (
    select c.id, given.at
    from json_to_recordset($1) as given ("channelId" uuid, at timestamptz) join channels c on c.id = given."channelId"
    order by c.id
    for no key update of c)
update channels c
set receipt_at = greatest(c.receipt_at, given.at),
    awaits_receipt_since = case when c.awaits_receipt_since > given.at then c.awaits_receipt_since end
from given
where c.id = given.id;

-- oldest_waiting: Finds the channels whose sends have been due for the longest time.
with recursive
waiting as (
  (select channel_id as id from sends where finished_at is null order by channel_id limit 1)
  union all
  select (select channel_id from sends where finished_at is null and channel_id > waiting.id
          order by channel_id limit 1)
  from waiting where waiting.id is not null)
select c.id as "channelId", c.name, a.name as "accountName", first.due as "dueSince"
from waiting cross join lateral (
    select min(s.due) as due
    from unnest(enum_range(null::priority)) as each_priority (priority) cross join lateral (
      select s.next_attempt_at as due from sends s
      where s.channel_id = waiting.id and s.priority = each_priority.priority and s.finished_at is null
      order by s.next_attempt_at limit 1) s) first
  join channels c on c.id = waiting.id join accounts a on a.id = c.account_id
where first.due < now() and ($1::uuid is null or c.account_id = $1)
order by first.due limit 3;

-- open_breaker: Opens a channel’s circuit breaker, for longer each time.
update channels
set breaker_openings = breaker_openings + 1, breaker_opened_at = coalesce(breaker_opened_at, clock_timestamp()),
    breaker_open_until = clock_timestamp() +
      least(300, 10 * 2 ^ least(breaker_openings, 10)) * interval '1 s'
where id = $1 and (breaker_open_until is null or $2)
returning least(300,
                10 * 2 ^ least(breaker_openings - 1, 10))::int as "openSeconds";

-- open_endpoint_breaker: Opens an endpoint’s circuit breaker, for longer each time.
update endpoints
set breaker_openings = breaker_openings + 1, breaker_opened_at = coalesce(breaker_opened_at, clock_timestamp()),
    breaker_open_until = clock_timestamp() +
      least(300, 10 * 2 ^ least(breaker_openings, 10)) * interval '1 s'
where id = $1 and (breaker_open_until is null or $2)
returning least(300,
                10 * 2 ^ least(breaker_openings - 1, 10))::int as "openSeconds";

-- page_of_suppressions: Lists an account's entries page by page, newest first, for the console.
-- $1: the account; $2: before this entry; $3: how many are looked at; $4: the cause; $5: the channel; $6: how many.
select e.id as "suppressionId", e.contact_type as "contactType",
  case when e.erased_at is null then e.contact_value end as "contactValue",
  e.channel_id as "channelId", e.cause, e.reason, e.request_id as "requestId", e.created_at as "createdAt",
  (e.contact_value = coalesce(e.contact_key,
      lower(e.contact_value collate "C") collate "default")
  or not exists (
    select from suppressions other
    where other.account_id = e.account_id
      and coalesce(other.contact_key,
          lower(other.contact_value collate "C") collate "default")
        = coalesce(e.contact_key,
            lower(e.contact_value collate "C") collate "default")
      and other.channel_id is not distinct from e.channel_id
      and (other.id < e.id
        or other.contact_value = coalesce(other.contact_key,
            lower(other.contact_value collate "C") collate "default")))) as "isShown"
from (
  select * from suppressions
  where (account_id, id) < ($1, $2) and (account_id, id) > ($1, '00000000-0000-0000-0000-000000000000')
  order by account_id desc, id desc limit (select $3::int)) e
where
  ($4::text is null or e.cause = $4)
    and ($5::uuid is null or e.channel_id = $5)
order by e.account_id desc, e.id desc limit $6;

-- person_credentials: Finds what a sign-in is checked against.
select id as "personId", name, password_hash as "passwordHash", known_addresses as "knownAddresses"
from people where name_key = $1;

-- postpone_sends: Makes sends due when their quiet hours or the periods of their ceilings end, so that no search for due sends finds them before.
-- $1: the sends.
with
-- Those that may not go now, locked in the order of their ids.
asked as materialized (
  select s.request_id, greatest(ends.quiet, ends.ceiling) as until,
         case when ends.ceiling >= coalesce(ends.quiet, ends.ceiling)
              then case when (select exists (select from ceilings))
                          and s.attempt = s.attempts_before_replay then
                  (select reason
                   from passed_ceiling(s.account_id, s.channel_id, s.contact_type, s.segments,
                                       s.account_counted_at, s.channel_counted_at)) end
              else concat('quiet hours until ', to_char(ends.quiet at time zone clock.zone, 'YYYY-MM-DD HH24:MI'),
                          ' (', clock.zone, ')') end as reason
  from sends s join channels on channels.id = s.channel_id
    cross join lateral (
      select quiet_until(channels.quiet_hours, s.priority, s.contact_type, s.contact_value) as quiet,
             case when (select exists (select from ceilings))
                       and s.attempt = s.attempts_before_replay then
               (select ends
                from passed_ceiling(s.account_id, s.channel_id, s.contact_type, s.segments,
                                    s.account_counted_at, s.channel_counted_at)) end as ceiling) ends
    cross join lateral (
      select case when ends.quiet is not null then coalesce(
        (select zone from unnest(quiet_zones(channels.quiet_hours, s.contact_type, s.contact_value)) zone
         where quiet_end((channels.quiet_hours->>'from')::time, (channels.quiet_hours->>'until')::time, zone,
                         ends.quiet - interval '1 s') is not null
         order by zone limit 1),
        channels.quiet_hours->>'zone') end as zone) clock
  where s.request_id = any((select $1::uuid[])::uuid[])
    and s.status = 'queued' and s.next_attempt_at <= clock_timestamp()
      and not coalesce(s.expires_at <= clock_timestamp(), false)
    and num_nonnulls(ends.quiet, ends.ceiling) > 0
  order by s.request_id
  for no key update of s skip locked),
-- Their new due times.
postponed as (
  update sends s set next_attempt_at = asked.until
  from asked where s.request_id = asked.request_id
  returning s.request_id, asked.until, asked.reason),
-- Their events.
events as (
  insert into send_events (request_id, at, event, fields)
  select a.request_id, clock_timestamp(), 'postponed', json_build_object(
      'reason', a.reason,
      'nextAttemptAt', to_char(a.until at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))
  from postponed a)
select request_id as "requestId", reason, until as "nextAttemptAt",
       ceil(extract(epoch from until - clock_timestamp()) * 1000)::float8 as "inMs"
from postponed;

-- read_provider_hashes: Reads the versions of operators' files of providers.
select name, hash from provider_files;

-- read_queue_shards: Reads how many shards the queue has.
select count, previous from queue_shards;

-- read_session: Finds the person of a session, and whether there ever were people.
-- $1: the hash of the token in the cookie; null if there is none.
select exists (select from people_since) as "hadPeople", p.name, p.role,
       s.used_at < now() - interval '5 minutes' as "isUseDue"
from (select) one
left join (person_sessions s join people p on p.id = s.person_id)
  on s.token_hash = $1::bytea and s.expires_at > now() and s.used_at > now() - interval '8 hours';

-- read_usage_costs: Sums what the sends of an account cost that were accepted on some days.
-- $1: the account; $2: the first day; $3: the day after the last; $4: whether by day; $5: by month; $6: by channel;
-- $7: by priority.
with
-- The sums, and the changes since.
counted as (
  select day, channel_id, priority, currency, amount
  from usage_costs
  where account_id = $1 and day >= $2::date and day < $3::date
  union all
  select (hour at time zone 'UTC')::date, channel_id, priority, currency, amount
  from send_count_changes
  where currency is not null and account_id = $1
    and hour >= $2::date::timestamp at time zone 'UTC' and hour < $3::date::timestamp at time zone 'UTC'),
-- By group and currency.
grouped as (
  select case when $4::boolean then day end as by_day,
         case when $5::boolean then date_trunc('month', day)::date end as by_month,
         case when $6::boolean then channel_id end as of_channel,
         case when $7::boolean then priority end as by_priority, currency, sum(amount) as amount
  from counted
  group by 1, 2, 3, 4, 5 having sum(amount) <> 0)
select to_char(by_day, 'YYYY-MM-DD') as day, to_char(by_month, 'YYYY-MM') as month, of_channel as "channelId",
       by_priority as priority, json_object_agg(currency, trim_scale(amount)::text order by currency) as cost
from grouped
group by by_day, by_month, of_channel, by_priority;

-- ready_heads: Finds the heads of the lanes of given sends that may be claimed now.
select distinct s.request_id as "requestId", case when s.overflow then s.channel_id end as "overflowOf",
       greatest(permit.in_ms, ceil(extract(epoch from greatest(
           case when quiet_until(channels.quiet_hours, s.priority, s.contact_type, s.contact_value)
             is not null then quiet_until(channels.quiet_hours, s.priority, s.contact_type, s.contact_value) end,
           case when case when (select exists (select from ceilings))
                     and s.attempt = s.attempts_before_replay then
             (select ends
              from passed_ceiling(s.account_id, s.channel_id, s.contact_type, s.segments,
                                  s.account_counted_at, s.channel_counted_at)) end
             is not null then case when (select exists (select from ceilings))
                     and s.attempt = s.attempts_before_replay then
             (select ends
              from passed_ceiling(s.account_id, s.channel_id, s.contact_type, s.segments,
                                  s.account_counted_at, s.channel_counted_at)) end end,
           case when s.next_attempt_at > clock_timestamp() then s.next_attempt_at end
         ) - clock_timestamp()) * 1000)::float8) as "inMs"
from sends asked
  cross join lateral (
    (select * from sends l
      where l.lane = asked.lane and coalesce(l.finished_at, 'infinity') = 'infinity'
      order by l.seq limit 1)
    union all
    select asked.* where asked.lane is null) s
  join channels on channels.id = s.channel_id
  cross join lateral (
    select case when (channels.breaker_open_until is not null
       or num_nonnulls(channels.rate_calls, channels.max_in_flight) > 0
       or s.overflow and coalesce(channels.answered_at < clock_timestamp() - interval '10 s', true))
      then (select ceil(greatest(
           0, coalesce(extract(epoch from p.call_at - clock_timestamp()) * 1000, 0) - 100))::float8
         from permits p
         where p.request_id = s.request_id and p.attempt = s.attempt + 1
           and p.valid_until > clock_timestamp()
           and (p.is_probe or channels.breaker_open_until is null))
      else 0 end as in_ms) permit
where asked.request_id = any((select $1::uuid[])::uuid[])
  and s.status = 'queued' and s.next_attempt_at <= clock_timestamp()
    and not coalesce(s.expires_at <= clock_timestamp(), false)
  and (channels.held_at is not null) is not true and permit.in_ms is not null;

-- recall_from_ceilings: Makes the sends due that wait for the next period of a ceiling of an account or a channel, which is about to change.
-- $1: the account or the channel.
update sends s set next_attempt_at = clock_timestamp()
from channels
where $1 in (channels.id, channels.account_id) and s.channel_id = channels.id
  and s.priority in ('urgent', 'normal', 'bulk')
  and s.finished_at is null and s.status = 'queued'
  and s.next_attempt_at = any(array(
    select now.ends from ceilings c cross join lateral (
        select at, starts, ceiling_end(c.period, starts) as ends,
               case when c.starts_at >= starts then c.used else 0 end as used
        from (select at, ceiling_start(c.period, c.starts_at, at) as starts
              from clock_timestamp() at) of_clock) now
    where c.owner_id = $1))
  and s.next_attempt_at is distinct from quiet_until(channels.quiet_hours, s.priority, s.contact_type, s.contact_value);

-- recall_postponed: Makes the sends of a channel due that wait for the end of its quiet hours alone, which are about to change.
update sends s set next_attempt_at = clock_timestamp()
from channels
where channels.id = $1 and s.channel_id = channels.id and s.priority in ('urgent', 'normal', 'bulk')
  and s.finished_at is null and s.status = 'queued' and s.next_attempt_at > clock_timestamp()
  and s.next_attempt_at = quiet_until(channels.quiet_hours, s.priority, s.contact_type, s.contact_value);

-- receiving_channels: Finds the channels that receipts are addressed to.
select id as "channelId", account_id as "accountId", provider, sealed_config as "sealedConfig",
       fallback_channel_id is not null as "hasFallback"
from channels where id = any((select $1::uuid[])::uuid[]) and deleted_at is null;

-- receiving_scheduled: Finds scheduled sends that receipts are about.
select request_id as "requestId", channel_id as "channelId"
from scheduled_sends where request_id = any((select $1::uuid[])::uuid[]);

-- reclaim_sends: Repeats claim_sends after a lost answer. Waits for sends that the first one may still be claiming.
-- $1: the sends; $2: the worker; $3: the claim; $4: ids for new conversations, one for each send; $5: the key of the
-- hashes of erased contacts; $6: whether they go although a more urgent one is ready.
with
-- The sends that are ready, and those that already have this claim, locked in the order of their ids.
candidates as materialized (
  select s.* from sends s
  where s.request_id = any((select $1::uuid[])::uuid[])
    and ((s.status = 'queued' and s.next_attempt_at <= clock_timestamp()
      and not coalesce(s.expires_at <= clock_timestamp(), false)
          and not (case when (select exists (select from suppressions)) then
                (select e.cause from suppressions e
                 where e.account_id = s.account_id
                   and coalesce(e.contact_key,
                       lower(e.contact_value collate "C") collate "default") = any(
                     case when (select exists (
                          select from suppressions where erased_at is not null)) then
                       array[lower(s.contact_value collate "C") collate "default",
                             'erased:' || encode(sha256(
                               substring($5::bytea from 65)
                                 || sha256(substring($5::bytea for 64)
                                   || convert_to(s.account_id || ' '
                                   || lower(s.contact_value collate "C") collate "default", 'UTF8'))), 'hex'),
                             case when s.contact_value <> lower(s.contact_value collate "C") collate "default" then
                               'erased:' || encode(sha256(
                                 substring($5::bytea from 65)
                                   || sha256(substring($5::bytea for 64)
                                     || convert_to(s.account_id || ' '
                                     || s.contact_value, 'UTF8'))), 'hex') end]
                     else array[lower(s.contact_value collate "C") collate "default"] end)
                   and (e.channel_id is null or e.channel_id = s.channel_id)
                 limit 1) end is not null)
          and (select alive_until > clock_timestamp() from workers where name = $2))
         or (s.status = 'sending' and s.claim_id = $3))
  order by s.request_id
  for no key update ),
-- Sends that are free to go, and their contacts' conversations: the open one, or a new one for all sends of a contact.
free as materialized (
  select s.request_id, s.account_id, s.channel_id, s.contact_type, person.value as contact_value,
         case when cardinality(open.ids) = 1 then open.ids[1] end as open_id,
         ($4::uuid[])[dense_rank() over (order by s.account_id, s.contact_type, person.value)] as new_id,
         s.conversation_id is null and not s.close_conversation and open.ids is null as opens
  from candidates s join channels on channels.id = s.channel_id
  cross join lateral (
    select lower(s.contact_value collate "C") collate "default" as value) person
  -- A send with several open ones stays without, and closes all but the newest when it enters.
  cross join lateral (
    select array_agg(id order by id desc) as ids from (
      select c.id from conversations c
      where c.account_id = s.account_id and c.contact_type = s.contact_type
        and c.contact_value = person.value and c.closed_at is null
      union all
      select c.id from conversations c
      where s.contact_type = 'email' and c.account_id = s.account_id and c.contact_type = s.contact_type
        and lower(c.contact_value collate "C") collate "default" = person.value
        and c.contact_value <> lower(c.contact_value collate "C") collate "default"
        and c.closed_at is null) one
    where not s.close_conversation) open
  cross join lateral (
    select s.channel_id, s.priority) mine
  where s.status = 'sending' or (
    (channels.held_at is not null) is not true
    and (quiet_until(channels.quiet_hours, s.priority, s.contact_type, s.contact_value)
      is not null) is not true
    and (case when (select exists (select from ceilings))
              and s.attempt = s.attempts_before_replay then
      (select ends
       from passed_ceiling(s.account_id, s.channel_id, s.contact_type, s.segments,
                           s.account_counted_at, s.channel_counted_at)) end
      is not null) is not true
    and (coalesce((
      select true from sends earlier
      where earlier.lane = s.lane and earlier.seq < s.seq
        and coalesce(earlier.finished_at, 'infinity') = 'infinity'
      limit 1), false)) is not true
    and (not (channels.breaker_open_until is not null
       or num_nonnulls(channels.rate_calls, channels.max_in_flight) > 0
       or s.overflow and coalesce(channels.answered_at < clock_timestamp() - interval '10 s', true))
         or coalesce(
             (select ceil(greatest(
                0, coalesce(extract(epoch from p.call_at - clock_timestamp()) * 1000, 0) - 100))::float8
              from permits p
              where p.request_id = s.request_id and p.attempt = s.attempt + 1
                and p.valid_until > clock_timestamp()
                and (p.is_probe or channels.breaker_open_until is null)) < 100, false))
    and ($6
         or (channels.breaker_open_until is not null
            or num_nonnulls(channels.rate_calls, channels.max_in_flight) > 0)
         or not coalesce((
             select true from sends s
             where s.channel_id = mine.channel_id and s.priority < mine.priority and s.finished_at is null
               and s.status = 'queued' and s.next_attempt_at <= clock_timestamp()
                 and not coalesce(s.expires_at <= clock_timestamp(), false)
             limit 1), false)))),
-- Their ceilings, locked in the order of their keys.
locked_ceilings as materialized (
  select * from ceilings c
  where (select exists (select from ceilings)) and c.owner_id = any(array(
    select unnest(array[account_id, channel_id]) from free))
  order by c.owner_id, c.unit, c.period
  for no key update),
-- Their use when the locks were free.
own_ceilings as materialized (
  select c.owner_id, c.unit, c.period, c.amount, now.*
  from locked_ceilings c cross join lateral (
      select at, starts, ceiling_end(c.period, starts) as ends,
             case when c.starts_at >= starts then c.used else 0 end as used
      from (select at, ceiling_start(c.period, c.starts_at, at) as starts
            from clock_timestamp() at) of_clock) now),
-- The part that each send takes, and whether all up to it are more than is left.
taken as materialized (
  select s.request_id, c.owner_id, c.unit, c.period, t.amount,
         c.used + sum(t.amount) over (partition by c.owner_id, c.unit, c.period
                                      order by s.priority, s.next_attempt_at, s.seq) > c.amount as is_beyond
  from own_ceilings c cross join lateral (select c.starts) now
    join candidates s on
      (c.owner_id in (s.channel_id, s.account_id) and s.attempt = s.attempts_before_replay
       and coalesce(case c.owner_id when s.channel_id then s.channel_counted_at
                                    else s.account_counted_at end < now.starts, true))
    cross join lateral (
      select ceiling_size(c.unit, s.contact_type, s.segments) as amount) t
  where s.status = 'queued' and s.request_id in (select request_id from free)),
-- The sends that have to wait for the next period.
beyond as (
  select request_id from taken where is_beyond),
-- The others are counted.
counted as (
  update ceilings c
  set starts_at = own.starts, used = own.used + sums.amount,
      reported = case when c.starts_at < own.starts then 0 else c.reported end
  from own_ceilings own join (
    select owner_id, unit, period, sum(amount) as amount from taken
    where request_id not in (select request_id from beyond)
    group by owner_id, unit, period) sums using (owner_id, unit, period)
  where (c.owner_id, c.unit, c.period) = (own.owner_id, own.unit, own.period)),
-- The sends that are claimed.
claimable as materialized (
  select * from free where request_id not in (select request_id from beyond)),
-- In the order of contacts, so that two statements can't deadlock. If another transaction opens a conversation at this
-- moment, the send stays without one.
opened as (
  insert into conversations (id, account_id, contact_type, contact_value, opened_at)
  select distinct new_id, account_id, contact_type, contact_value, now()
  from claimable where opens
  order by account_id, contact_type, contact_value
  on conflict (account_id, contact_type, contact_value) where closed_at is null do nothing
  returning id)
update sends s
set status = 'sending', worker = $2, claim_id = $3,
    attempt = s.attempt + case when s.status = 'queued' then 1 else 0 end,
    claimed_at = case when s.status = 'queued' then clock_timestamp() else s.claimed_at end,
    conversation_id = coalesce(s.conversation_id, claimable.open_id, opened.id),
    channel_counted_at = case when (select exists (select from ceilings)) and s.status = 'queued' then
        greatest(s.channel_counted_at, (select min(at) from own_ceilings where owner_id = s.channel_id))
      else s.channel_counted_at end,
    account_counted_at = case when (select exists (select from ceilings)) and s.status = 'queued' then
        greatest(s.account_counted_at, (select min(at) from own_ceilings where owner_id = s.account_id))
      else s.account_counted_at end
from claimable left join opened on opens and opened.id = new_id, channels
where s.request_id = claimable.request_id and channels.id = s.channel_id
returning s.request_id as "requestId", s.account_id as "accountId", s.channel_id as "channelId",
  jsonb_strip_nulls(jsonb_build_object('type', s.contact_type, 'value', s.contact_value,
                                       'name', s.contact_name)) as contact,
  s.message, s.flow_id as "flowId", s.priority, s.reference, s.close_conversation as "closeConversation",
  s.conversation_id as "conversationId", s.attempt, s.traceparent,
  s.attempts_before_replay as "attemptsBeforeReplay", s.worker, s.claim_id as "claimId",
  channels.provider, channels.sealed_config as "sealedConfig", channels.on_uncertain as "onUncertain",
  extract(epoch from s.expires_at - clock_timestamp())::float8 * 1000 as "expiresInMs",
  (channels.breaker_open_until is not null
   or num_nonnulls(channels.rate_calls, channels.max_in_flight) > 0
   or s.overflow and coalesce(channels.answered_at < clock_timestamp() - interval '10 s', true)) as "isLimited",
  s.overflow as "isOverflow", channels.breaker_open_until is not null as "isProbe",
  s.former_channels is not null as "fellBack", channels.fallback_channel_id is not null as "hasFallback",
  channels.one_click as "oneClick",
  case when channels.rate_calls is not null then
    (select extract(epoch from p.call_at - clock_timestamp())::float8 * 1000
     from permits p where p.request_id = s.request_id) end as "callInMs",
  case when channels.rate_calls is not null then
    (select extract(epoch from p.valid_until - clock_timestamp())::float8 * 1000
     from permits p where p.request_id = s.request_id) end as "tooLateInMs";

-- record_audit: Adds a row to the audit.
-- $1: its id; $2: who; $3: by what; $4: from where; $5: what was done; $6: to what; $7: details.
insert into audit (id, by, via, address, action, target, details)
values ($1, $2, $3, $4, $5, $6, $7);

-- record_key_uses: Records that keys were used, unless that was recorded in the last hour.
with
-- Without those that another process writes at the moment: it has the same to write.
due as materialized (
  select k.id from api_keys k
  where k.id = any($1::uuid[]) and (k.last_used_at > clock_timestamp() - interval '1 hour') is not true
  order by k.id for no key update skip locked)
update api_keys k set last_used_at = clock_timestamp() from due where k.id = due.id;

-- record_late_outcome: Records the outcome of an attempt whose claim was given up.
-- $1: the send
-- $2: the channel of the attempt
-- $3: the claim of the attempt
-- $4: the outcome
-- $5: the provider's id of the message
-- $6: the send's new state; null if the late outcome is uncertain too
-- $7: why it failed
-- $8: whether receipts find it by the provider's id of its message
with
-- The send, locked, with the outcome as it may be recorded, and what becomes of it.
found as (
  select *, clock_timestamp() as ended_at,
         case when s.contact_value = 'erased' then
           (select json_object_agg(key, case when key in (
              'conversationId', 'attempt', 'worker', 'outcome', 'fault', 'durationMs',
              'providerStatus', 'providerCode', 'providerAt', 'nextAttemptAt', 'sendAt',
              'late', 'fromChannelId', 'toChannelId', 'as', 'cost') then value else 'null' end)
            from json_each($4::json))
         else $4::json end as record,
         case when not s.contact_value = 'erased' then $5 end as message_id,
         -- A canceled send stays canceled, so that no replay sends it.
         case when (s.failure = 'canceled after an attempt that may have got through') and $6 = 'failed' then failure
              when not s.contact_value = 'erased' then $7 end as reason,
         case when status <> 'queued' then
           case when not ((s.claimed_at is not null and s.attempt_record is null) and coalesce((
               select true from send_events e
               where e.request_id = s.request_id and e.at = s.claimed_at and e.event = 'attempt_started'
               limit 1), false))
                then s.claimed_at end end as started_at,
         case when $4::json->'cost'->>'amount' is not null then
           jsonb_build_object(
             left(md5(coalesce(
               $5,
               attempts_before_replay::text)), 12),
             jsonb_build_object(
               'amount', $4::json->'cost'->>'amount',
               'currency', $4::json->'cost'->>'currency')) end as new_costs,
         ($4::json->'cost'->>'parts')::smallint as new_parts,
         claim_id = $3 and attempt_record is not null as is_recorded,
         $6::text is not null and claim_id = $3 and (s.claimed_at is not null and s.attempt_record is null) and
           (status = 'uncertain' or $6 = 'sent') as is_settled
  from sends s where request_id = $1 for no key update),
-- An event of this outcome that was recorded before.
same_event as (
  select from send_events e join found s using (request_id)
  where e.event = 'attempt_finished' and e.fields::jsonb - 'late' = s.record::jsonb - 'late'),
-- The message, by whose id receipts find the send.
late_message as (
  select request_id, $2::uuid as channel_id, $5::text as message_id
  from found where $8::boolean),
-- Messages that the sandbox stored for an erased send meanwhile.
erased_messages as (
  delete from sandbox_messages m using found s where m.request_id = s.request_id and s.contact_value = 'erased'),
-- Its next state, numbered.
written as (
  update sends s set
    status = $6,
    attempt_record = found.record,
    finished_at = found.ended_at,
    provider_message_id = found.message_id,
    failure = found.reason,
    claimed_at = found.started_at,
    change_number = s.change_number + 1,
    costs = nullif(coalesce(found.costs, '{}')
      || coalesce(found.new_costs, '{}'), '{}'),
    segments = coalesce(
      case when found.message_type <> 'media' then
        coalesce(found.new_parts) end,
      found.segments),
    counted_as = case when s.counted_as is not null then
        counted_as($6, s.delivery, found.reason, found.record, null)
      else s.counted_as end
  from found
  where s.request_id = found.request_id and found.is_settled
  returning
    s.request_id, s.status,
    s.account_id, coalesce(s.former_channels[1], s.channel_id) as counted_channel,
    s.accepted_at, s.priority as counted_priority, s.counted_as, found.counted_as as counted_before,
    s.costs, s.segments, found.costs as costs_before, found.segments as segments_before,
    s.change_number, s.attempt as attempts, s.conversation_id,
    'message.' || s.status as type,
    case when (select exists (select from endpoints)) then found.record->>'providerCode' end as provider_code,
    case when (select exists (select from endpoints)) then
      (select array_agg(e.id) from endpoints e
       where e.account_id = s.account_id
         and (e.events is null or 'message.' || s.status = any(e.events))) end as endpoint_ids),
-- The callbacks.
announced as (
  insert into callbacks (
      endpoint_id, request_id, sequence, type, attempts, conversation_id, provider_at, provider_code, status, delivery,
    next_try_at)
  select e.endpoint_id, w.request_id, w.change_number, w.type, w.attempts, w.conversation_id, null, w.provider_code,
         null, null,
         greatest(clock_timestamp(), case when w.change_number > 1 then
           (select max(earlier.next_try_at) from callbacks earlier
            where earlier.endpoint_id = e.endpoint_id and earlier.request_id = w.request_id
              and coalesce(earlier.finished_at, 'infinity') = 'infinity') end)
  from written w cross join lateral unnest(w.endpoint_ids) e (endpoint_id)
  where (select exists (select from endpoints))),
-- The counters.
counted_changes as (
  insert into send_count_changes (account_id, channel_id, hour, priority, counted_as, change)
  select w.account_id, w.counted_channel, date_trunc('hour', w.accepted_at, 'UTC'),
         w.counted_priority, e.counted_as, sum(e.change)
  from written w cross join lateral (values (w.counted_as, 1), (w.counted_before, -1)) e (counted_as, change)
  where w.counted_as <> w.counted_before and e.counted_as <> 'waiting'
  group by 1, 2, 3, 4, 5),
-- The counters of their costs.
counted_costs as (
  insert into send_count_changes (
    account_id, channel_id, hour, priority, counted_as, change, segments, currency, amount)
  select w.account_id, w.counted_channel, date_trunc('hour', w.accepted_at, 'UTC'),
         w.counted_priority, 'accepted', 0, d.segments, d.currency, d.amount
  from written w cross join lateral (
    select coalesce(w.segments, 0) - coalesce(w.segments_before, 0) as segments, null as currency, null as amount
    where w.segments is distinct from w.segments_before
    union all
    select 0, currency, sum(amount)
    from (
      select p.value->>'currency' as currency, (p.value->>'amount')::numeric as amount
      from jsonb_each(w.costs) p
      union all
      select p.value->>'currency' as currency, -(p.value->>'amount')::numeric as amount
      from jsonb_each(w.costs_before) p) p
    where w.costs is distinct from w.costs_before
    group by currency having sum(amount) <> 0) d),
-- The ids by which receipts find them.
kept_ids as (
  insert into message_ids (channel_id, message_key, request_id)
  select channel_id, md5(message_id)::uuid, request_id
  from late_message where message_id is not null
  on conflict do nothing),
-- The attempt that was in the row until now, if the outcome replaces it; otherwise the outcome, which isn't in the row.
moved as (
  select request_id, attempt, worker, null::timestamptz as claimed_at, finished_at as ended_at, null::json as record,
         case when (s.claimed_at is not null and s.attempt_record is null)
                   and not ((s.claimed_at is not null and s.attempt_record is null) and coalesce((
                       select true from send_events e
                       where e.request_id = s.request_id and e.at = s.claimed_at and e.event = 'attempt_started'
                       limit 1), false))
              then json_build_object('attempt', s.attempt, 'reason', s.failure) end as loss,
         status, failure, finished_at as over_at
  from found s where is_settled and status <> 'queued'
  union all
  select request_id, attempt, worker, null, ended_at, record, null, null, null, null
  from found s where not is_settled and not is_recorded and not exists (select from same_event)),
-- Its event.
events as (
  insert into send_events (request_id, at, event, fields)
  select a.request_id, e.at, e.event, e.fields
  from moved a cross join lateral (values
    (1, a.claimed_at, 'attempt_started', json_build_object('attempt', a.attempt, 'worker', a.worker)),
    (2, a.ended_at, 'attempt_lost', a.loss),
    (3, a.ended_at, 'attempt_finished', a.record),
    (4, a.over_at, a.status, json_build_object('reason', a.failure))
  ) as e (position, at, event, fields)
  where e.at is not null and e.fields is not null
  order by a.request_id, e.position)
select status, true as "isEnded", case when written.endpoint_ids is not null then
    (select array_agg(e.id) from endpoints e
     where e.id = any(written.endpoint_ids) and e.disabled_at is null
       and coalesce(e.breaker_open_until <= clock_timestamp(), true)) end as "endpointsToWake" from written
union all
-- An outcome that was recorded before, or the refusal of an attempt that another one has followed.
select status, is_recorded, null from found
where is_recorded
   or not is_settled and (status = 'failed' or status = 'sent' and delivery = 'undelivered')
      and channel_id = $2 and $6 = 'failed' and not exists (select from same_event);

-- record_outcomes: Records the outcomes of attempts, and finds the next send of each lane.
with
-- The given outcomes and verdicts.
outcomes as materialized (
  select * from json_to_recordset($1) as
    ("requestId" uuid, "claimId" uuid, status text, record json, reason text, "delayMs" float8,
     "holdsChannel" boolean, "isUncounted" boolean, "keepsDueTime" boolean, "sealedConfig" text,
     "isFoundById" boolean)),
-- The outcomes whose claim holds, with the attempt from the send's row. Locked in the order of ids.
ended as materialized (
  select s.request_id, s.channel_id, s.attempt, s.worker, s.claimed_at, s.counted_as,
         clock_timestamp() as ended_at,
         outcomes.*
  from sends s join outcomes on outcomes."requestId" = s.request_id
  where s.request_id = any(array(select "requestId" from outcomes))
    and s.status = 'sending' and s.claim_id = outcomes."claimId" and s.pending_receipts is null
  order by s.request_id
  for no key update of s),
-- The sends' next states, numbered.
written as (
  update sends s set
    status = ended.status,
    finished_at = case when ended.status <> 'queued' then ended.ended_at end,
    attempt = s.attempt - case when ended."isUncounted" and ended.status = 'queued' then 1 else 0 end,
    next_attempt_at = case when ended.status = 'queued' and ended."keepsDueTime" is not true
                           then ended.ended_at + coalesce(ended."delayMs", 0) * interval '1 ms'
                           else s.next_attempt_at end,
    claimed_at = case when ended.status <> 'queued' then s.claimed_at end,
    attempt_record = case when ended.status <> 'queued' then ended.record end,
    failure = case when ended.status in ('failed', 'uncertain') then ended.reason end,
    provider_message_id = ended.record->>'providerMessageId',
    change_number = s.change_number + case when ended.status <> 'queued' then 1 else 0 end,
    counted_as = case when s.counted_as is not null then
        counted_as(
          ended.status, s.delivery,
          case when ended.status in ('failed', 'uncertain') then ended.reason end,
          case when ended.status <> 'queued' then ended.record end, null)
      else s.counted_as end
  from ended
  where s.request_id = ended.request_id
  returning
    s.request_id, s.status, s.lane, s.seq, s.next_attempt_at, s.send_at, s.finished_at,
    greatest(s.next_attempt_at, ended.ended_at) as retried_at,
    s.account_id, coalesce(s.former_channels[1], s.channel_id) as counted_channel,
    s.accepted_at, s.priority as counted_priority, s.counted_as, ended.counted_as as counted_before,
    s.change_number, s.attempt as attempts, s.conversation_id,
    'message.' || s.status as type,
    case when (select exists (select from endpoints)) then ended.record->>'providerCode' end as provider_code,
    case when s.status <> 'queued' and (select exists (select from endpoints)) then
      (select array_agg(e.id) from endpoints e
       where e.account_id = s.account_id
         and (e.events is null or 'message.' || s.status = any(e.events))) end as endpoint_ids),
-- The callbacks.
announced as (
  insert into callbacks (
      endpoint_id, request_id, sequence, type, attempts, conversation_id, provider_at, provider_code, status, delivery,
    next_try_at)
  select e.endpoint_id, w.request_id, w.change_number, w.type, w.attempts, w.conversation_id, null, w.provider_code,
         null, null,
         greatest(clock_timestamp(), case when w.change_number > 1 then
           (select max(earlier.next_try_at) from callbacks earlier
            where earlier.endpoint_id = e.endpoint_id and earlier.request_id = w.request_id
              and coalesce(earlier.finished_at, 'infinity') = 'infinity') end)
  from written w cross join lateral unnest(w.endpoint_ids) e (endpoint_id)
  where (select exists (select from endpoints))),
-- The counters.
counted_changes as (
  insert into send_count_changes (account_id, channel_id, hour, priority, counted_as, change)
  select w.account_id, w.counted_channel, date_trunc('hour', w.accepted_at, 'UTC'),
         w.counted_priority, e.counted_as, sum(e.change)
  from written w cross join lateral (values (w.counted_as, 1), (w.counted_before, -1)) e (counted_as, change)
  where w.counted_as <> w.counted_before and e.counted_as <> 'waiting'
  group by 1, 2, 3, 4, 5),
-- The attempts that are no longer in their rows.
retried as (
  select ended.*, null::json as loss, written.retried_at,
         case when "holdsChannel" then ended_at end as held_at,
         case when "holdsChannel" is not true then ended_at end as scheduled_at
  from ended join written using (request_id)
  where ended.status = 'queued'),
-- Their events.
events as (
  insert into send_events (request_id, at, event, fields)
  select a.request_id, e.at, e.event, e.fields
  from retried a cross join lateral (values
    (1, a.claimed_at, 'attempt_started', json_build_object('attempt', a.attempt, 'worker', a.worker)),
    (2, a.ended_at, 'attempt_lost', a.loss),
    (3, a.ended_at, 'attempt_finished', a.record),
    (4, a.held_at, 'channel_held', json_build_object('reason', a.reason)),
    (5, a.scheduled_at, 'retry_scheduled', json_build_object(
      'reason', a.reason,
      'nextAttemptAt', to_char(a.retried_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')))
  ) as e (position, at, event, fields)
  where e.at is not null and e.fields is not null
  order by a.request_id, e.position),
-- Holds the channels that their provider refused; not if the config was replaced meanwhile.
held as (
  update channels set held_at = now(), held_reason = refusal.reason
  from (select distinct on (channel_id) channel_id, reason, "sealedConfig" from ended where "holdsChannel") refusal
  where channels.id = refusal.channel_id and held_at is null and channels.sealed_config = refusal."sealedConfig"),
-- An uncounted attempt's number is used again, but its permit isn't, because the call may have been made.
used_up as (
  delete from permits using ended
  where ended."isUncounted" and permits.request_id = ended.request_id)
select request_id as "requestId", case when status = 'queued' then retried_at end as "nextAttemptAt",
       extract(epoch from written.finished_at
                          - greatest(written.accepted_at, written.send_at))::float8 as "tookSeconds",
       case when written.status <> 'queued' then
         (select json_build_object('requestId', next.request_id,
                                   'overflowOf', case when next.overflow then next.channel_id end)
          from (
            select * from sends l
            where l.lane = written.lane and coalesce(l.finished_at, 'infinity') = 'infinity'
            order by l.seq) next
          where next.seq > written.seq limit 1) end as "nextInLane",
       case when written.endpoint_ids is not null then
         (select array_agg(e.id) from endpoints e
          where e.id = any(written.endpoint_ids) and e.disabled_at is null
            and coalesce(e.breaker_open_until <= clock_timestamp(), true)) end as "endpointsToWake"
from written
union all
-- The outcomes that were recorded before, but whose answer was lost.
select s.request_id, case when s.status = 'queued' then s.next_attempt_at end,
       extract(epoch from s.finished_at
                          - greatest(s.accepted_at, s.send_at))::float8 as "tookSeconds",
       case when s.status <> 'queued' then
         (select json_build_object('requestId', next.request_id,
                                   'overflowOf', case when next.overflow then next.channel_id end)
          from (
            select * from sends l
            where l.lane = s.lane and coalesce(l.finished_at, 'infinity') = 'infinity'
            order by l.seq) next
          where next.seq > s.seq limit 1) end as "nextInLane", null
from sends s join outcomes on outcomes."requestId" = s.request_id
where s.request_id = any(array(select "requestId" from outcomes))
  and s.status <> 'sending' and s.claim_id = outcomes."claimId"
  and not (s.claimed_at is not null and s.attempt_record is null);

-- record_outcomes_with_receipts: Like record_outcomes, for sends of which receipts came during the call, and for answers with a cost.
with
-- The given outcomes and verdicts.
outcomes as materialized (
  select * from json_to_recordset($1) as
    ("requestId" uuid, "claimId" uuid, status text, record json, reason text, "delayMs" float8,
     "holdsChannel" boolean, "isUncounted" boolean, "keepsDueTime" boolean, "sealedConfig" text,
     "isFoundById" boolean)),
-- The outcomes whose claim holds, with the attempt from the send's row. Locked in the order of ids.
attempted as materialized (
  select s.request_id, s.channel_id, s.attempt, s.worker, s.claimed_at, s.counted_as,
         clock_timestamp() as ended_at,
         s.contact_type, s.attempts_before_replay, s.receipt_keys, s.pending_receipts,
         s.costs, s.segments, s.message_type,
         case when outcomes.record->'cost'->>'amount' is not null then
           jsonb_build_object(
             left(md5(coalesce(
               outcomes.record->>'providerMessageId',
               s.attempts_before_replay::text)), 12),
             jsonb_build_object(
               'amount', outcomes.record->'cost'->>'amount',
               'currency', outcomes.record->'cost'->>'currency')) end as new_costs,
         (outcomes.record->'cost'->>'parts')::smallint as new_parts,
         outcomes.*
  from sends s join outcomes on outcomes."requestId" = s.request_id
  where s.request_id = any(array(select "requestId" from outcomes))
    and s.status = 'sending' and s.claim_id = outcomes."claimId"
  order by s.request_id
  for no key update of s),
-- Each receipt that came during the call, with its send.
received as materialized (
  select p.ord, p.receipt->>'kind' as kind, (p.receipt->'fields')::json as fields, p.receipt->>'key' as key,
         left(md5(coalesce(
           p.receipt->'fields'->>'providerMessageId',
           s.record->>'providerMessageId',
           s.attempts_before_replay::text)), 12) as cost_message,
         s.request_id, s.ended_at as at, coalesce(s.receipt_keys, '{}') as known_keys,
         false as is_pending,
         s.status = 'sent' as was_sent, s.sent_by,
         coalesce(case s.contact_type
           when 'phone' then array_position('{undelivered,delivered,read}'::text[], p.receipt->>'kind')
           when 'email' then array_position('{delivered,read,undelivered}'::text[], p.receipt->>'kind') end, 0) as rank,
         0 as known_rank, s.record->>'providerMessageId' as known_id
  from (
    select a.*,
           case when a.record->>'outcome' in ('sent', 'uncertain', 'retry_later')
                     or a.record->>'outcome' = 'not_called' and a.attempt - 1 > a.attempts_before_replay
                then '{accepted,delivered,read,undelivered}'::text[]
                when a.record->>'outcome' <> 'not_called' or a.attempt > 1
                then '{delivered,read}'::text[] end as sent_by
    from attempted a) s
    cross join lateral jsonb_array_elements(s.pending_receipts) with ordinality p (receipt, ord)),
-- Whether each is new: no repeat of one that is recorded, nor of one before it.
compared as (
  select *, sent_by is not null and key <> all(known_keys)
              and row_number() over (partition by request_id, key order by ord) = 1 as is_new
  from received),
-- Its number among the send's receipts.
counted as (
  select *, cardinality(known_keys)
              + count(*) filter (where is_new) over (partition by request_id order by ord) as number
  from compared),
-- Whether it is recorded now.
chosen as (
  select *, is_new and not is_pending and number <= 50 as is_recorded
  from counted),
-- Whether the send is sent by then.
followed as (
  select *, is_recorded
              and bool_or(is_recorded and (was_sent or kind = any(sent_by)))
                    over (partition by request_id order by ord) as is_sent
  from chosen),
-- Adds the rank that counts for the delivery state. A failure of another message than the recorded one doesn't count.
ranked as (
  select *, case when is_sent and not coalesce(kind = 'undelivered' and fields->>'providerMessageId' <> known_id, false)
                 then rank end as counted_rank
  from followed),
-- The change by each one: it makes the send sent, or raises its delivery state.
judged as (
  select *, is_sent and not was_sent and not coalesce(bool_or(is_sent) over before, false) as confirms,
         coalesce(counted_rank > greatest(known_rank, max(counted_rank) over before), false) as raises
  from ranked
  window before as (partition by request_id order by ord rows between unbounded preceding and 1 preceding)),
-- Adds what all of a send's receipts change together.
effects as materialized (
  select *, bool_or(confirms) over every as confirmed,
         array_agg(key) filter (where is_recorded) over every as new_keys,
         array_agg(kind) filter (where raises) over every as new_states,
         array_agg(fields->>'providerCode') filter (where raises) over every as new_codes,
         array_agg(fields->>'providerMessageId') filter (where is_sent) over every as new_ids,
         count(*) filter (where is_recorded and kind = 'complained') over every as complaints,
         jsonb_object_agg(
           cost_message,
           jsonb_build_object(
             'amount', fields->'cost'->>'amount',
             'currency', fields->'cost'->>'currency'))
           filter (where is_recorded and fields->'cost'->>'amount' is not null) over every as new_costs,
         array_agg((fields->'cost'->>'parts')::smallint)
           filter (where is_recorded and (fields->'cost'->>'parts')::smallint is not null) over every as all_parts,
         lead(ord) over (partition by request_id order by ord) is null as is_last
  from judged
  window every as (partition by request_id order by ord rows between unbounded preceding and unbounded following)),
-- Changes, once for each send.
changes as materialized (
  select *, new_states[cardinality(new_states)] as new_state, new_codes[cardinality(new_codes)] as new_code,
         new_ids[1] as new_id, all_parts[cardinality(all_parts)] as new_parts
  from effects where is_last and new_keys is not null),
-- Their events. One that doesn't raise the delivery state is recorded as another receipt.
receipt_events as (
  insert into send_events (request_id, at, event, fields)
  select r.request_id, e.at, e.event, r.fields
  from effects r cross join lateral (values
    (case when r.raises and r.kind = 'delivered' then r.at end, 'delivered', r.fields),
    (case when r.raises and r.kind = 'read' then r.at end, 'read', r.fields),
    (case when r.raises and r.kind = 'undelivered' then r.at end, 'undelivered', r.fields),
    (case when (r.kind = 'complained') then r.at end, 'complained', r.fields),
    (case when not r.raises and not (r.kind = 'complained') then r.at end, 'receipt', r.fields)
  ) as e (at, event, fields)
  where r.is_recorded and e.at is not null
  order by r.request_id, r.ord),
-- As decided, unless a receipt says that the provider has it.
ended as materialized (
  select a.request_id, a.channel_id, a.attempt, a.worker, a.claimed_at, a.counted_as, a.ended_at, a.record, a.reason,
         a."delayMs", a."holdsChannel", a."isUncounted", a."keepsDueTime", a."sealedConfig",
         case when a."isFoundById" then a.record->>'providerMessageId' end as message_id,
         a.costs, a.segments, a.message_type, a.new_costs, a.new_parts,
         case when changes.confirmed then 'sent' else a.status end as status,
         coalesce(changes.confirmed, false) as confirms
  from attempted a left join changes using (request_id)),
-- The sends' next states, numbered.
written as (
  update sends s set
    status = ended.status,
    finished_at = case when ended.status <> 'queued' then ended.ended_at end,
    attempt = s.attempt - case when ended."isUncounted" and ended.status = 'queued' then 1 else 0 end,
    next_attempt_at = case when ended.status = 'queued' and ended."keepsDueTime" is not true
                           then ended.ended_at + coalesce(ended."delayMs", 0) * interval '1 ms'
                           else s.next_attempt_at end,
    claimed_at = case when ended.status <> 'queued' then s.claimed_at end,
    attempt_record = case when ended.status <> 'queued' then ended.record end,
    failure = case when ended.status in ('failed', 'uncertain') then ended.reason end,
    provider_message_id = coalesce(
      ended.record->>'providerMessageId', case when ended.confirms then changes.new_id end),
    pending_receipts = null,
    delivery = changes.new_state,
    delivery_at = case when changes.new_state is not null then changes.at end,
    receipt_keys = nullif(coalesce(s.receipt_keys, '{}') || coalesce(changes.new_keys, '{}'), '{}'),
    costs = nullif(coalesce(ended.costs, '{}')
      || coalesce(ended.new_costs, '{}') || coalesce(changes.new_costs, '{}'), '{}'),
    segments = coalesce(
      case when ended.message_type <> 'media' then
        coalesce(changes.new_parts, ended.new_parts) end,
      ended.segments),
    change_number = s.change_number + case when ended.status <> 'queued' then 1 else 0 end
      + coalesce(cardinality(changes.new_states), 0) + coalesce(changes.complaints, 0)::int,
    counted_as = case when s.counted_as is not null then
        counted_as(
          ended.status, changes.new_state,
          case when ended.status in ('failed', 'uncertain') then ended.reason end,
          case when ended.status <> 'queued' then ended.record end, changes.new_code)
      else s.counted_as end
  from ended left join changes using (request_id)
  where s.request_id = ended.request_id
  returning
    s.request_id, s.status, s.lane, s.seq, s.next_attempt_at, s.send_at, s.finished_at, ended.confirms,
    greatest(s.next_attempt_at, ended.ended_at) as retried_at,
    s.account_id, coalesce(s.former_channels[1], s.channel_id) as counted_channel,
    s.accepted_at, s.priority as counted_priority, s.counted_as, ended.counted_as as counted_before,
    s.costs, s.segments, ended.costs as costs_before, ended.segments as segments_before,
    s.delivery, s.change_number, s.attempt as attempts, s.conversation_id,
    case when (select exists (select from endpoints)) then
      (select array_agg(e.id) from endpoints e where e.account_id = s.account_id) end as endpoint_ids),
-- The callbacks.
announced as (
  insert into callbacks (
      endpoint_id, request_id, sequence, type, attempts, conversation_id, provider_at, provider_code, status, delivery,
    next_try_at)
  select e.id, m.request_id, m.sequence, m.type, m.attempts, m.conversation_id, m.provider_at, m.provider_code,
         case when m.type = 'message.complained' then m.status end,
         case when m.type = 'message.complained' then m.delivery end,
         greatest(clock_timestamp(), case when m.sequence > 1 then
           (select max(earlier.next_try_at) from callbacks earlier
            where earlier.endpoint_id = e.id and earlier.request_id = m.request_id
              and coalesce(earlier.finished_at, 'infinity') = 'infinity') end)
  from (
    select w.*, made.type, made.provider_at, made.provider_code,
           w.change_number - count(*) over (partition by w.request_id)
             + row_number() over (partition by w.request_id order by made.ord, made.part) as sequence
    from written w join (
      select r.request_id, r.ord, made.part, made.type, r.fields->>'providerAt' as provider_at,
             r.fields->>'providerCode' as provider_code
      from effects r cross join lateral (values
        (1, case when r.confirms then 'message.sent' end),
        (2, case when r.raises or r.is_recorded and (r.kind = 'complained')
                 then 'message.' || r.kind end)) made (part, type)
      where made.type is not null
      union all
      select ended.request_id, 0, 0, 'message.' || ended.status, null, ended.record->>'providerCode'
      from ended where ended.status <> 'queued' and not ended.confirms) made using (request_id)
    where w.endpoint_ids is not null and (select exists (select from endpoints))) m
  join endpoints e on e.id = any(m.endpoint_ids) and (e.events is null or m.type = any(e.events))),
-- The counters.
counted_changes as (
  insert into send_count_changes (account_id, channel_id, hour, priority, counted_as, change)
  select w.account_id, w.counted_channel, date_trunc('hour', w.accepted_at, 'UTC'),
         w.counted_priority, e.counted_as, sum(e.change)
  from written w cross join lateral (values (w.counted_as, 1), (w.counted_before, -1)) e (counted_as, change)
  where w.counted_as <> w.counted_before and e.counted_as <> 'waiting'
  group by 1, 2, 3, 4, 5),
-- The counters of their costs.
counted_costs as (
  insert into send_count_changes (
    account_id, channel_id, hour, priority, counted_as, change, segments, currency, amount)
  select w.account_id, w.counted_channel, date_trunc('hour', w.accepted_at, 'UTC'),
         w.counted_priority, 'accepted', 0, d.segments, d.currency, d.amount
  from written w cross join lateral (
    select coalesce(w.segments, 0) - coalesce(w.segments_before, 0) as segments, null as currency, null as amount
    where w.segments is distinct from w.segments_before
    union all
    select 0, currency, sum(amount)
    from (
      select p.value->>'currency' as currency, (p.value->>'amount')::numeric as amount
      from jsonb_each(w.costs) p
      union all
      select p.value->>'currency' as currency, -(p.value->>'amount')::numeric as amount
      from jsonb_each(w.costs_before) p) p
    where w.costs is distinct from w.costs_before
    group by currency having sum(amount) <> 0) d),
-- The ids by which receipts find them.
kept_ids as (
  insert into message_ids (channel_id, message_key, request_id)
  select channel_id, md5(message_id)::uuid, request_id
  from ended where message_id is not null
  on conflict do nothing),
-- The attempts that are no longer in their rows.
retried as (
  select ended.*, null::json as loss, written.retried_at,
         case when "holdsChannel" then ended_at end as held_at,
         case when "holdsChannel" is not true then ended_at end as scheduled_at
  from ended join written using (request_id)
  where ended.status = 'queued'),
-- Their events.
events as (
  insert into send_events (request_id, at, event, fields)
  select a.request_id, e.at, e.event, e.fields
  from retried a cross join lateral (values
    (1, a.claimed_at, 'attempt_started', json_build_object('attempt', a.attempt, 'worker', a.worker)),
    (2, a.ended_at, 'attempt_lost', a.loss),
    (3, a.ended_at, 'attempt_finished', a.record),
    (4, a.held_at, 'channel_held', json_build_object('reason', a.reason)),
    (5, a.scheduled_at, 'retry_scheduled', json_build_object(
      'reason', a.reason,
      'nextAttemptAt', to_char(a.retried_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')))
  ) as e (position, at, event, fields)
  where e.at is not null and e.fields is not null
  order by a.request_id, e.position),
-- Holds the channels that their provider refused; not if the config was replaced meanwhile.
held as (
  update channels set held_at = now(), held_reason = refusal.reason
  from (select distinct on (channel_id) channel_id, reason, "sealedConfig" from ended where "holdsChannel") refusal
  where channels.id = refusal.channel_id and held_at is null and channels.sealed_config = refusal."sealedConfig"),
-- An uncounted attempt's number is used again, but its permit isn't, because the call may have been made.
used_up as (
  delete from permits using ended
  where ended."isUncounted" and permits.request_id = ended.request_id)
select request_id as "requestId", case when status = 'queued' then retried_at end as "nextAttemptAt",
       extract(epoch from written.finished_at
                          - greatest(written.accepted_at, written.send_at))::float8 as "tookSeconds",
       case when written.status <> 'queued' then
         (select json_build_object('requestId', next.request_id,
                                   'overflowOf', case when next.overflow then next.channel_id end)
          from (
            select * from sends l
            where l.lane = written.lane and coalesce(l.finished_at, 'infinity') = 'infinity'
            order by l.seq) next
          where next.seq > written.seq limit 1) end as "nextInLane",
       case when written.endpoint_ids is not null then
         (select array_agg(e.id) from endpoints e
          where e.id = any(written.endpoint_ids) and e.disabled_at is null
            and coalesce(e.breaker_open_until <= clock_timestamp(), true)) end as "endpointsToWake",
       json_build_object(
         'confirm', confirms,
         'effects',
         coalesce((
           select json_agg(json_build_object('event', case when r.raises or (r.kind = 'complained')
                                             then r.kind else 'receipt' end,
                               'isRaised', r.raises, 'fields', r.fields) order by r.ord)
           from effects r where r.is_recorded and r.request_id = written.request_id), '[]')) as receipts
from written
union all
-- The outcomes that were recorded before, but whose answer was lost.
select s.request_id, case when s.status = 'queued' then s.next_attempt_at end,
       extract(epoch from s.finished_at
                          - greatest(s.accepted_at, s.send_at))::float8 as "tookSeconds",
       case when s.status <> 'queued' then
         (select json_build_object('requestId', next.request_id,
                                   'overflowOf', case when next.overflow then next.channel_id end)
          from (
            select * from sends l
            where l.lane = s.lane and coalesce(l.finished_at, 'infinity') = 'infinity'
            order by l.seq) next
          where next.seq > s.seq limit 1) end as "nextInLane", null, null
from sends s join outcomes on outcomes."requestId" = s.request_id
where s.request_id = any(array(select "requestId" from outcomes))
  and s.status <> 'sending' and s.claim_id = outcomes."claimId"
  and not (s.claimed_at is not null and s.attempt_record is null);

-- record_receipts: Records what providers report about sends, once, and changes the sends accordingly.
with
-- The given receipts.
given as materialized (
  select * from json_to_recordset($1) as
    (ord int, "requestId" uuid, "channelIds" uuid[], kind text, fields json)),
-- Each with its send, locked in the order of ids. One look-up for each: the planner doesn't know how many there are.
locked as materialized (
  select g.ord, g.kind, g.fields, s.*,
         case when s.channel_id = any(g."channelIds") then s.channel_id
              else (select f from unnest(s.former_channels) f
                    where f = any(g."channelIds") limit 1) end as its_channel_id,
         not (s.channel_id = any(g."channelIds")) as is_former
  from (select * from given order by "requestId") g cross join lateral (
    select * from sends s
    where s.request_id = g."requestId" and (s.channel_id = any(g."channelIds") or s.former_channels && g."channelIds")
    for no key update) s),
-- The time when all of them are locked, so that no event comes before one of the statement that was waited for.
moment as materialized (
  select clock_timestamp() as at from (select count(*) from locked) counted),
-- The columns for the decision. A channel that had the send before can only report that its contact has got it, and
-- that counts only while the send waits for an attempt on another one. Redacted fields of an erased send are recorded;
-- keys are of the given ones, as before.
received as materialized (
  select s.ord, s.kind, known.fields, s.request_id, s.channel_id, s.former_channels,
         s.its_channel_id, s.is_former, moment.at,
         s.status, s.attempt, s.worker, s.claimed_at, s.claim_id, s.finished_at, s.attempt_record, s.failure,
         s.counted_as, s.delivery, s.delivery_at, s.provider_message_id as known_id,
         s.costs, s.segments, s.message_type,
         left(md5(coalesce(
           s.fields->>'providerMessageId',
           case when not s.is_former then s.provider_message_id end,
           case when not s.is_former then s.attempts_before_replay::text
                when s.its_channel_id = s.former_channels[1] then '0'
                else s.its_channel_id::text end)), 12) as cost_message,
         left(md5(json_build_array(
           s.fields->>'providerStatus', s.fields->>'providerCode',
           coalesce(s.fields->>'providerMessageId',
                    case when not s.is_former then s.attempts_before_replay::text
                         when s.its_channel_id = s.former_channels[1] then '0'
                         else s.its_channel_id::text end))::text || coalesce(s.fields->>'cost', '')), 12) as key,
         coalesce(s.receipt_keys, '{}')
           || array(select p->>'key' from jsonb_array_elements(s.pending_receipts) p) as known_keys,
         s.status = 'sending' and not s.is_former as is_pending,
         s.status = 'sent' and not s.is_former as was_sent,
         -- Only an arrival ends the wait of a send for a call after a replay or a fallback.
         case when s.status = 'queued' and s.attempt > 0
                   and (s.is_former or s.attempt <= s.attempts_before_replay) then '{delivered,read}'::text[]
              when s.is_former then '{}'::text[]
              when s.status in ('sending', 'sent', 'uncertain')
                   or s.status = 'queued' and s.attempt > 0 then '{accepted,delivered,read,undelivered}'::text[]
              when s.status = 'failed' then '{delivered,read}'::text[]
              when s.status <> 'queued' then '{}'::text[] end as sent_by,
         coalesce(case s.contact_type
           when 'phone' then array_position('{undelivered,delivered,read}'::text[], s.kind)
           when 'email' then array_position('{delivered,read,undelivered}'::text[], s.kind) end, 0) as rank,
         coalesce(case s.contact_type
           when 'phone' then array_position('{undelivered,delivered,read}'::text[], s.delivery)
           when 'email' then array_position('{delivered,read,undelivered}'::text[], s.delivery) end, 0) as known_rank
  from locked s
    cross join moment
    cross join lateral (
      select case when s.contact_value = 'erased' then
        (select json_object_agg(key, case when key in (
           'conversationId', 'attempt', 'worker', 'outcome', 'fault', 'durationMs',
           'providerStatus', 'providerCode', 'providerAt', 'nextAttemptAt', 'sendAt',
           'late', 'fromChannelId', 'toChannelId', 'as', 'cost') then value else 'null' end)
         from json_each(s.fields))
      else s.fields end as fields) known),
-- Whether each is new: no repeat of one that is recorded, nor of one before it.
compared as (
  select *, sent_by is not null and key <> all(known_keys)
              and row_number() over (partition by request_id, key order by ord) = 1 as is_new
  from received),
-- Its number among the send's receipts.
counted as (
  select *, cardinality(known_keys)
              + count(*) filter (where is_new) over (partition by request_id order by ord) as number
  from compared),
-- Whether it is recorded now.
chosen as (
  select *, is_new and not is_pending and number <= 50 as is_recorded
  from counted),
-- Whether the send is sent by then.
followed as (
  select *, is_recorded
              and bool_or(is_recorded and (was_sent or kind = any(sent_by)))
                    over (partition by request_id order by ord) as is_sent
  from chosen),
-- Adds the rank that counts for the delivery state. A failure of another message than the recorded one doesn't count.
ranked as (
  select *, case when is_sent and not coalesce(kind = 'undelivered' and fields->>'providerMessageId' <> known_id, false)
                 then rank end as counted_rank
  from followed),
-- The change by each one: it makes the send sent, or raises its delivery state.
judged as (
  select *, is_sent and not was_sent and not coalesce(bool_or(is_sent) over before, false) as confirms,
         coalesce(counted_rank > greatest(known_rank, max(counted_rank) over before), false) as raises
  from ranked
  window before as (partition by request_id order by ord rows between unbounded preceding and 1 preceding)),
-- Adds what all of a send's receipts change together.
effects as materialized (
  select *, bool_or(confirms) over every as confirmed,
         array_agg(key) filter (where is_recorded) over every as new_keys,
         array_agg(kind) filter (where raises) over every as new_states,
         array_agg(fields->>'providerCode') filter (where raises) over every as new_codes,
         array_agg(fields->>'providerMessageId') filter (where is_sent) over every as new_ids,
         count(*) filter (where is_recorded and kind = 'complained') over every as complaints,
         jsonb_object_agg(
           cost_message,
           jsonb_build_object(
             'amount', fields->'cost'->>'amount',
             'currency', fields->'cost'->>'currency'))
           filter (where is_recorded and fields->'cost'->>'amount' is not null) over every as new_costs,
         array_agg((fields->'cost'->>'parts')::smallint)
           filter (where is_recorded and (fields->'cost'->>'parts')::smallint is not null) over every as all_parts,
         lead(ord) over (partition by request_id order by ord) is null as is_last
  from judged
  window every as (partition by request_id order by ord rows between unbounded preceding and unbounded following)),
-- Changes, once for each send.
changes as materialized (
  select *, new_states[cardinality(new_states)] as new_state, new_codes[cardinality(new_codes)] as new_code,
         new_ids[1] as new_id, all_parts[cardinality(all_parts)] as new_parts
  from effects where is_last and new_keys is not null),
-- Their events. One that doesn't raise the delivery state is recorded as another receipt.
receipt_events as (
  insert into send_events (request_id, at, event, fields)
  select r.request_id, e.at, e.event, r.fields
  from effects r cross join lateral (values
    (case when r.raises and r.kind = 'delivered' then r.at end, 'delivered', r.fields),
    (case when r.raises and r.kind = 'read' then r.at end, 'read', r.fields),
    (case when r.raises and r.kind = 'undelivered' then r.at end, 'undelivered', r.fields),
    (case when (r.kind = 'complained') then r.at end, 'complained', r.fields),
    (case when not r.raises and not (r.kind = 'complained') then r.at end, 'receipt', r.fields)
  ) as e (at, event, fields)
  where r.is_recorded and e.at is not null
  order by r.request_id, r.ord),
-- Receipts of sends whose outcome isn't recorded yet.
kept as (
  update sends s set pending_receipts = coalesce(s.pending_receipts, '[]') || early.receipts
  from (select request_id,
               jsonb_agg(jsonb_build_object('kind', kind, 'fields', fields, 'key', key) order by ord) as receipts
        from effects where is_pending and is_new and number <= 50 group by request_id) early
  where s.request_id = early.request_id and s.request_id = any(array(select "requestId" from given))),
-- The last attempts of sends that had ended otherwise. The row of a send that is sent by a receipt holds no attempt.
ended as (
  select s.request_id,
         s.attempt, s.worker,
         case when not ((s.claimed_at is not null and s.attempt_record is null) and coalesce((
             select true from send_events e
             where e.request_id = s.request_id and e.at = s.claimed_at and e.event = 'attempt_started'
             limit 1), false))
              then s.claimed_at end as claimed_at,
         s.finished_at as ended_at, s.attempt_record as record,
         case when (s.claimed_at is not null and s.attempt_record is null)
                   and not ((s.claimed_at is not null and s.attempt_record is null) and coalesce((
                       select true from send_events e
                       where e.request_id = s.request_id and e.at = s.claimed_at and e.event = 'attempt_started'
                       limit 1), false))
              then json_build_object('attempt', s.attempt, 'reason', s.failure) end as loss,
         s.status, s.failure
  from changes s
  where s.confirmed and s.status in ('uncertain', 'failed')),
-- Their events.
ends as (
  insert into send_events (request_id, at, event, fields)
  select a.request_id, e.at, e.event, e.fields
  from ended a cross join lateral (values
    (1, a.claimed_at, 'attempt_started', json_build_object('attempt', a.attempt, 'worker', a.worker)),
    (2, a.ended_at, 'attempt_lost', a.loss),
    (3, a.ended_at, 'attempt_finished', a.record),
    (4, a.ended_at, a.status, json_build_object('reason', a.failure))
  ) as e (position, at, event, fields)
  where e.at is not null and e.fields is not null
  order by a.request_id, e.position),
-- Their next states, numbered. All from the locked rows: PostgreSQL checks constraints first with the row as it was
-- when the statement began. A send that its contact has from a former channel is that channel's again.
written as (
  update sends s set
    status = case when changes.confirmed then 'sent' else changes.status end,
    finished_at = case when changes.confirmed then changes.at else changes.finished_at end,
    failure = case when not changes.confirmed then changes.failure end,
    claimed_at = case when not changes.confirmed then changes.claimed_at end,
    claim_id = case when not changes.confirmed then changes.claim_id end,
    attempt_record = case when not changes.confirmed then changes.attempt_record end,
    provider_message_id = case when changes.confirmed then coalesce(changes.known_id, changes.new_id)
                               else changes.known_id end,
    delivery = coalesce(changes.new_state, changes.delivery),
    delivery_at = case when changes.new_state is not null then changes.at else changes.delivery_at end,
    channel_id = case when changes.confirmed then changes.its_channel_id else changes.channel_id end,
    former_channels = case when changes.confirmed and changes.is_former
                           then changes.former_channels || changes.channel_id
                           else changes.former_channels end,
    receipt_keys = coalesce(s.receipt_keys, '{}') || coalesce(changes.new_keys, '{}'),
    costs = nullif(coalesce(changes.costs, '{}')
      || coalesce(changes.new_costs, '{}'), '{}'),
    segments = coalesce(
      case when changes.message_type <> 'media' then
        coalesce(changes.new_parts) end,
      changes.segments),
    change_number = s.change_number + case when changes.confirmed then 1 else 0 end
      + coalesce(cardinality(changes.new_states), 0) + coalesce(changes.complaints, 0)::int,
    counted_as = case when s.counted_as is not null and (changes.confirmed or changes.new_state is not null) then
        counted_as(
          case when changes.confirmed then 'sent' else changes.status end,
          coalesce(changes.new_state, changes.delivery), case when not changes.confirmed then changes.failure end,
          case when not changes.confirmed then changes.attempt_record end, changes.new_code)
      else s.counted_as end
  from changes
  where s.request_id = changes.request_id and s.request_id = any(array(select "requestId" from given))
  returning
    s.request_id, s.status, s.lane, s.seq,
    changes.confirmed and changes.status = 'queued' as ends_now,
    changes.confirmed or changes.new_state is not null or changes.complaints > 0 as is_changed,
    s.account_id, coalesce(s.former_channels[1], s.channel_id) as counted_channel,
    s.accepted_at, s.priority as counted_priority, s.counted_as, changes.counted_as as counted_before,
    s.costs, s.segments, changes.costs as costs_before, changes.segments as segments_before,
    s.delivery, s.change_number, s.attempt as attempts, s.conversation_id,
    case when (select exists (select from endpoints)) then
      (select array_agg(e.id) from endpoints e where e.account_id = s.account_id) end as endpoint_ids),
-- The callbacks.
announced as (
  insert into callbacks (
      endpoint_id, request_id, sequence, type, attempts, conversation_id, provider_at, provider_code, status, delivery,
    next_try_at)
  select e.id, m.request_id, m.sequence, m.type, m.attempts, m.conversation_id, m.provider_at, m.provider_code,
         case when m.type = 'message.complained' then m.status end,
         case when m.type = 'message.complained' then m.delivery end,
         greatest(clock_timestamp(), case when m.sequence > 1 then
           (select max(earlier.next_try_at) from callbacks earlier
            where earlier.endpoint_id = e.id and earlier.request_id = m.request_id
              and coalesce(earlier.finished_at, 'infinity') = 'infinity') end)
  from (
    select w.*, made.type, made.provider_at, made.provider_code,
           w.change_number - count(*) over (partition by w.request_id)
             + row_number() over (partition by w.request_id order by made.ord, made.part) as sequence
    from written w join (
      select r.request_id, r.ord, made.part, made.type, r.fields->>'providerAt' as provider_at,
             r.fields->>'providerCode' as provider_code
      from effects r cross join lateral (values
        (1, case when r.confirms then 'message.sent' end),
        (2, case when r.raises or r.is_recorded and (r.kind = 'complained')
                 then 'message.' || r.kind end)) made (part, type)
      where made.type is not null) made using (request_id)
    where w.endpoint_ids is not null and (select exists (select from endpoints))) m
  join endpoints e on e.id = any(m.endpoint_ids) and (e.events is null or m.type = any(e.events))),
-- The counters.
counted_changes as (
  insert into send_count_changes (account_id, channel_id, hour, priority, counted_as, change)
  select w.account_id, w.counted_channel, date_trunc('hour', w.accepted_at, 'UTC'),
         w.counted_priority, e.counted_as, sum(e.change)
  from written w cross join lateral (values (w.counted_as, 1), (w.counted_before, -1)) e (counted_as, change)
  where w.counted_as <> w.counted_before and e.counted_as <> 'waiting'
  group by 1, 2, 3, 4, 5),
-- The counters of their costs.
counted_costs as (
  insert into send_count_changes (
    account_id, channel_id, hour, priority, counted_as, change, segments, currency, amount)
  select w.account_id, w.counted_channel, date_trunc('hour', w.accepted_at, 'UTC'),
         w.counted_priority, 'accepted', 0, d.segments, d.currency, d.amount
  from written w cross join lateral (
    select coalesce(w.segments, 0) - coalesce(w.segments_before, 0) as segments, null as currency, null as amount
    where w.segments is distinct from w.segments_before
    union all
    select 0, currency, sum(amount)
    from (
      select p.value->>'currency' as currency, (p.value->>'amount')::numeric as amount
      from jsonb_each(w.costs) p
      union all
      select p.value->>'currency' as currency, -(p.value->>'amount')::numeric as amount
      from jsonb_each(w.costs_before) p) p
    where w.costs is distinct from w.costs_before
    group by currency having sum(amount) <> 0) d),
-- The endpoints that get callbacks. Gathered once: to find the send of each receipt here would compare each with all.
endpoints_of_all as (
  select array_agg(distinct endpoint_id) as endpoint_ids
  from written w cross join lateral unnest(w.endpoint_ids) as of_send (endpoint_id)
  where w.is_changed),
-- The next sends in the lanes of those that ended only now.
next as (
  select w.request_id,
         case when w.status <> 'queued' then
           (select json_build_object('requestId', next.request_id,
                                     'overflowOf', case when next.overflow then next.channel_id end)
            from (
              select * from sends l
              where l.lane = w.lane and coalesce(l.finished_at, 'infinity') = 'infinity'
              order by l.seq) next
            where next.seq > w.seq limit 1) end as "nextInLane"
  from written w
  where w.ends_now)
select r.ord, r.its_channel_id as "channelId",
       case when r.sent_by is null then 'unexpected'
            when not r.is_new then 'duplicate'
            when r.number > 50 then 'over_cap'
            when r.is_pending then 'early'
            when r.confirms or r.raises then 'applied'
            else 'recorded' end as result,
       case when r.is_recorded then
         json_build_object('event', case when r.raises or (r.kind = 'complained')
                                         then r.kind else 'receipt' end,
                           'isRaised', r.raises, 'fields', r.fields) end as effect,
       r.confirms,
       case when r.confirms and r.status = 'queued' then
         (select n."nextInLane" from next n where n.request_id = r.request_id) end as "nextInLane",
       case when r.ord = (select min(ord) from effects) then
         (select case when endpoint_ids is not null then
             (select array_agg(e.id) from endpoints e
              where e.id = any(endpoint_ids) and e.disabled_at is null
                and coalesce(e.breaker_open_until <= clock_timestamp(), true)) end as "endpointsToWake"
          from endpoints_of_all) end as "endpointsToWake"
from effects r
order by r.ord;

-- record_refused: Records requests that were answered 4xx, unless their key is unknown.
insert into refused_requests (request_id, account_id, key_prefix, at, status, message, route, fields)
select given."requestId", k.account_id, k.display_prefix, given.at, given.status, given.message, given.route,
       given.fields
from json_to_recordset($1) as given
  ("requestId" uuid, "keyId" uuid, "keyHash" text, at timestamptz, status int, message text, route text, fields text[])
  join lateral (
    select * from api_keys where id = given."keyId"
    union all
    select * from api_keys where hash = decode(given."keyHash", 'hex')) k on true
returning account_id as "accountId";

-- record_tries: Records the results of calls to endpoints.
with
-- The given results.
given as materialized (
  select g.*, clock_timestamp() as ended_at
  from json_to_recordset($1) as g
    ("endpointId" uuid, "requestId" uuid, sequence int, tried int, status int, reason text, "durationMs" int,
     result text, "delayMs" float8)),
-- The callbacks.
recorded as (
  update callbacks c
  set tried = c.tried + case when g.result = 'gone' then 0 else 1 end,
      tries = (case when jsonb_array_length(c.tries) >= 20 then c.tries - 0 else c.tries end)
        || jsonb_build_object(
          'at', to_char(g.ended_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
          'status', g.status, 'reason', g.reason, 'durationMs', g."durationMs"),
      next_try_at = g.ended_at + coalesce(g."delayMs", 0) * interval '1 ms',
      finished_at = case when g.result in ('delivered', 'given_up') then g.ended_at end,
      given_up = g.result = 'given_up'
  from given g
  where c.endpoint_id = g."endpointId" and c.request_id = g."requestId" and c.sequence = g.sequence
    and c.endpoint_id = any(array(select "endpointId" from given))
    and c.request_id = any(array(select "requestId" from given))
    and coalesce(c.finished_at, 'infinity') = 'infinity' and (c.tried = g.tried or g.result = 'delivered')
  returning c.endpoint_id as "endpointId", c.request_id as "requestId", c.sequence, c.next_try_at as "nextTryAt",
            extract(epoch from g.ended_at - c.created_at)::float8 as "lagSeconds",
            g.result = 'failed' or c.tried > g.tried + 1 as "movesOthers"),
-- Callbacks that failed, or were delivered although a failure was recorded meanwhile.
moving as materialized (
  select * from recorded where "movesOthers"),
-- The later ones of their sends are due with them. Otherwise claims would read them early, and they would seem late.
behind as (
  update callbacks c
  set next_try_at = m."nextTryAt"
  from moving m
  where c.endpoint_id = m."endpointId" and c.request_id = m."requestId" and c.sequence > m.sequence
    and c.endpoint_id = any(array(select "endpointId" from moving))
    and c.request_id = any(array(select "requestId" from moving))
    and coalesce(c.finished_at, 'infinity') = 'infinity')
select "endpointId", "requestId", sequence, "nextTryAt", "lagSeconds" from recorded;

-- refusals: Finds why sends could not be claimed, and when they can be.
-- $1: the sends; $2: the key of the hashes of erased contacts.
with
-- The sends, and whether they have to fail.
asked as (
  select s.*, row_number() over (partition by s.channel_id
                                 order by s.priority desc, s.next_attempt_at desc, s.seq desc) - 1 as later,
         s.status = 'queued' and (case when (select exists (select from suppressions)) then
               (select e.cause from suppressions e
                where e.account_id = s.account_id
                  and coalesce(e.contact_key,
                      lower(e.contact_value collate "C") collate "default") = any(
                    case when (select exists (
                         select from suppressions where erased_at is not null)) then
                      array[lower(s.contact_value collate "C") collate "default",
                            'erased:' || encode(sha256(
                              substring($2::bytea from 65)
                                || sha256(substring($2::bytea for 64)
                                  || convert_to(s.account_id || ' '
                                  || lower(s.contact_value collate "C") collate "default", 'UTF8'))), 'hex'),
                            case when s.contact_value <> lower(s.contact_value collate "C") collate "default" then
                              'erased:' || encode(sha256(
                                substring($2::bytea from 65)
                                  || sha256(substring($2::bytea for 64)
                                    || convert_to(s.account_id || ' '
                                    || s.contact_value, 'UTF8'))), 'hex') end]
                    else array[lower(s.contact_value collate "C") collate "default"] end)
                  and (e.channel_id is null or e.channel_id = s.channel_id)
                limit 1) end is not null) as is_suppressed
  from sends s
  where s.request_id = any((select $1::uuid[])::uuid[])),
-- Whether they need a permit, and the time until the wake-up by the one they have.
permit as (
  select s.request_id, limited.is_needed,
         case when limited.is_needed then
           (select ceil(greatest(
              0, coalesce(extract(epoch from p.call_at - clock_timestamp()) * 1000, 0) - 100))::float8
            from permits p
            where p.request_id = s.request_id and p.attempt = s.attempt + 1
              and p.valid_until > clock_timestamp()
              and (p.is_probe or channels.breaker_open_until is null)) end as in_ms
  from asked s join channels on channels.id = s.channel_id
    cross join lateral (
      select (channels.breaker_open_until is not null
         or num_nonnulls(channels.rate_calls, channels.max_in_flight) > 0
         or s.overflow and coalesce(channels.answered_at < clock_timestamp() - interval '10 s', true))
        as is_needed) limited)
select request_id as "requestId", s.is_suppressed as "isSuppressed",
       s.status = 'queued' and s.next_attempt_at <= clock_timestamp()
       and not coalesce(s.expires_at <= clock_timestamp(), false)
         and (quiet_until(channels.quiet_hours, s.priority, s.contact_type, s.contact_value)
             is not null
              or case when (select exists (select from ceilings))
                          and s.attempt = s.attempts_before_replay then
                  (select ends
                   from passed_ceiling(s.account_id, s.channel_id, s.contact_type, s.segments,
                                       s.account_counted_at, s.channel_counted_at)) end
                  is not null) as "isToPostpone",
       channels.id as "channelId",
       case when channels.fallback_channel_id is not null then channels.provider end as "fallsBackFrom",
       s.finished_at is not null or (s.status = 'queued' and coalesce((
           select true from sends earlier
           where earlier.lane = s.lane and earlier.seq < s.seq
             and coalesce(earlier.finished_at, 'infinity') = 'infinity'
           limit 1), false)) as "wakesLaneHead",
       case when s.status = 'queued' and not coalesce(s.expires_at <= clock_timestamp(), false) and
         (channels.held_at is not null) is not true
         and (coalesce((
           select true from sends earlier
           where earlier.lane = s.lane and earlier.seq < s.seq
             and coalesce(earlier.finished_at, 'infinity') = 'infinity'
           limit 1), false)) is not true then
         greatest(ceil(extract(epoch from greatest(
             case when quiet_until(channels.quiet_hours, s.priority, s.contact_type, s.contact_value)
               is not null then quiet_until(channels.quiet_hours, s.priority, s.contact_type, s.contact_value) end,
             case when case when (select exists (select from ceilings))
                       and s.attempt = s.attempts_before_replay then
               (select ends
                from passed_ceiling(s.account_id, s.channel_id, s.contact_type, s.segments,
                                    s.account_counted_at, s.channel_counted_at)) end
               is not null then case when (select exists (select from ceilings))
                       and s.attempt = s.attempts_before_replay then
               (select ends
                from passed_ceiling(s.account_id, s.channel_id, s.contact_type, s.segments,
                                    s.account_counted_at, s.channel_counted_at)) end end,
             case when s.next_attempt_at > clock_timestamp() then s.next_attempt_at end
           ) - clock_timestamp()) * 1000)::float8, permit.in_ms, 0)
       end as "dueInMs",
       case when s.status = 'queued' and not coalesce(s.expires_at <= clock_timestamp(), false) and
         (channels.held_at is not null) is not true
         and (coalesce((
           select true from sends earlier
           where earlier.lane = s.lane and earlier.seq < s.seq
             and coalesce(earlier.finished_at, 'infinity') = 'infinity'
           limit 1), false)) is not true
              and (quiet_until(channels.quiet_hours, s.priority, s.contact_type, s.contact_value)
                  is not null) is not true
                and (case when (select exists (select from ceilings))
                          and s.attempt = s.attempts_before_replay then
                  (select ends
                   from passed_ceiling(s.account_id, s.channel_id, s.contact_type, s.segments,
                                       s.account_counted_at, s.channel_counted_at)) end
                  is not null) is not true
                and (s.next_attempt_at > clock_timestamp()) is not true
              and permit.is_needed and permit.in_ms is null
         then channels.id
       end as "waitsForPermitOf",
       case when s.status = 'queued' and not coalesce(s.expires_at <= clock_timestamp(), false) and
         (channels.held_at is not null) is not true
         and (coalesce((
           select true from sends earlier
           where earlier.lane = s.lane and earlier.seq < s.seq
             and coalesce(earlier.finished_at, 'infinity') = 'infinity'
           limit 1), false)) is not true
              and (quiet_until(channels.quiet_hours, s.priority, s.contact_type, s.contact_value)
                  is not null) is not true
                and (case when (select exists (select from ceilings))
                          and s.attempt = s.attempts_before_replay then
                  (select ends
                   from passed_ceiling(s.account_id, s.channel_id, s.contact_type, s.segments,
                                       s.account_counted_at, s.channel_counted_at)) end
                  is not null) is not true
                and (s.next_attempt_at > clock_timestamp()) is not true
              and not (channels.breaker_open_until is not null
                 or num_nonnulls(channels.rate_calls, channels.max_in_flight) > 0)
              and (permit.in_ms is not null or not permit.is_needed) then
         (select first.request_id from (
            select s.request_id
            from (select * from sends s
                  where s.channel_id = mine.channel_id and s.priority < mine.priority and s.finished_at is null
                    and s.status = 'queued' and s.next_attempt_at <= clock_timestamp()
                      and not coalesce(s.expires_at <= clock_timestamp(), false)
                  order by s.priority, s.next_attempt_at limit 100) s
            where (channels.held_at is not null) is not true
              and (quiet_until(channels.quiet_hours, s.priority, s.contact_type, s.contact_value)
                is not null) is not true
              and (case when (select exists (select from ceilings))
                        and s.attempt = s.attempts_before_replay then
                (select ends
                 from passed_ceiling(s.account_id, s.channel_id, s.contact_type, s.segments,
                                     s.account_counted_at, s.channel_counted_at)) end
                is not null) is not true
              and (coalesce((
                select true from sends earlier
                where earlier.lane = s.lane and earlier.seq < s.seq
                  and coalesce(earlier.finished_at, 'infinity') = 'infinity'
                limit 1), false)) is not true
              and (not (channels.breaker_open_until is not null
                 or num_nonnulls(channels.rate_calls, channels.max_in_flight) > 0
                 or s.overflow and coalesce(channels.answered_at < clock_timestamp() - interval '10 s', true))
                   or coalesce(
                       (select ceil(greatest(
                          0, coalesce(extract(epoch from p.call_at - clock_timestamp()) * 1000, 0) - 100))::float8
                        from permits p
                        where p.request_id = s.request_id and p.attempt = s.attempt + 1
                          and p.valid_until > clock_timestamp()
                          and (p.is_probe or channels.breaker_open_until is null)) < 100, false))
            order by s.priority, s.next_attempt_at, s.seq) first
          offset mine.later limit 1)
       end as "goesFirst"
from asked s join channels on channels.id = s.channel_id join permit using (request_id)
  cross join lateral (select s.channel_id, s.priority, s.later) mine;

-- refused_of_accounts: Lists a page of the refused requests of accounts.
-- $1: the accounts, null for all; $2: the status, null for all; $3: before this request; $4: how many to look at;
-- $5: the limit of the page, and one more.
with
-- The next rows, matching or not, so that every page takes about the same time.
looked_at as materialized (
  select r.* from refused_requests r
  where r.account_id = any($1::uuid[]) and r.request_id < $3::uuid and r.at > now() - interval '24 hours'
  order by r.request_id desc limit (select $4::int)),
page as materialized (
  select * from looked_at l
  where coalesce(l.account_id = any($1::uuid[]), true)
      and coalesce(l.status = $2::int, true)
  order by l.request_id desc limit $5),
-- The last one that was looked at, if there may be more.
last as materialized (
  select request_id from looked_at l
  order by l.request_id desc offset (select $4::int - 1) limit 1)
select p.request_id as "requestId", p.account_id as "accountId", a.name as "accountName",
       p.key_prefix as "keyPrefix", p.at, p.status, p.message, p.route, p.fields, last.request_id as "endId"
from (select) one left join last on true
  left join (page p join accounts a on a.id = p.account_id) on true
order by p.request_id desc;

-- refused_requests: Lists a page of all refused requests.
-- $1: the accounts, null for all; $2: the status, null for all; $3: before this request; $4: how many to look at;
-- $5: the limit of the page, and one more.
with
-- The next rows, matching or not, so that every page takes about the same time.
looked_at as materialized (
  select r.* from refused_requests r
  where true and r.request_id < $3::uuid and r.at > now() - interval '24 hours'
  order by r.request_id desc limit (select $4::int)),
page as materialized (
  select * from looked_at l
  where coalesce(l.account_id = any($1::uuid[]), true)
      and coalesce(l.status = $2::int, true)
  order by l.request_id desc limit $5),
-- The last one that was looked at, if there may be more.
last as materialized (
  select request_id from looked_at l
  order by l.request_id desc offset (select $4::int - 1) limit 1)
select p.request_id as "requestId", p.account_id as "accountId", a.name as "accountName",
       p.key_prefix as "keyPrefix", p.at, p.status, p.message, p.route, p.fields, last.request_id as "endId"
from (select) one left join last on true
  left join (page p join accounts a on a.id = p.account_id) on true
order by p.request_id desc;

-- release_endpoints: Ends claims of endpoints.
with
ended as materialized (
  select e.id
  from json_to_recordset($1) as given ("endpointId" uuid, "claimId" uuid)
    join endpoints e on e.id = given."endpointId" and e.claim_id = given."claimId"
  order by e.id
  for no key update of e)
update endpoints e set worker = null, claim_id = null, claimed_at = null from ended where e.id = ended.id;

-- release_lost_endpoints: Ends claims of endpoints that no worker will end, because their worker is dead or has dropped them.
-- $1: how many; $2: the sweeping worker; $3: its claims; $4: until when it may sweep.
update endpoints e set worker = null, claim_id = null, claimed_at = null
from (
  select h.id
  from endpoints h left join workers w on w.name = h.worker
  where h.claim_id is not null
    and ((h.worker <> $2 and w.alive_until < clock_timestamp() and clock_timestamp() < $4) or
       (h.worker <> $2 and w.name is null and h.claimed_at < clock_timestamp() - interval '1 minutes') or
       (h.worker = $2 and h.claim_id <> all($3::uuid[]) and h.claimed_at < clock_timestamp() - interval '1 minutes'))
  order by h.id
  limit $1
  for no key update of h skip locked) lost
where e.id = lost.id
returning e.id as "endpointId";

-- remove_suppressed_contact: Removes the entry of a contact and a channel.
-- $1: the account; $2: the contact; $3: the key of hashes; $4: the channel.
with removed as (
  delete from suppressions e where e.account_id = $1::uuid
    and coalesce(e.contact_key,
        lower(e.contact_value collate "C") collate "default") = any(
      case when (select exists (
           select from suppressions where erased_at is not null)) then
        array[lower($2::text collate "C") collate "default",
              'erased:' || encode(sha256(
                substring($3::bytea from 65)
                  || sha256(substring($3::bytea for 64)
                    || convert_to($1::uuid || ' '
                    || lower($2::text collate "C") collate "default", 'UTF8'))), 'hex'),
              case when $2::text <> lower($2::text collate "C") collate "default" then
                'erased:' || encode(sha256(
                  substring($3::bytea from 65)
                    || sha256(substring($3::bytea for 64)
                      || convert_to($1::uuid || ' '
                      || $2::text, 'UTF8'))), 'hex') end]
      else array[lower($2::text collate "C") collate "default"] end)
    and e.channel_id is not distinct from $4::uuid
  returning *)
select e.id as "suppressionId", e.contact_type as "contactType",
  case when e.erased_at is null then e.contact_value end as "contactValue",
  e.channel_id as "channelId", e.cause, e.reason, e.request_id as "requestId", e.created_at as "createdAt"
from removed e
order by e.contact_value = coalesce(e.contact_key,
    lower(e.contact_value collate "C") collate "default") desc, e.id
limit 1;

-- remove_suppression: Removes an entry by its id, and those of its contact in other spellings.
-- $1: the account, or none; $2: the entry.
with
-- The entry.
asked as (
  select * from suppressions
  where id = $2 and account_id = coalesce($1, account_id)),
-- Entries in other spellings, too.
removed as (
  delete from suppressions e using asked
  where e.account_id = asked.account_id
    and coalesce(e.contact_key,
        lower(e.contact_value collate "C") collate "default")
      = coalesce(asked.contact_key,
          lower(asked.contact_value collate "C") collate "default")
    and e.channel_id is not distinct from asked.channel_id
  returning e.*)
select e.id as "suppressionId", e.contact_type as "contactType",
  case when e.erased_at is null then e.contact_value end as "contactValue",
  e.channel_id as "channelId", e.cause, e.reason, e.request_id as "requestId", e.created_at as "createdAt"
from removed e
where e.id = $2;

-- replay_send: Queues a failed or uncertain send again.
with
-- The sends to replay, locked.
chosen as materialized (
  select s.* from sends s
  where s.request_id = $1 and (s.status = any('{failed,uncertain}') and s.failure is not null
     and not (s.failure = 'canceled after an attempt that may have got through')
     and not coalesce(
         greatest(s.accepted_at, s.send_at)
           + s.expires_in_seconds * interval '1 s'
         <= clock_timestamp(), false)
     and ((s.message->'media'->>'sizeBytes' is null
           and not s.message @? '$.email.attachments[*].sizeBytes')
          or exists (select from media m where m.request_id = s.request_id))
     and exists (select from channels c where c.id = s.channel_id and c.deleted_at is null))
  for no key update of s),
-- Sends to suppressed contacts are failed, also if they would wait.
checked as (
  insert into suppression_checks (account_id, contact_value)
  select distinct c.account_id, c.contact_value
  from chosen c
  where (select exists (select from suppressions)) and coalesce((
    select true from suppressions e
    where e.account_id = c.account_id
      and coalesce(e.contact_key,
          lower(e.contact_value collate "C") collate "default")
        = lower(c.contact_value collate "C") collate "default"
    limit 1), false)),
-- When each falls due, and its last attempt.
due as (
  select s.request_id, s.channel_id, s.counted_as,
         s.attempt, s.worker,
         case when not ((s.claimed_at is not null and s.attempt_record is null) and coalesce((
             select true from send_events e
             where e.request_id = s.request_id and e.at = s.claimed_at and e.event = 'attempt_started'
             limit 1), false))
              then s.claimed_at end as claimed_at,
         s.finished_at as ended_at, s.attempt_record as record,
         case when (s.claimed_at is not null and s.attempt_record is null)
                   and not ((s.claimed_at is not null and s.attempt_record is null) and coalesce((
                       select true from send_events e
                       where e.request_id = s.request_id and e.at = s.claimed_at and e.event = 'attempt_started'
                       limit 1), false))
              then json_build_object('attempt', s.attempt, 'reason', s.failure) end as loss,
         s.status, s.failure,
         clock_timestamp() as replayed_at,
         clock_timestamp() + (0 + row_number() over (order by seq) - 1)
           / 20::float8 * interval '1 s' as due_at
  from chosen s),
-- The events of that attempt, and of the replay.
events as (
  insert into send_events (request_id, at, event, fields)
  select a.request_id, e.at, e.event, e.fields
  from due a cross join lateral (values
    (1, a.claimed_at, 'attempt_started', json_build_object('attempt', a.attempt, 'worker', a.worker)),
    (2, a.ended_at, 'attempt_lost', a.loss),
    (3, a.ended_at, 'attempt_finished', a.record),
    (4, a.ended_at, a.status, json_build_object('reason', a.failure)),
    (5, a.replayed_at, 'replayed', json_build_object(
      'nextAttemptAt', to_char(a.due_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')))
  ) as e (position, at, event, fields)
  where e.at is not null and e.fields is not null
  order by a.request_id, e.position),
-- Their next states, numbered. They expire by the channel's present setting, and by their own limits.
written as (
  update sends s set
    status = 'queued',
    finished_at = null,
    failure = null,
    next_attempt_at = due.due_at,
    attempts_before_replay = s.attempt,
    channel_counted_at = null, account_counted_at = null,
    losses = 0,
    claimed_at = null,
    claim_id = null,
    worker = null,
    attempt_record = null,
    provider_message_id = null,
    expires_at = least(
      greatest(s.accepted_at, s.send_at)
        + s.expires_in_seconds * interval '1 s',
      case when channels.expire_after_seconds is not null then
        due.due_at + greatest(channels.expire_after_seconds, 30) * interval '1 s' end),
    change_number = s.change_number + 1,
    counted_as = case when s.counted_as is not null then
        counted_as('queued', s.delivery, null, null, null)
      else s.counted_as end
  from due join channels on channels.id = due.channel_id
  where s.request_id = due.request_id
  returning
    s.request_id, s.status, s.seq,
    s.account_id, coalesce(s.former_channels[1], s.channel_id) as counted_channel,
    s.accepted_at, s.priority as counted_priority, s.counted_as, due.counted_as as counted_before,
    s.change_number, s.attempt as attempts, s.conversation_id,
    'message.replayed' as type,
    case when (select exists (select from endpoints)) then null::text end as provider_code,
    case when (select exists (select from endpoints)) then
      (select array_agg(e.id) from endpoints e
       where e.account_id = s.account_id
         and (e.events is null or 'message.replayed' = any(e.events))) end as endpoint_ids),
-- The callbacks.
announced as (
  insert into callbacks (
      endpoint_id, request_id, sequence, type, attempts, conversation_id, provider_at, provider_code, status, delivery,
    next_try_at)
  select e.endpoint_id, w.request_id, w.change_number, w.type, w.attempts, w.conversation_id, null, w.provider_code,
         null, null,
         greatest(clock_timestamp(), case when w.change_number > 1 then
           (select max(earlier.next_try_at) from callbacks earlier
            where earlier.endpoint_id = e.endpoint_id and earlier.request_id = w.request_id
              and coalesce(earlier.finished_at, 'infinity') = 'infinity') end)
  from written w cross join lateral unnest(w.endpoint_ids) e (endpoint_id)
  where (select exists (select from endpoints))),
-- The counters.
counted_changes as (
  insert into send_count_changes (account_id, channel_id, hour, priority, counted_as, change)
  select w.account_id, w.counted_channel, date_trunc('hour', w.accepted_at, 'UTC'),
         w.counted_priority, e.counted_as, sum(e.change)
  from written w cross join lateral (values (w.counted_as, 1), (w.counted_before, -1)) e (counted_as, change)
  where w.counted_as <> w.counted_before and e.counted_as <> 'waiting'
  group by 1, 2, 3, 4, 5)
select seq from written;

-- replay_sends: Queues a page of a set of failed or uncertain sends again.
-- $1: the channel
-- $2: the channel of the request
-- $3: the states
-- $4: accepted at this time or later
-- $5: accepted before this time
-- $6: a part of the reason
-- $7: the contact
-- $8: the flow
-- $9: the reference
-- $10: the code of the provider
-- $11: whose fault it was, or what ended it without a call
-- $12: ended by this time
-- $13: whether expired ones are included
-- $14: whether refused ones are included
-- $15: the key of the hashes of erased contacts
-- $16: after this seq
-- $17: up to this seq
-- $18: how many to replay
-- $19: how many of the set were replayed before
with
-- The channel's next failed or uncertain sends, matching or not, so that every page takes about the same time.
page as materialized (
  select s.request_id, s.seq,
         (s.status = any($3) and s.failure is not null
         and ($2::uuid is null or coalesce(s.former_channels[1], s.channel_id) = $2)
         and ($4::timestamptz is null or s.accepted_at >= $4)
         and ($5::timestamptz is null or s.accepted_at < $5)
         and ($6::text is null or position(lower($6) in lower(
           case when s.delivery = 'undelivered' then case when s.delivery = 'undelivered' then
               (select e.fields from send_events e
                where e.request_id = s.request_id and e.event = 'undelivered'
                order by e.at desc limit 1) end->>'reason' else s.failure end)) > 0)
         and ($7::text is null or lower(s.contact_value collate "C") collate "default" = $7)
         and ($8::uuid is null or s.flow_id = $8)
         and ($9::text is null or s.reference = $9)
         and ($10::text is null or left(
             case when s.delivery = 'undelivered' then case when s.delivery = 'undelivered' then
                 (select e.fields from send_events e
                  where e.request_id = s.request_id and e.event = 'undelivered'
                  order by e.at desc limit 1) end->>'providerCode'
                  else coalesce(s.attempt_record->>'providerCode', s.attempt_record->>'providerStatus') end, 64) = $10
              or $10 = 'none' and s.counted_as ~ '^[^/]+/[^/]*/$')
         and ($11::text is null or split_part(s.counted_as, '/', 2) = $11)
         and ($12::timestamptz is null or s.finished_at <= $12)) as is_in_set,
         case when coalesce(
             greatest(s.accepted_at, s.send_at)
               + s.expires_in_seconds * interval '1 s'
             <= clock_timestamp(), false) then 'expired'
              when not (s.status = any($3) and s.failure is not null
                 and not (s.failure = 'canceled after an attempt that may have got through')
                 and not coalesce(
                     greatest(s.accepted_at, s.send_at)
                       + s.expires_in_seconds * interval '1 s'
                     <= clock_timestamp(), false)
                 and ((s.message->'media'->>'sizeBytes' is null
                       and not s.message @? '$.email.attachments[*].sizeBytes')
                      or exists (select from media m where m.request_id = s.request_id))
                 and exists (select from channels c where c.id = s.channel_id and c.deleted_at is null)) then 'gone'
              when exists (
                  select from suppressions e
                  where e.account_id = s.account_id and e.channel_id is null
                    and coalesce(e.contact_key,
                        lower(e.contact_value collate "C") collate "default") = any(
                      case when (select exists (
                           select from suppressions where erased_at is not null)) then
                        array[lower(s.contact_value collate "C") collate "default",
                              'erased:' || encode(sha256(
                                substring($15::bytea from 65)
                                  || sha256(substring($15::bytea for 64)
                                    || convert_to(s.account_id || ' '
                                    || lower(s.contact_value collate "C") collate "default", 'UTF8'))), 'hex'),
                              case when s.contact_value <> lower(s.contact_value collate "C") collate "default" then
                                'erased:' || encode(sha256(
                                  substring($15::bytea from 65)
                                    || sha256(substring($15::bytea for 64)
                                      || convert_to(s.account_id || ' '
                                      || s.contact_value, 'UTF8'))), 'hex') end]
                      else array[lower(s.contact_value collate "C") collate "default"] end)) then 'suppressed'
              when (case when (select exists (select from suppressions)) then
                    (select e.cause from suppressions e
                     where e.account_id = s.account_id
                       and coalesce(e.contact_key,
                           lower(e.contact_value collate "C") collate "default") = any(
                         case when (select exists (
                              select from suppressions where erased_at is not null)) then
                           array[lower(s.contact_value collate "C") collate "default",
                                 'erased:' || encode(sha256(
                                   substring($15::bytea from 65)
                                     || sha256(substring($15::bytea for 64)
                                       || convert_to(s.account_id || ' '
                                       || lower(s.contact_value collate "C") collate "default", 'UTF8'))), 'hex'),
                                 case when s.contact_value <> lower(s.contact_value collate "C") collate "default" then
                                   'erased:' || encode(sha256(
                                     substring($15::bytea from 65)
                                       || sha256(substring($15::bytea for 64)
                                         || convert_to(s.account_id || ' '
                                         || s.contact_value, 'UTF8'))), 'hex') end]
                         else array[lower(s.contact_value collate "C") collate "default"] end)
                       and (e.channel_id is null or e.channel_id = s.channel_id)
                     limit 1) end is not null) and not exists (
                         select from channels c
                         where c.id = s.channel_id and c.fallback_channel_id is not null
                           and s.accepted_at + coalesce(c.fallback_within_seconds, 3600)
                             * interval '1 s' > clock_timestamp()) then 'suppressed'
              when coalesce(s.attempt_record->>'outcome' = 'rejected', false) and not $14 then 'refused'
              when ((s.attempt_record is null and s.failure = 'expired') or
                 coalesce(s.expires_at <= clock_timestamp(), false)) and not $13 then 'expired' end as skipped_as
  from sends s
  where s.channel_id = $1 and s.failure is not null
    and s.seq > $16::bigint and s.seq <= $17::bigint
  order by s.seq limit 2000),
-- The sends to replay, locked.
chosen as materialized (
  select s.* from sends s
  where s.request_id = any(array(select request_id from page where is_in_set and skipped_as is null))
    and (s.status = any($3) and s.failure is not null
      and ($2::uuid is null or coalesce(s.former_channels[1], s.channel_id) = $2)
      and ($4::timestamptz is null or s.accepted_at >= $4)
      and ($5::timestamptz is null or s.accepted_at < $5)
      and ($6::text is null or position(lower($6) in lower(
        case when s.delivery = 'undelivered' then case when s.delivery = 'undelivered' then
            (select e.fields from send_events e
             where e.request_id = s.request_id and e.event = 'undelivered'
             order by e.at desc limit 1) end->>'reason' else s.failure end)) > 0)
      and ($7::text is null or lower(s.contact_value collate "C") collate "default" = $7)
      and ($8::uuid is null or s.flow_id = $8)
      and ($9::text is null or s.reference = $9)
      and ($10::text is null or left(
          case when s.delivery = 'undelivered' then case when s.delivery = 'undelivered' then
              (select e.fields from send_events e
               where e.request_id = s.request_id and e.event = 'undelivered'
               order by e.at desc limit 1) end->>'providerCode'
               else coalesce(s.attempt_record->>'providerCode', s.attempt_record->>'providerStatus') end, 64) = $10
           or $10 = 'none' and s.counted_as ~ '^[^/]+/[^/]*/$')
      and ($11::text is null or split_part(s.counted_as, '/', 2) = $11)
      and ($12::timestamptz is null or s.finished_at <= $12))
    and case when coalesce(
          greatest(s.accepted_at, s.send_at)
            + s.expires_in_seconds * interval '1 s'
          <= clock_timestamp(), false) then 'expired'
           when not (s.status = any($3) and s.failure is not null
              and not (s.failure = 'canceled after an attempt that may have got through')
              and not coalesce(
                  greatest(s.accepted_at, s.send_at)
                    + s.expires_in_seconds * interval '1 s'
                  <= clock_timestamp(), false)
              and ((s.message->'media'->>'sizeBytes' is null
                    and not s.message @? '$.email.attachments[*].sizeBytes')
                   or exists (select from media m where m.request_id = s.request_id))
              and exists (select from channels c where c.id = s.channel_id and c.deleted_at is null)) then 'gone'
           when exists (
               select from suppressions e
               where e.account_id = s.account_id and e.channel_id is null
                 and coalesce(e.contact_key,
                     lower(e.contact_value collate "C") collate "default") = any(
                   case when (select exists (
                        select from suppressions where erased_at is not null)) then
                     array[lower(s.contact_value collate "C") collate "default",
                           'erased:' || encode(sha256(
                             substring($15::bytea from 65)
                               || sha256(substring($15::bytea for 64)
                                 || convert_to(s.account_id || ' '
                                 || lower(s.contact_value collate "C") collate "default", 'UTF8'))), 'hex'),
                           case when s.contact_value <> lower(s.contact_value collate "C") collate "default" then
                             'erased:' || encode(sha256(
                               substring($15::bytea from 65)
                                 || sha256(substring($15::bytea for 64)
                                   || convert_to(s.account_id || ' '
                                   || s.contact_value, 'UTF8'))), 'hex') end]
                   else array[lower(s.contact_value collate "C") collate "default"] end)) then 'suppressed'
           when (case when (select exists (select from suppressions)) then
                 (select e.cause from suppressions e
                  where e.account_id = s.account_id
                    and coalesce(e.contact_key,
                        lower(e.contact_value collate "C") collate "default") = any(
                      case when (select exists (
                           select from suppressions where erased_at is not null)) then
                        array[lower(s.contact_value collate "C") collate "default",
                              'erased:' || encode(sha256(
                                substring($15::bytea from 65)
                                  || sha256(substring($15::bytea for 64)
                                    || convert_to(s.account_id || ' '
                                    || lower(s.contact_value collate "C") collate "default", 'UTF8'))), 'hex'),
                              case when s.contact_value <> lower(s.contact_value collate "C") collate "default" then
                                'erased:' || encode(sha256(
                                  substring($15::bytea from 65)
                                    || sha256(substring($15::bytea for 64)
                                      || convert_to(s.account_id || ' '
                                      || s.contact_value, 'UTF8'))), 'hex') end]
                      else array[lower(s.contact_value collate "C") collate "default"] end)
                    and (e.channel_id is null or e.channel_id = s.channel_id)
                  limit 1) end is not null) and not exists (
                      select from channels c
                      where c.id = s.channel_id and c.fallback_channel_id is not null
                        and s.accepted_at + coalesce(c.fallback_within_seconds, 3600)
                          * interval '1 s' > clock_timestamp()) then 'suppressed'
           when coalesce(s.attempt_record->>'outcome' = 'rejected', false) and not $14 then 'refused'
           when ((s.attempt_record is null and s.failure = 'expired') or
              coalesce(s.expires_at <= clock_timestamp(), false)) and not $13 then 'expired' end is null
  order by s.seq limit $18 for no key update of s skip locked),
-- Sends to suppressed contacts are failed, also if they would wait.
checked as (
  insert into suppression_checks (account_id, contact_value)
  select distinct c.account_id, c.contact_value
  from chosen c
  where (select exists (select from suppressions)) and coalesce((
    select true from suppressions e
    where e.account_id = c.account_id
      and coalesce(e.contact_key,
          lower(e.contact_value collate "C") collate "default")
        = lower(c.contact_value collate "C") collate "default"
    limit 1), false)),
-- When each falls due, and its last attempt.
due as (
  select s.request_id, s.channel_id, s.counted_as,
         s.attempt, s.worker,
         case when not ((s.claimed_at is not null and s.attempt_record is null) and coalesce((
             select true from send_events e
             where e.request_id = s.request_id and e.at = s.claimed_at and e.event = 'attempt_started'
             limit 1), false))
              then s.claimed_at end as claimed_at,
         s.finished_at as ended_at, s.attempt_record as record,
         case when (s.claimed_at is not null and s.attempt_record is null)
                   and not ((s.claimed_at is not null and s.attempt_record is null) and coalesce((
                       select true from send_events e
                       where e.request_id = s.request_id and e.at = s.claimed_at and e.event = 'attempt_started'
                       limit 1), false))
              then json_build_object('attempt', s.attempt, 'reason', s.failure) end as loss,
         s.status, s.failure,
         clock_timestamp() as replayed_at,
         clock_timestamp() + ($19::bigint + row_number() over (order by seq) - 1)
           / 20::float8 * interval '1 s' as due_at
  from chosen s),
-- The events of that attempt, and of the replay.
events as (
  insert into send_events (request_id, at, event, fields)
  select a.request_id, e.at, e.event, e.fields
  from due a cross join lateral (values
    (1, a.claimed_at, 'attempt_started', json_build_object('attempt', a.attempt, 'worker', a.worker)),
    (2, a.ended_at, 'attempt_lost', a.loss),
    (3, a.ended_at, 'attempt_finished', a.record),
    (4, a.ended_at, a.status, json_build_object('reason', a.failure)),
    (5, a.replayed_at, 'replayed', json_build_object(
      'nextAttemptAt', to_char(a.due_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')))
  ) as e (position, at, event, fields)
  where e.at is not null and e.fields is not null
  order by a.request_id, e.position),
-- Their next states, numbered. They expire by the channel's present setting, and by their own limits.
written as (
  update sends s set
    status = 'queued',
    finished_at = null,
    failure = null,
    next_attempt_at = due.due_at,
    attempts_before_replay = s.attempt,
    channel_counted_at = null, account_counted_at = null,
    losses = 0,
    claimed_at = null,
    claim_id = null,
    worker = null,
    attempt_record = null,
    provider_message_id = null,
    expires_at = least(
      greatest(s.accepted_at, s.send_at)
        + s.expires_in_seconds * interval '1 s',
      case when channels.expire_after_seconds is not null then
        due.due_at + greatest(channels.expire_after_seconds, 30) * interval '1 s' end),
    change_number = s.change_number + 1,
    counted_as = case when s.counted_as is not null then
        counted_as('queued', s.delivery, null, null, null)
      else s.counted_as end
  from due join channels on channels.id = due.channel_id
  where s.request_id = due.request_id
  returning
    s.request_id, s.status, s.seq,
    s.account_id, coalesce(s.former_channels[1], s.channel_id) as counted_channel,
    s.accepted_at, s.priority as counted_priority, s.counted_as, due.counted_as as counted_before,
    s.change_number, s.attempt as attempts, s.conversation_id,
    'message.replayed' as type,
    case when (select exists (select from endpoints)) then null::text end as provider_code,
    case when (select exists (select from endpoints)) then
      (select array_agg(e.id) from endpoints e
       where e.account_id = s.account_id
         and (e.events is null or 'message.replayed' = any(e.events))) end as endpoint_ids),
-- The callbacks.
announced as (
  insert into callbacks (
      endpoint_id, request_id, sequence, type, attempts, conversation_id, provider_at, provider_code, status, delivery,
    next_try_at)
  select e.endpoint_id, w.request_id, w.change_number, w.type, w.attempts, w.conversation_id, null, w.provider_code,
         null, null,
         greatest(clock_timestamp(), case when w.change_number > 1 then
           (select max(earlier.next_try_at) from callbacks earlier
            where earlier.endpoint_id = e.endpoint_id and earlier.request_id = w.request_id
              and coalesce(earlier.finished_at, 'infinity') = 'infinity') end)
  from written w cross join lateral unnest(w.endpoint_ids) e (endpoint_id)
  where (select exists (select from endpoints))),
-- The counters.
counted_changes as (
  insert into send_count_changes (account_id, channel_id, hour, priority, counted_as, change)
  select w.account_id, w.counted_channel, date_trunc('hour', w.accepted_at, 'UTC'),
         w.counted_priority, e.counted_as, sum(e.change)
  from written w cross join lateral (values (w.counted_as, 1), (w.counted_before, -1)) e (counted_as, change)
  where w.counted_as <> w.counted_before and e.counted_as <> 'waiting'
  group by 1, 2, 3, 4, 5)
-- If the limit is reached, sends after the last replayed one aren't counted.
select (select count(*) from written)::int as replayed,
       count(*) filter (where is_in_set and is_passed and skipped_as = 'gone')::int as gone,
       count(*) filter (where is_in_set and is_passed and skipped_as = 'suppressed')::int as suppressed,
       count(*) filter (where is_in_set and is_passed and skipped_as = 'refused')::int as refused,
       count(*) filter (where is_in_set and is_passed and skipped_as = 'expired')::int as expired,
       max(seq) filter (where is_passed)::text as "lastCounted", max(seq)::text as "lastSeq",
       count(*) = 2000 as "isMore"
from (select page.*,
             seq <= (select max(seq) from written)
               or (select count(*) from written) < $18 as is_passed
      from page) page;

-- report_ceilings: Finds ceilings of which a share was used that is not reported yet, and announces that.
-- $1: how many.
with
-- The ceilings with more use than is reported of their present period, locked in the order of the claims.
locked as materialized (
  select * from ceilings c
  where
    (select max(share) from unnest(array[80, 100]) share
     where c.used * 100 >= c.amount * share)
      > c.reported
    and ceiling_start(c.period, c.starts_at, clock_timestamp()) = c.starts_at
  order by c.owner_id, c.unit, c.period
  limit $1
  for no key update),
-- The reports, each with an id that its callbacks have in place of a send's.
reports as materialized (
  select c.owner_id, c.unit, c.period, own.percent, gen_random_uuid() as id,
         json_build_object(
           'accountId', c.account_id, 'channelId', nullif(c.owner_id, c.account_id),
           'ceiling', concat(c.amount, ' ', c.unit, '/', c.period), 'percent', own.percent,
           'until', to_char(own.ends at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) as report,
         (select array_agg(e.id) from endpoints e
          where e.account_id = c.account_id and 'account.ceiling' = any(e.events)) as endpoint_ids
  from locked c cross join lateral (
    select ceiling_end(c.period, c.starts_at) as ends,
           (select max(share) from unnest(array[80, 100]) share
            where c.used * 100 >= c.amount * share) as percent) own),
-- Their ceilings, which are not reported at this share again.
noted as (
  update ceilings c set reported = r.percent
  from reports r
  where (c.owner_id, c.unit, c.period) = (r.owner_id, r.unit, r.period)),
-- The callbacks.
announced as (
  insert into callbacks (endpoint_id, request_id, sequence, type, data)
  select e.endpoint_id, r.id, 0, 'account.ceiling', r.report
  from reports r cross join lateral unnest(r.endpoint_ids) e (endpoint_id))
select r.report,
       case when r.endpoint_ids is not null then
         (select array_agg(e.id) from endpoints e
          where e.id = any(r.endpoint_ids) and e.disabled_at is null
            and coalesce(e.breaker_open_until <= clock_timestamp(), true)) end as "endpointsToWake"
from reports r;

-- reschedule_send: Gives a scheduled send another time or contact, after lock_to_reschedule.
-- $1: the send; $2: its time, null for the same; $3: the type of its contact, null for the same one; $4: its value;
-- $5: its name; $6: the segments and $7: the encoding of its SMS, which only another type of contact changes.
with
-- As it was.
former as materialized (
  select * from scheduled_sends where request_id = $1),
-- As it is now.
s as (
  update scheduled_sends set
    send_at = coalesce($2, send_at),
    contact_type = coalesce($3, contact_type),
    contact_value = coalesce($4, contact_value),
    contact_name = case when $3::text is null then contact_name else $5 end,
    segments = case when $3 <> contact_type then $6 else segments end,
    encoding = case when $3 <> contact_type then $7 else encoding end
  where request_id = $1
  returning *),
-- The event of its accept, unless it was moved before, and that of now.
events as (
  insert into send_events (request_id, at, event, fields)
  select f.request_id, f.accepted_at, 'scheduled', json_build_object(
      'sendAt', to_char(f.send_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))
  from former f
  where not exists (select from send_events e where e.request_id = f.request_id and e.event = 'scheduled')
  union all
  select s.request_id, clock_timestamp(), 'scheduled', case when (s.contact_type, s.contact_value, s.contact_name)
        is distinct from (former.contact_type, former.contact_value, former.contact_name)
         then json_build_object(
             'sendAt', to_char(s.send_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
             'contactChanged', true)
         else json_build_object(
             'sendAt', to_char(s.send_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) end
  from s join former using (request_id)),
-- The counter of its segments.
counted_segments as (
  insert into send_count_changes (account_id, channel_id, hour, priority, counted_as, change, segments)
  select a.account_id, a.channel_id, date_trunc('hour', a.accepted_at, 'UTC'), a.priority, 'accepted', 0,
         coalesce(a.segments, 0) - coalesce(b.segments, 0)
  from s a join former b on b.request_id = a.request_id
  where a.segments is distinct from b.segments)
select s.request_id as "requestId", 'queued' as "status", s.channel_id as "channelId",
  s.contact_type as "contactType", s.contact_value as "contactValue",
  s.contact_name as "contactName", s.message_type as "messageType",
  s.flow_id as "flowId", null as "conversationId", s.accepted_at as "acceptedAt",
  null as "finishedAt", 0 as "attempt", null as "worker", null as "claimedAt",
  null as "attemptRecord", null as "providerMessageId", null as "failure",
  null as "delivery", null as "deliveryAt", null as "undelivered",
  s.send_at as "sendAt", s.send_at as "nextAttemptAt", s.priority as "priority",
  s.reference as "reference", s.expires_in_seconds as "expiresInSeconds",
  s.metadata as "metadata", s.segments as "segments", s.encoding as "encoding",
  null as "sentThrough" from s;

-- resend_callbacks_of_endpoint: Makes a page of the callbacks of an endpoint wait again.
-- $1: the endpoint; $2: since when; $3: whether only those that were given up; $4: after this send; $5: and number;
-- $6: how many to look at.
with
-- The endpoint's next callbacks, matching or not, so that every page takes about the same time.
page as materialized (
  select c.request_id, c.sequence, c.created_at, c.finished_at, c.given_up
  from callbacks c
  where c.endpoint_id = $1 and (c.request_id, c.sequence) > ($4::uuid, $5::int)
  order by c.request_id, c.sequence limit $6),
-- Callbacks that are sent once more.
resent as (
  update callbacks c
  set finished_at = null, given_up = false, next_try_at = clock_timestamp(), tried_before_resend = c.tried
  from page p
  where c.endpoint_id = $1 and c.request_id = p.request_id and c.sequence = p.sequence
    and c.request_id = any(array(select request_id from page))
    and c.finished_at is not null and c.created_at >= $2 and (c.given_up or not $3)
  returning 1)
select last.request_id as "requestId", last.sequence, (select count(*)::int from resent) as resent,
       (select count(*)::int from page where created_at >= $2 and finished_at is null) as waiting,
       (select count(*)::int from page
        where created_at >= $2 and finished_at is not null and $3 and not given_up) as delivered,
       (select count(*)::int from page where created_at < $2) as earlier,
       (select count(*) from page) = $6 as "isMore"
from (select 1) one left join lateral (
  select request_id, sequence from page order by request_id desc, sequence desc limit 1) last on true;

-- resend_callbacks_of_send: Makes the callbacks of a send wait again.
-- $1: the send; $2: the endpoint; null for all of its account.
update callbacks c
set finished_at = null, given_up = false, next_try_at = clock_timestamp(), tried_before_resend = c.tried
from sends s join endpoints e on e.account_id = s.account_id
where s.request_id = $1 and ($2::uuid is null or e.id = $2)
  and c.endpoint_id = e.id and c.request_id = s.request_id and c.finished_at is not null
returning c.endpoint_id as "endpointId";

-- retire_worker: Ends the lease of a worker that has stopped.
update workers set alive_until = '-infinity' where name = $1;

-- same_content: Finds those of some sends that have the same content as one, with their API keys and Idempotency-Keys.
-- $1: the sends; $2: the one; $3: the first id that the first send of each
-- send's batch may have; $4: the last.
with
compared as materialized (
  select request_id, accepted_at, status, api_key_id,
         case jsonb_typeof(message)
           when 'object' then message #- '{template,definition}' else message end as message, send_at
  from sends where request_id = any((select $1::uuid[])::uuid[])
  union all
  select request_id, accepted_at, 'queued', api_key_id,
         case jsonb_typeof(message)
           when 'object' then message #- '{template,definition}' else message end, send_at
  from scheduled_sends where request_id = any((select $1::uuid[])::uuid[]))
select s.request_id as "requestId", s.accepted_at as "acceptedAt", s.status,
       s.api_key_id as "apiKeyId", a.display_prefix as "apiKeyPrefix",
       left(encode(k.hash, 'hex'), 8) as "idempotencyHash", k.batch is not null as "isBatch",
       key_at > clock_timestamp() - interval '24 hours' as "isIdempotencyKept"
from (
  select s.* from compared s join compared asked on asked.request_id = $2 and asked.message = s.message
  order by s.request_id <> $2, s.accepted_at desc limit 11) s
  left join api_keys a on a.id = s.api_key_id
  cross join lateral (select 
      greatest(s.accepted_at, coalesce(
        (select (e.fields->>'sendAt')::timestamptz from send_events e
         where e.request_id = s.request_id and e.event = 'scheduled' order by e.at limit 1),
        s.send_at)) as key_at) stored
  left join unnest($1::uuid[], $3::uuid[], $4::uuid[]) as one (id, earliest, latest) on one.id = s.request_id
  left join lateral (
    select hash, batch from idempotency_keys
    where created_at between key_at - interval '2 s' and key_at + interval '2 s'
      and request_id = s.request_id
    union all
    select hash, batch from idempotency_keys
    where batch is not null and batch[1] between one.earliest and one.latest and s.request_id = any(batch)
    limit 1) k on true
order by s.accepted_at desc;

-- schedule_send_with_media: Accepts a single send with its media that is to be sent later.
-- $1: the send; $2: the content of its media.
with
-- The sends that are in time.
given as materialized (
  select fields.*
  from rows from (jsonb_to_recordset($1) as (
    "requestId" uuid, "accountId" uuid, "channelId" uuid, "apiKeyId" uuid,
    "contact" jsonb, "message" jsonb, "flowId" uuid, "closeConversation" boolean,
    "priority" priority, "ordering" text, "expireAfterSeconds" float8,
    "idempotency" jsonb, "traceparent" text, "sendAt" timestamptz, "reference" text,
    "expiresInSeconds" int, "metadata" jsonb, "segments" int, "encoding" text,
    "recordBy" timestamptz)) with ordinality as fields
  where clock_timestamp() < "recordBy"),
-- The keys that are unused, or whose last use has expired.
keyed as (
  insert into idempotency_keys as kept (hash, fingerprint, request_id, created_at)
  select distinct on (idempotency->>'hash') decode(idempotency->>'hash', 'hex'),
         decode(idempotency->>'fingerprint', 'hex'), "requestId", greatest(clock_timestamp(), "sendAt")
  from given where idempotency is not null
  order by idempotency->>'hash', ordinality
  on conflict (hash) do update
    set fingerprint = excluded.fingerprint, request_id = excluded.request_id, batch = null,
        created_at = excluded.created_at
    where kept.created_at < clock_timestamp() - interval '24 hours'
  returning request_id),
-- Sends without a key, and those that got theirs.
admitted as (
  select * from given where idempotency is null or "requestId" in (select request_id from keyed)),
-- Sends to suppressed contacts fail before their time.
checked as (
  insert into suppression_checks (account_id, contact_value)
  select distinct c.account_id, c.contact_value
  from (select "accountId" as account_id, contact->>'value' as contact_value from admitted) c
  where (select exists (select from suppressions)) and coalesce((
    select true from suppressions e
    where e.account_id = c.account_id
      and coalesce(e.contact_key,
          lower(e.contact_value collate "C") collate "default")
        = lower(c.contact_value collate "C") collate "default"
    limit 1), false)),
-- The send.
recorded as (
  insert into scheduled_sends (
    request_id, account_id, channel_id, api_key_id, contact_type, contact_value,
    contact_name, message_type, message, flow_id, close_conversation, priority,
    traceparent, send_at, reference, expires_in_seconds, metadata, segments,
    encoding)
  select
    "requestId", "accountId", "channelId", "apiKeyId", contact->>'type',
    contact->>'value', contact->>'name', message->>'type', message, "flowId",
    "closeConversation", coalesce(priority, 'normal'), traceparent, "sendAt",
    reference, "expiresInSeconds", metadata, segments, encoding
  from admitted
  order by ordinality
  returning request_id as "requestId", accepted_at),
-- Its media.
stored as (
  insert into media (request_id, content) select "requestId", $2 from recorded)
select "requestId", null::uuid as "overflowOf", false as "isBehind"
from recorded join given using ("requestId")
where given.idempotency is null
   or case when clock_timestamp() < given."recordBy" and recorded.accepted_at is not null then true else too_late() end;

-- schedule_sends: Accepts sends that are to be sent later.
with
-- The sends that are in time.
given as materialized (
  select fields.*
  from rows from (jsonb_to_recordset($1) as (
    "requestId" uuid, "accountId" uuid, "channelId" uuid, "apiKeyId" uuid,
    "contact" jsonb, "message" jsonb, "flowId" uuid, "closeConversation" boolean,
    "priority" priority, "ordering" text, "expireAfterSeconds" float8,
    "idempotency" jsonb, "traceparent" text, "sendAt" timestamptz, "reference" text,
    "expiresInSeconds" int, "metadata" jsonb, "segments" int, "encoding" text,
    "recordBy" timestamptz)) with ordinality as fields
  where clock_timestamp() < "recordBy"),
-- The keys that are unused, or whose last use has expired.
keyed as (
  insert into idempotency_keys as kept (hash, fingerprint, request_id, created_at)
  select distinct on (idempotency->>'hash') decode(idempotency->>'hash', 'hex'),
         decode(idempotency->>'fingerprint', 'hex'), "requestId", greatest(clock_timestamp(), "sendAt")
  from given where idempotency is not null
  order by idempotency->>'hash', ordinality
  on conflict (hash) do update
    set fingerprint = excluded.fingerprint, request_id = excluded.request_id, batch = null,
        created_at = excluded.created_at
    where kept.created_at < clock_timestamp() - interval '24 hours'
  returning request_id),
-- Sends without a key, and those that got theirs.
admitted as (
  select * from given where idempotency is null or "requestId" in (select request_id from keyed)),
-- Sends to suppressed contacts fail before their time.
checked as (
  insert into suppression_checks (account_id, contact_value)
  select distinct c.account_id, c.contact_value
  from (select "accountId" as account_id, contact->>'value' as contact_value from admitted) c
  where (select exists (select from suppressions)) and coalesce((
    select true from suppressions e
    where e.account_id = c.account_id
      and coalesce(e.contact_key,
          lower(e.contact_value collate "C") collate "default")
        = lower(c.contact_value collate "C") collate "default"
    limit 1), false)),
-- In the order in which they were given.
recorded as (
  insert into scheduled_sends (
    request_id, account_id, channel_id, api_key_id, contact_type, contact_value,
    contact_name, message_type, message, flow_id, close_conversation, priority,
    traceparent, send_at, reference, expires_in_seconds, metadata, segments,
    encoding)
  select
    "requestId", "accountId", "channelId", "apiKeyId", contact->>'type',
    contact->>'value', contact->>'name', message->>'type', message, "flowId",
    "closeConversation", coalesce(priority, 'normal'), traceparent, "sendAt",
    reference, "expiresInSeconds", metadata, segments, encoding
  from admitted
  order by ordinality
  returning request_id as "requestId", accepted_at)
select "requestId", null::uuid as "overflowOf", false as "isBehind"
from recorded join given using ("requestId")
where given.idempotency is null
   or case when clock_timestamp() < given."recordBy" and recorded.accepted_at is not null then true else too_late() end;

-- scheduled_of_channel: Finds the scheduled sends of a deleted channel.
select request_id as "requestId" from scheduled_sends
where channel_id = $1 and account_id = (select account_id from channels where id = $1 and deleted_at is not null);

-- send_context: Reads the names and the conversation around a send, for the support page.
select a.id as "accountId", a.name as "accountName", f.name as "flowName",
       case when conv.id is not null then json_build_object(
         'openedAt', conv.opened_at, 'closedAt', conv.closed_at, 'closedBy', conv.closed_by) end as conversation,
       case when $2 then s.message end as message
from (
  select account_id, flow_id, conversation_id, message from sends where request_id = $1
  union all
  select account_id, flow_id, null, message from scheduled_sends where request_id = $1) s
join accounts a on a.id = s.account_id
left join flows f on f.id = s.flow_id
left join conversations conv on conv.id = s.conversation_id;

-- send_facts: Reads what a send waits for, or has waited for, for its explanation.
with
-- The send, scheduled or not.
asked as (
  select channel_id, priority, former_channels, lane, seq, behind, next_attempt_at, expires_at, false as is_scheduled
  from sends where request_id = $1
  union all
  select channel_id, priority, null, null, null, null, send_at,
    greatest(s.accepted_at, s.send_at)
      + s.expires_in_seconds * interval '1 s', true
  from scheduled_sends s where request_id = $1),
-- The reason for which it waits.
wait as (
  select first.*
  from sends s join channels on channels.id = s.channel_id cross join lateral (
    select reason.name, reason.until
    from (values
        (0, 'held',
         channels.held_at is not null,
         null::timestamptz),
        (1, 'quiet_hours',
         quiet_until(channels.quiet_hours, s.priority, s.contact_type, s.contact_value)
           is not null,
         quiet_until(channels.quiet_hours, s.priority, s.contact_type, s.contact_value)),
        (2, 'ceiling',
         case when (select exists (select from ceilings))
                   and s.attempt = s.attempts_before_replay then
           (select ends
            from passed_ceiling(s.account_id, s.channel_id, s.contact_type, s.segments,
                                s.account_counted_at, s.channel_counted_at)) end
           is not null,
         case when (select exists (select from ceilings))
                   and s.attempt = s.attempts_before_replay then
           (select ends
            from passed_ceiling(s.account_id, s.channel_id, s.contact_type, s.segments,
                                s.account_counted_at, s.channel_counted_at)) end),
        (3, 'behind',
         coalesce((
           select true from sends earlier
           where earlier.lane = s.lane and earlier.seq < s.seq
             and coalesce(earlier.finished_at, 'infinity') = 'infinity'
           limit 1), false),
         null::timestamptz),
        (4, 'retry',
         s.next_attempt_at > clock_timestamp(),
         s.next_attempt_at),
        (5, 'breaker_open',
         channels.breaker_open_until is not null,
         channels.breaker_open_until),
        (6, 'waits_for_permit',
         num_nonnulls(channels.rate_calls, channels.max_in_flight) > 0,
         null::timestamptz),
        (7, 'slow_start',
         s.overflow and coalesce(channels.answered_at < clock_timestamp() - interval '10 s', true),
         null::timestamptz)) reason (place, name, is_waiting, until)
    where reason.is_waiting
    order by reason.place limit 1) first
  where s.request_id = $1),
-- Of each higher priority, the sends of its channel that are due.
more_urgent as (
  select due.*
  from asked cross join unnest(enum_range(null::priority)) as each_priority (priority) cross join lateral (
    select s.request_id from sends s
    where s.channel_id = asked.channel_id and s.priority = each_priority.priority and s.finished_at is null
      and s.status = 'queued' and s.next_attempt_at <= clock_timestamp()
        and not coalesce(s.expires_at <= clock_timestamp(), false)
    limit 10000) due
  where each_priority.priority < asked.priority)
select clock_timestamp() as now, s.next_attempt_at as "nextAttemptAt", s.is_scheduled as "isScheduled",
       s.expires_at as "expiresAt",
       wait.name as "waitsFor", wait.until as "waitsUntil",
       ahead.count as "countAhead", ahead.first as "firstAhead",
       (select count(*)::int from more_urgent) as "moreUrgent",
       s.behind, (select finished_at from sends earlier where earlier.request_id = s.behind) as "behindUntil",
       c.id as "channelId", c.provider, c.name, c.held_at as "heldAt", c.held_reason as "heldReason",
       c.breaker_open_until as "breakerOpenUntil", c.rate_calls as "rateCalls", c.rate_seconds as "rateSeconds",
       c.max_in_flight as "maxInFlight", c.expects_receipts or c.receipt_at is not null as "hasReceipts",
       c.deleted_at as "deletedAt",
       (select json_agg(json_build_object('channelId', one.id, 'name', one.name, 'provider', one.provider)
                        order by had.place)
        from unnest(s.former_channels || c.id) with ordinality had (id, place)
          join channels one on one.id = had.id) as channels
from asked s join channels c on c.id = s.channel_id
  left join wait on true
  cross join lateral (
    select count(*)::int as count,
           (array_agg(json_build_object('requestId', request_id, 'status', status) order by seq))[1] as first
    from (select request_id, status, seq from sends earlier
          where earlier.lane = s.lane and earlier.seq < s.seq and coalesce(earlier.finished_at, 'infinity') = 'infinity'
          order by seq limit 100) earlier) ahead;

-- sends_of_message_ids: Finds a channel's sends by the provider's ids of their messages.
select given.id as "messageId", m.request_id as "requestId"
from unnest($2::text[]) as given (id)
  join message_ids m on m.channel_id = $1 and m.message_key = md5(given.id)::uuid;

-- sends_to_postpone: Finds due sends in quiet hours of their channels, and those that would pass a ceiling.
-- $1: how many.
select s.request_id as "requestId"
from channels cross join lateral (
  select * from sends s
  where s.channel_id = channels.id and s.priority in ('urgent', 'normal', 'bulk') and s.finished_at is null
    and s.status = 'queued' and s.next_attempt_at <= clock_timestamp()
      and not coalesce(s.expires_at <= clock_timestamp(), false)
  order by s.priority, s.next_attempt_at
  limit 5000) s
where channels.deleted_at is null
  and (channels.quiet_hours is not null or ((select exists (select from ceilings)) and exists (
       select from ceilings c cross join lateral (
           select at, starts, ceiling_end(c.period, starts) as ends,
                  case when c.starts_at >= starts then c.used else 0 end as used
           from (select at, ceiling_start(c.period, c.starts_at, at) as starts
                 from clock_timestamp() at) of_clock) now
       where c.owner_id in (channels.id, channels.account_id) and now.used >= c.amount)))
  and (quiet_until(channels.quiet_hours, s.priority, s.contact_type, s.contact_value) is not null
       or case when (select exists (select from ceilings))
                   and s.attempt = s.attempts_before_replay then
           (select ends
            from passed_ceiling(s.account_id, s.channel_id, s.contact_type, s.segments,
                                s.account_counted_at, s.channel_counted_at)) end is not null)
limit $1;

-- settle_send: Ends an uncertain send as a person found it at the provider.
-- $1: the send
-- $2: its state from now on
-- $3: why, in the words of who settles it
-- $4: the reason of a failed one
with
-- The send, locked.
found as materialized (
  select s.*, clock_timestamp() as settled_at,
         $2::text = 'failed' and (s.claimed_at is not null and s.attempt_record is null) as keeps_claim,
         case when $2::text <> 'failed' then null
              when (s.failure = 'canceled after an attempt that may have got through') then s.failure
              else $4::text end as next_failure
  from sends s where s.request_id = $1 and s.status = 'uncertain'
  for no key update),
-- Its last attempt.
attempted as (
  select s.request_id, s.settled_at,
         s.attempt, s.worker,
         case when not ((s.claimed_at is not null and s.attempt_record is null) and coalesce((
             select true from send_events e
             where e.request_id = s.request_id and e.at = s.claimed_at and e.event = 'attempt_started'
             limit 1), false))
              then s.claimed_at end as claimed_at,
         s.finished_at as ended_at, s.attempt_record as record,
         case when (s.claimed_at is not null and s.attempt_record is null)
                   and not ((s.claimed_at is not null and s.attempt_record is null) and coalesce((
                       select true from send_events e
                       where e.request_id = s.request_id and e.at = s.claimed_at and e.event = 'attempt_started'
                       limit 1), false))
              then json_build_object('attempt', s.attempt, 'reason', s.failure) end as loss,
         s.status, s.failure
  from found s),
-- The events of that attempt, and of what the person found.
events as (
  insert into send_events (request_id, at, event, fields)
  select a.request_id, e.at, e.event, e.fields
  from attempted a cross join lateral (values
    (1, a.claimed_at, 'attempt_started', json_build_object('attempt', a.attempt, 'worker', a.worker)),
    (2, a.ended_at, 'attempt_lost', a.loss),
    (3, a.ended_at, 'attempt_finished', a.record),
    (4, a.ended_at, a.status, json_build_object('reason', a.failure)),
    (5, a.settled_at, 'settled', json_build_object('as', $2::text, 'reason', $3::text))
  ) as e (position, at, event, fields)
  where e.at is not null and e.fields is not null
  order by a.request_id, e.position),
-- Its next state, numbered. With a claim that isn't lost, the late outcome would count as recorded before.
written as (
  update sends s set
    status = $2::text,
    finished_at = found.settled_at,
    failure = found.next_failure,
    claimed_at = case when found.keeps_claim then s.claimed_at end,
    claim_id = case when found.keeps_claim then s.claim_id end,
    attempt_record = null,
    change_number = s.change_number + 1,
    counted_as = case when s.counted_as is not null then
        counted_as($2::text, s.delivery, found.next_failure, null, null)
      else s.counted_as end
  from found
  where s.request_id = found.request_id
  returning
    s.request_id, s.status, s.failure,
    s.account_id, coalesce(s.former_channels[1], s.channel_id) as counted_channel,
    s.accepted_at, s.priority as counted_priority, s.counted_as, found.counted_as as counted_before,
    s.change_number, s.attempt as attempts, s.conversation_id,
    'message.' || s.status as type,
    case when (select exists (select from endpoints)) then null::text end as provider_code,
    case when (select exists (select from endpoints)) then
      (select array_agg(e.id) from endpoints e
       where e.account_id = s.account_id
         and (e.events is null or 'message.' || s.status = any(e.events))) end as endpoint_ids),
-- The callbacks.
announced as (
  insert into callbacks (
      endpoint_id, request_id, sequence, type, attempts, conversation_id, provider_at, provider_code, status, delivery,
    next_try_at)
  select e.endpoint_id, w.request_id, w.change_number, w.type, w.attempts, w.conversation_id, null, w.provider_code,
         null, null,
         greatest(clock_timestamp(), case when w.change_number > 1 then
           (select max(earlier.next_try_at) from callbacks earlier
            where earlier.endpoint_id = e.endpoint_id and earlier.request_id = w.request_id
              and coalesce(earlier.finished_at, 'infinity') = 'infinity') end)
  from written w cross join lateral unnest(w.endpoint_ids) e (endpoint_id)
  where (select exists (select from endpoints))),
-- The counters.
counted_changes as (
  insert into send_count_changes (account_id, channel_id, hour, priority, counted_as, change)
  select w.account_id, w.counted_channel, date_trunc('hour', w.accepted_at, 'UTC'),
         w.counted_priority, e.counted_as, sum(e.change)
  from written w cross join lateral (values (w.counted_as, 1), (w.counted_before, -1)) e (counted_as, change)
  where w.counted_as <> w.counted_before and e.counted_as <> 'waiting'
  group by 1, 2, 3, 4, 5)
select status, failure as reason, case when written.endpoint_ids is not null then
    (select array_agg(e.id) from endpoints e
     where e.id = any(written.endpoint_ids) and e.disabled_at is null
       and coalesce(e.breaker_open_until <= clock_timestamp(), true)) end as "endpointsToWake" from written;

-- shown_callbacks: Reads given callbacks of an endpoint, for its page.
-- $1: the endpoint; $2: their sends; $3: their numbers.
select e.id as "endpointId", e.url, e.disabled_at is not null as "isDisabled",
  c.request_id as "requestId", c.sequence, c.type, c.created_at as "createdAt",
  greatest(c.next_try_at, e.breaker_open_until) as "nextTryAt", c.finished_at as "finishedAt", c.given_up as "givenUp",
  not coalesce((
      select false from callbacks earlier
      where earlier.endpoint_id = c.endpoint_id and earlier.request_id = c.request_id
        and earlier.sequence < c.sequence and coalesce(earlier.finished_at, 'infinity') = 'infinity'
      limit 1), true)
    as "isBehind",
  c.tried, c.tries
from unnest($2::uuid[], $3::int[]) with ordinality as given (request_id, sequence, place)
  join callbacks c on c.endpoint_id = $1 and c.request_id = given.request_id and c.sequence = given.sequence
  join endpoints e on e.id = c.endpoint_id
order by given.place;

-- stopped_channels: Lists the channels that are held, or whose calls fail, those of the longest time first.
select c.id as "channelId", c.name, a.name as "accountName", c.provider, c.held_at is not null as "isHeld",
       coalesce(c.held_at, c.breaker_opened_at, c.breaker_open_until) as since, c.held_reason as reason,
       count(*) over ()::int as total
from channels c join accounts a on a.id = c.account_id
where c.deleted_at is null and ($1::uuid is null or c.account_id = $1)
  and (c.held_at is not null or c.breaker_open_until is not null)
order by since limit 10;

-- suppress_contacts: Suppresses the contacts of sends after a bounce, a complaint or an opt-out, as their channels allow it.
with
-- The provider's word on each send.
given as materialized (
  select r.*, case r.sign when 'invalid_contact' then 'bounce' else r.sign end as cause
  from json_to_recordset($1) as r
    (id uuid, "requestId" uuid, "channelIds" uuid[], sign text, reason text)),
-- The new entries, in the order of contacts, so that two statements can't deadlock.
added as (
  insert into suppressions (id, account_id, contact_type, contact_value, channel_id, cause, reason, request_id)
  select g.id, s.account_id, s.contact_type, s.contact_value,
         case when (g.sign, s.contact_type) in (
           ('bounce', 'phone'),
           ('opt_out', 'phone'),
           ('opt_out', 'email'))
           then channels.id end, g.cause, g.reason, s.request_id
  from given g
    cross join lateral (
      select * from sends
      where sends.request_id = g."requestId" limit 1) s
    join channels on channels.id = (
      case when s.channel_id = any(g."channelIds") then s.channel_id
           else (select f from unnest(s.former_channels) f
                 where f = any(g."channelIds") limit 1) end)
  where not s.contact_value = 'erased'
    and (channels.auto_suppress is null or g.cause = any(channels.auto_suppress))
    and not exists (
      select from suppressions e
      where e.account_id = s.account_id
        and coalesce(e.contact_key,
            lower(e.contact_value collate "C") collate "default")
          = lower(s.contact_value collate "C") collate "default"
        and e.channel_id is not distinct from
          case when (g.sign, s.contact_type) in (
            ('bounce', 'phone'),
            ('opt_out', 'phone'),
            ('opt_out', 'email'))
            then channels.id end)
  order by s.account_id, s.contact_value
  on conflict do nothing
  returning id, account_id, contact_value),
-- Their waiting sends are to be failed.
checked as (
  insert into suppression_checks (account_id, contact_value)
  select account_id, contact_value from added)
select id from added;

-- suppressed_sends: Finds the waiting sends of suppressed contacts.
-- $1: the checks; $2: the key of the hashes of erased contacts.
with
-- The checks.
chosen as materialized (
  (select account_id, lower(contact_value collate "C") collate "default" as contact_value from suppression_checks
   where id = any((select $1::bigint[])::bigint[]))),
-- Sends that have not ended, of contacts.
of_contacts as (
  select s.request_id, s.status, s.account_id, s.channel_id, s.contact_value
  from chosen c cross join lateral (
    select * from sends
    where (sends.contact_value = c.contact_value
        or lower(sends.contact_value collate "C") collate "default" = c.contact_value
          and sends.contact_value <> lower(sends.contact_value collate "C") collate "default") offset 0) s
  where c.contact_value is not null and s.account_id = c.account_id and s.finished_at is null),
-- Whole accounts likewise.
of_accounts as (
  select s.request_id, s.status, s.account_id, s.channel_id, s.contact_value
  from (select distinct account_id from chosen where contact_value is null) c
    join channels on channels.account_id = c.account_id
    cross join lateral (
      select * from sends where sends.channel_id = channels.id and sends.finished_at is null offset 0) s),
-- Scheduled ones.
scheduled as (
  select s.request_id, 'scheduled', s.account_id, s.channel_id, s.contact_value
  from chosen c cross join lateral (
    select * from scheduled_sends
    where (scheduled_sends.contact_value = c.contact_value
        or lower(scheduled_sends.contact_value collate "C") collate "default" = c.contact_value
          and scheduled_sends.contact_value <> lower(scheduled_sends.contact_value collate "C") collate "default")
    offset 0) s
  where c.contact_value is not null and s.account_id = c.account_id
  union all
  select s.request_id, 'scheduled', s.account_id, s.channel_id, s.contact_value
  from (select distinct account_id from chosen where contact_value is null) c cross join lateral (
    select * from scheduled_sends where scheduled_sends.account_id = c.account_id offset 0) s)
select s.request_id as "requestId", s.status, s.channel_id as "channelId",
       (select provider from channels
        where id = s.channel_id and fallback_channel_id is not null) as "fallsBackFrom"
from (select * from of_contacts union all select * from of_accounts union all select * from scheduled) s
where (case when (select exists (select from suppressions)) then
      (select e.cause from suppressions e
       where e.account_id = s.account_id
         and coalesce(e.contact_key,
             lower(e.contact_value collate "C") collate "default") = any(
           case when (select exists (
                select from suppressions where erased_at is not null)) then
             array[lower(s.contact_value collate "C") collate "default",
                   'erased:' || encode(sha256(
                     substring($2::bytea from 65)
                       || sha256(substring($2::bytea for 64)
                         || convert_to(s.account_id || ' '
                         || lower(s.contact_value collate "C") collate "default", 'UTF8'))), 'hex'),
                   case when s.contact_value <> lower(s.contact_value collate "C") collate "default" then
                     'erased:' || encode(sha256(
                       substring($2::bytea from 65)
                         || sha256(substring($2::bytea for 64)
                           || convert_to(s.account_id || ' '
                           || s.contact_value, 'UTF8'))), 'hex') end]
           else array[lower(s.contact_value collate "C") collate "default"] end)
         and (e.channel_id is null or e.channel_id = s.channel_id)
       limit 1) end is not null)
  -- One that could fall back is sent at its time, not before it: its claim fails it then.
  and (s.status <> 'scheduled'
       or not exists (select from channels c where c.id = s.channel_id and c.fallback_channel_id is not null)
       or exists (
           select from suppressions e
           where e.account_id = s.account_id and e.channel_id is null
             and coalesce(e.contact_key,
                 lower(e.contact_value collate "C") collate "default") = any(
               case when (select exists (
                    select from suppressions where erased_at is not null)) then
                 array[lower(s.contact_value collate "C") collate "default",
                       'erased:' || encode(sha256(
                         substring($2::bytea from 65)
                           || sha256(substring($2::bytea for 64)
                             || convert_to(s.account_id || ' '
                             || lower(s.contact_value collate "C") collate "default", 'UTF8'))), 'hex'),
                       case when s.contact_value <> lower(s.contact_value collate "C") collate "default" then
                         'erased:' || encode(sha256(
                           substring($2::bytea from 65)
                             || sha256(substring($2::bytea for 64)
                               || convert_to(s.account_id || ' '
                               || s.contact_value, 'UTF8'))), 'hex') end]
               else array[lower(s.contact_value collate "C") collate "default"] end)))
limit 1000;

-- suppressions_of_contact: Lists the entries of one contact.
-- $1: the account; $2: the contact; $3: the key of hashes.
select e.id as "suppressionId", e.contact_type as "contactType",
  case when e.erased_at is null then e.contact_value end as "contactValue",
  e.channel_id as "channelId", e.cause, e.reason, e.request_id as "requestId", e.created_at as "createdAt"
from suppressions e
where e.account_id = $1::uuid
  and coalesce(e.contact_key,
      lower(e.contact_value collate "C") collate "default") = any(
    case when (select exists (
         select from suppressions where erased_at is not null)) then
      array[lower($2::text collate "C") collate "default",
            'erased:' || encode(sha256(
              substring($3::bytea from 65)
                || sha256(substring($3::bytea for 64)
                  || convert_to($1::uuid || ' '
                  || lower($2::text collate "C") collate "default", 'UTF8'))), 'hex'),
            case when $2::text <> lower($2::text collate "C") collate "default" then
              'erased:' || encode(sha256(
                substring($3::bytea from 65)
                  || sha256(substring($3::bytea for 64)
                    || convert_to($1::uuid || ' '
                    || $2::text, 'UTF8'))), 'hex') end]
    else array[lower($2::text collate "C") collate "default"] end)
  and (e.contact_value = coalesce(e.contact_key,
        lower(e.contact_value collate "C") collate "default")
    or not exists (
      select from suppressions other
      where other.account_id = e.account_id
        and coalesce(other.contact_key,
            lower(other.contact_value collate "C") collate "default")
          = coalesce(e.contact_key,
              lower(e.contact_value collate "C") collate "default")
        and other.channel_id is not distinct from e.channel_id
        and (other.id < e.id
          or other.contact_value = coalesce(other.contact_key,
              lower(other.contact_value collate "C") collate "default"))))
order by e.id;

-- take_idempotency_key: Stores the Idempotency-Key of a request that is no send, unless it is taken.
-- $1: the hash of the key; $2: that of the request; $3: what the request made.
insert into idempotency_keys as kept (hash, fingerprint, request_id)
values (decode($1, 'hex'), decode($2, 'hex'), $3)
on conflict (hash) do update
set fingerprint = excluded.fingerprint, request_id = excluded.request_id, batch = null, created_at = excluded.created_at
where kept.created_at < clock_timestamp() - interval '24 hours'
returning 1;

-- to_be_committed_by: Makes PostgreSQL roll the transaction back unless it is committed by then.
select set_config('idle_in_transaction_session_timeout', ms::text, true)
from (select least(2000,
                   ceil(extract(epoch from $1::timestamptz - clock_timestamp()) * 1000))::int as ms) until
where case when ms > 0 then true else too_late() end;

-- trim_audit: Deletes a page of rows of the audit past their retention.
select trim_audit($1::interval, $2::int) as trimmed;

-- trim_callbacks: Deletes a page of callbacks past their retention.
with trimmed as (
  delete from callbacks where ctid = any(array(
    select ctid from callbacks where finished_at < now() - $1::interval
    order by finished_at limit $2 for update skip locked)) returning 1)
select count(*)::int as trimmed from trimmed;

-- trim_conversations: Deletes a page of rows past their retention.
with trimmed as (
  delete from conversations t using (
    select id from conversations where closed_at < now() - $1::interval
    order by closed_at limit $2 for update skip locked) old
  where t.id = old.id returning 1)
select count(*)::int as trimmed from trimmed;

-- trim_early_receipts: Deletes a page of early_receipts past their retention.
with trimmed as (
  delete from early_receipts where ctid = any(array(
    select ctid from early_receipts where received_at < now() - $1::interval
    order by received_at limit $2 for update skip locked)) returning 1)
select count(*)::int as trimmed from trimmed;

-- trim_failure_counts: Deletes a page of failure_counts past their retention.
with trimmed as (
  delete from failure_counts where ctid = any(array(
    select ctid from failure_counts where hour < now() - $1::interval
    order by hour limit $2 for update skip locked)) returning 1)
select count(*)::int as trimmed from trimmed;

-- trim_idempotency_keys: Deletes a page of rows past their retention.
with trimmed as (
  delete from idempotency_keys t using (
    select hash from idempotency_keys where created_at < now() - $1::interval
    order by created_at limit $2 for update skip locked) old
  where t.hash = old.hash returning 1)
select count(*)::int as trimmed from trimmed;

-- trim_media: Deletes a page of rows past their retention.
with trimmed as (
  delete from media t using (
    -- $1: the retention; $2: how many; $3: the providers that fetch media by links; $4: how long a link is valid.
    select m.request_id from media m join sends s on s.request_id = m.request_id
    join channels c on c.id = s.channel_id
    where m.request_id < (lpad(to_hex(greatest(extract(epoch from now() - $1::interval) * 1000, 0)::bigint), 12, '0')
         || '00000000000000000000')::uuid and s.finished_at < now() - $1::interval
      and (c.provider <> all($3::text[]) or s.finished_at < now() - $4::interval)
    order by m.request_id limit $2 for update of m, s skip locked) old
  where t.request_id = old.request_id returning 1)
select count(*)::int as trimmed from trimmed;

-- trim_message_ids: Deletes a page of message_ids past their retention.
with trimmed as (
  delete from message_ids where ctid = any(array(
    select ctid from message_ids where recorded_at < now() - $1::interval
    order by recorded_at limit $2 for update skip locked)) returning 1)
select count(*)::int as trimmed from trimmed;

-- trim_orphaned_callbacks: Deletes a page of callbacks without a send past the retention of sends.
with recursive called as (
  (select endpoint_id as id from callbacks order by endpoint_id limit 1)
  union all
  select (select endpoint_id from callbacks where endpoint_id > called.id order by endpoint_id limit 1)
  from called where called.id is not null),
old as materialized (
  select c.endpoint_id, c.request_id, c.sequence
  from called cross join lateral (
    select c.endpoint_id, c.request_id, c.sequence from callbacks c
    where c.endpoint_id = called.id and c.created_at < now() - $1::interval
      and c.request_id < (lpad(to_hex(greatest(extract(epoch from now() - $1::interval) * 1000, 0)::bigint), 12, '0')
           || '00000000000000000000')::uuid
      and coalesce((select false from sends s where s.request_id = c.request_id), true)
    order by c.request_id limit $2
    for update skip locked) c
  limit $2),
trimmed as (
  delete from callbacks c using old
  where c.endpoint_id = old.endpoint_id and c.request_id = old.request_id and c.sequence = old.sequence
  returning 1)
select count(*)::int as trimmed from trimmed;

-- trim_refused_of_accounts: Deletes the oldest refused requests of accounts that have more than are kept.
-- $1: the accounts; $2: how many are kept of each.
delete from refused_requests r
using unnest($1::uuid[]) as a (id) cross join lateral (
  select request_id from refused_requests
  where account_id = a.id
  order by request_id desc offset $2 limit 1) newest_to_delete
where r.account_id = a.id and r.request_id <= newest_to_delete.request_id;

-- trim_refused_requests: Deletes a page of rows past their retention.
with trimmed as (
  delete from refused_requests t using (
    select request_id from refused_requests
    where request_id < (lpad(to_hex(greatest(extract(epoch from now() - $1::interval) * 1000, 0)::bigint), 12, '0')
         || '00000000000000000000')::uuid
    order by request_id limit $2 for update skip locked) old
  where t.request_id = old.request_id returning 1)
select count(*)::int as trimmed from trimmed;

-- trim_send_counts: Deletes a page of send_counts past their retention.
with trimmed as (
  delete from send_counts where ctid = any(array(
    select ctid from send_counts where hour < now() - $1::interval
    order by hour limit $2 for update skip locked)) returning 1)
select count(*)::int as trimmed from trimmed;

-- trim_sends: Deletes a page of finished sends past their retention, with all that belongs to them.
with old as materialized (
  select request_id, account_id from sends
  where request_id < (lpad(to_hex(greatest(extract(epoch from now() - $1::interval) * 1000, 0)::bigint), 12, '0')
       || '00000000000000000000')::uuid and finished_at < now() - $1::interval
  order by request_id limit $2
  for update skip locked),
old_events as (delete from send_events e using old where e.request_id = old.request_id),
old_media as (delete from media m using old where m.request_id = old.request_id),
old_permits as (delete from permits p using old where p.request_id = old.request_id),
old_messages as (delete from sandbox_messages m using old where m.request_id = old.request_id),
old_callbacks as (
  delete from callbacks c using old, endpoints e
  where e.account_id = old.account_id and c.endpoint_id = e.id and c.request_id = old.request_id),
trimmed as (delete from sends s using old where s.request_id = old.request_id returning 1)
select count(*)::int as trimmed from trimmed;

-- trim_usage_costs: Deletes a page of the usage of months past its retention.
with trimmed as (
  delete from usage_costs where ctid = any(array(
    select ctid from usage_costs where day < date_trunc('month', (now() - $1::interval) at time zone 'UTC')::date
    limit $2 for update skip locked)) returning 1)
select count(*)::int as trimmed from trimmed;

-- trim_usage_counts: Deletes a page of the usage of months past its retention.
with trimmed as (
  delete from usage_counts where ctid = any(array(
    select ctid from usage_counts where day < date_trunc('month', (now() - $1::interval) at time zone 'UTC')::date
    limit $2 for update skip locked)) returning 1)
select count(*)::int as trimmed from trimmed;

-- try_replay: Counts what replay_sends would do, without doing it.
-- $1: the channel
-- $2: the channel of the request
-- $3: the states
-- $4: accepted at this time or later
-- $5: accepted before this time
-- $6: a part of the reason
-- $7: the contact
-- $8: the flow
-- $9: the reference
-- $10: the code of the provider
-- $11: whose fault it was, or what ended it without a call
-- $12: ended by this time
-- $13: whether expired ones are included
-- $14: whether refused ones are included
-- $15: the key of the hashes of erased contacts
-- $16: after this seq
-- $17: up to this seq
-- $18: how many to replay
with
-- The channel's next failed or uncertain sends, matching or not, so that every page takes about the same time.
page as materialized (
  select s.request_id, s.seq,
         (s.status = any($3) and s.failure is not null
         and ($2::uuid is null or coalesce(s.former_channels[1], s.channel_id) = $2)
         and ($4::timestamptz is null or s.accepted_at >= $4)
         and ($5::timestamptz is null or s.accepted_at < $5)
         and ($6::text is null or position(lower($6) in lower(
           case when s.delivery = 'undelivered' then case when s.delivery = 'undelivered' then
               (select e.fields from send_events e
                where e.request_id = s.request_id and e.event = 'undelivered'
                order by e.at desc limit 1) end->>'reason' else s.failure end)) > 0)
         and ($7::text is null or lower(s.contact_value collate "C") collate "default" = $7)
         and ($8::uuid is null or s.flow_id = $8)
         and ($9::text is null or s.reference = $9)
         and ($10::text is null or left(
             case when s.delivery = 'undelivered' then case when s.delivery = 'undelivered' then
                 (select e.fields from send_events e
                  where e.request_id = s.request_id and e.event = 'undelivered'
                  order by e.at desc limit 1) end->>'providerCode'
                  else coalesce(s.attempt_record->>'providerCode', s.attempt_record->>'providerStatus') end, 64) = $10
              or $10 = 'none' and s.counted_as ~ '^[^/]+/[^/]*/$')
         and ($11::text is null or split_part(s.counted_as, '/', 2) = $11)
         and ($12::timestamptz is null or s.finished_at <= $12)) as is_in_set,
         case when coalesce(
             greatest(s.accepted_at, s.send_at)
               + s.expires_in_seconds * interval '1 s'
             <= clock_timestamp(), false) then 'expired'
              when not (s.status = any($3) and s.failure is not null
                 and not (s.failure = 'canceled after an attempt that may have got through')
                 and not coalesce(
                     greatest(s.accepted_at, s.send_at)
                       + s.expires_in_seconds * interval '1 s'
                     <= clock_timestamp(), false)
                 and ((s.message->'media'->>'sizeBytes' is null
                       and not s.message @? '$.email.attachments[*].sizeBytes')
                      or exists (select from media m where m.request_id = s.request_id))
                 and exists (select from channels c where c.id = s.channel_id and c.deleted_at is null)) then 'gone'
              when exists (
                  select from suppressions e
                  where e.account_id = s.account_id and e.channel_id is null
                    and coalesce(e.contact_key,
                        lower(e.contact_value collate "C") collate "default") = any(
                      case when (select exists (
                           select from suppressions where erased_at is not null)) then
                        array[lower(s.contact_value collate "C") collate "default",
                              'erased:' || encode(sha256(
                                substring($15::bytea from 65)
                                  || sha256(substring($15::bytea for 64)
                                    || convert_to(s.account_id || ' '
                                    || lower(s.contact_value collate "C") collate "default", 'UTF8'))), 'hex'),
                              case when s.contact_value <> lower(s.contact_value collate "C") collate "default" then
                                'erased:' || encode(sha256(
                                  substring($15::bytea from 65)
                                    || sha256(substring($15::bytea for 64)
                                      || convert_to(s.account_id || ' '
                                      || s.contact_value, 'UTF8'))), 'hex') end]
                      else array[lower(s.contact_value collate "C") collate "default"] end)) then 'suppressed'
              when (case when (select exists (select from suppressions)) then
                    (select e.cause from suppressions e
                     where e.account_id = s.account_id
                       and coalesce(e.contact_key,
                           lower(e.contact_value collate "C") collate "default") = any(
                         case when (select exists (
                              select from suppressions where erased_at is not null)) then
                           array[lower(s.contact_value collate "C") collate "default",
                                 'erased:' || encode(sha256(
                                   substring($15::bytea from 65)
                                     || sha256(substring($15::bytea for 64)
                                       || convert_to(s.account_id || ' '
                                       || lower(s.contact_value collate "C") collate "default", 'UTF8'))), 'hex'),
                                 case when s.contact_value <> lower(s.contact_value collate "C") collate "default" then
                                   'erased:' || encode(sha256(
                                     substring($15::bytea from 65)
                                       || sha256(substring($15::bytea for 64)
                                         || convert_to(s.account_id || ' '
                                         || s.contact_value, 'UTF8'))), 'hex') end]
                         else array[lower(s.contact_value collate "C") collate "default"] end)
                       and (e.channel_id is null or e.channel_id = s.channel_id)
                     limit 1) end is not null) and not exists (
                         select from channels c
                         where c.id = s.channel_id and c.fallback_channel_id is not null
                           and s.accepted_at + coalesce(c.fallback_within_seconds, 3600)
                             * interval '1 s' > clock_timestamp()) then 'suppressed'
              when coalesce(s.attempt_record->>'outcome' = 'rejected', false) and not $14 then 'refused'
              when ((s.attempt_record is null and s.failure = 'expired') or
                 coalesce(s.expires_at <= clock_timestamp(), false)) and not $13 then 'expired' end as skipped_as
  from sends s
  where s.channel_id = $1 and s.failure is not null
    and s.seq > $16::bigint and s.seq <= $17::bigint
  order by s.seq limit 2000),
-- Sends that would be replayed.
replayed as (
  select seq from page where is_in_set and skipped_as is null order by seq limit $18)
-- If the limit is reached, sends after the last replayed one aren't counted.
select (select count(*) from replayed)::int as replayed,
       count(*) filter (where is_in_set and is_passed and skipped_as = 'gone')::int as gone,
       count(*) filter (where is_in_set and is_passed and skipped_as = 'suppressed')::int as suppressed,
       count(*) filter (where is_in_set and is_passed and skipped_as = 'refused')::int as refused,
       count(*) filter (where is_in_set and is_passed and skipped_as = 'expired')::int as expired,
       max(seq) filter (where is_passed)::text as "lastCounted", max(seq)::text as "lastSeq",
       count(*) = 2000 as "isMore"
from (select page.*,
             seq <= (select max(seq) from replayed)
               or (select count(*) from replayed) < $18 as is_passed
      from page) page;

-- unreported_sends: Lists sent messages whose delivery is unknown, page by page.
-- $1: the channel; $2: since when accepted; $3: the last send of the previous page; $4: how many.
select s.request_id as "requestId", s.provider_message_id as "providerMessageId"
from sends s
where s.request_id >= (lpad(to_hex(greatest(extract(epoch from $2::timestamptz) * 1000, 0)::bigint), 12, '0')
   || '00000000000000000000')::uuid and s.request_id > $3
  and s.channel_id = $1 and s.status = 'sent' and s.delivery is null and s.provider_message_id is not null
order by s.request_id
limit $4;

-- unsubscribe_contact: Suppresses a contact that unsubscribed from a channel, unless it is suppressed there, and announces that.
-- $1: the send of the mail, which may be past its retention; $2: its channel, which may be deleted; $3: the contact;
-- $4: the key of hashes; $5: the id of a new entry.
with
-- The new entry.
added as (
  insert into suppressions (id, account_id, contact_type, contact_value, channel_id, cause, request_id)
  select $5::uuid, c.account_id, 'email', $3::text, c.id, 'opt_out', $1::uuid
  from channels c
  where c.id = $2::uuid
    and not exists (
      select from suppressions e
      where e.account_id = c.account_id
        and coalesce(e.contact_key,
            lower(e.contact_value collate "C") collate "default") = any(
          case when (select exists (
               select from suppressions where erased_at is not null)) then
            array[lower($3::text collate "C") collate "default",
                  'erased:' || encode(sha256(
                    substring($4::bytea from 65)
                      || sha256(substring($4::bytea for 64)
                        || convert_to(c.account_id || ' '
                        || lower($3::text collate "C") collate "default", 'UTF8'))), 'hex'),
                  case when $3::text <> lower($3::text collate "C") collate "default" then
                    'erased:' || encode(sha256(
                      substring($4::bytea from 65)
                        || sha256(substring($4::bytea for 64)
                          || convert_to(c.account_id || ' '
                          || $3::text, 'UTF8'))), 'hex') end]
          else array[lower($3::text collate "C") collate "default"] end)
        and e.channel_id = c.id)
  on conflict do nothing
  returning account_id, contact_value),
-- Its contact's waiting sends are to be failed.
checked as (
  insert into suppression_checks (account_id, contact_value)
  select account_id, contact_value from added),
-- The change of its send, numbered.
written as (
  update sends s set change_number = s.change_number + 1
  from added
  where s.request_id = $1::uuid and s.account_id = added.account_id
  returning
    s.request_id, s.status, s.delivery,
    s.change_number, s.attempt as attempts, s.conversation_id,
    'message.unsubscribed' as type,
    case when (select exists (select from endpoints)) then null::text end as provider_code,
    case when (select exists (select from endpoints)) then
      (select array_agg(e.id) from endpoints e
       where e.account_id = s.account_id
         and (e.events is null or 'message.unsubscribed' = any(e.events))) end as endpoint_ids),
-- Its event.
recorded as (
  insert into send_events (request_id, at, event, fields)
  select request_id, clock_timestamp(), 'unsubscribed', json_build_object() from written),
-- The callbacks.
announced as (
  insert into callbacks (
      endpoint_id, request_id, sequence, type, attempts, conversation_id, provider_at, provider_code, status, delivery,
    next_try_at)
  select e.endpoint_id, w.request_id, w.change_number, w.type, w.attempts, w.conversation_id, null, w.provider_code,
         w.status, w.delivery,
         greatest(clock_timestamp(), case when w.change_number > 1 then
           (select max(earlier.next_try_at) from callbacks earlier
            where earlier.endpoint_id = e.endpoint_id and earlier.request_id = w.request_id
              and coalesce(earlier.finished_at, 'infinity') = 'infinity') end)
  from written w cross join lateral unnest(w.endpoint_ids) e (endpoint_id)
  where (select exists (select from endpoints)))
select true as "isNew", (select case when written.endpoint_ids is not null then
    (select array_agg(e.id) from endpoints e
     where e.id = any(written.endpoint_ids) and e.disabled_at is null
       and coalesce(e.breaker_open_until <= clock_timestamp(), true)) end as "endpointsToWake" from written) from added;

-- usage: Adds up the sends of an account by day, month and channel.
-- $1: the account; $2: the first day; $3: the day after the last; $4: whether by day; $5: by month; $6: by channel;
-- $7: by priority.
with
-- The counters of the days, and what has changed since they were added up.
counted as (
  select day, channel_id, priority, segments, accepted, sent, delivered, read, undelivered, failed, uncertain, canceled
  from usage_counts
  where account_id = $1 and day >= $2::date and day < $3::date
  union all
  select (hour at time zone 'UTC')::date, channel_id, priority, segments,
         case when state = 'accepted' then change else 0 end as accepted,
         case when state = 'sent' then change else 0 end as sent,
         case when state = 'delivered' then change else 0 end as delivered,
         case when state = 'read' then change else 0 end as read,
         case when state = 'undelivered' then change else 0 end as undelivered,
         case when state = 'failed' then change else 0 end as failed,
         case when state = 'uncertain' then change else 0 end as uncertain,
         case when state = 'canceled' then change else 0 end as canceled
  from (select *, split_part(counted_as, '/', 1) as state from send_count_changes offset 0) c
  where account_id = $1 and hour >= $2::date::timestamp at time zone 'UTC'
    and hour < $3::date::timestamp at time zone 'UTC'),
-- By day, channel and priority. Without accepted sends, a change came after the day was removed: it is no usage.
of_days as (
  select day, channel_id, priority,
         sum(segments) as segments, sum(accepted) as accepted, sum(sent) as sent,
         sum(delivered) as delivered, sum(read) as read, sum(undelivered) as undelivered,
         sum(failed) as failed, sum(uncertain) as uncertain, sum(canceled) as canceled
  from counted group by day, channel_id, priority having sum(accepted) > 0),
-- Each with the group that it is in.
grouped as (
  select case when $4::boolean then day end as by_day,
         case when $5::boolean then date_trunc('month', day)::date end as by_month,
         case when $6::boolean then channel_id end as of_channel,
         case when $7::boolean then priority end as by_priority, of_days.*
  from of_days)
select to_char(by_day, 'YYYY-MM-DD') as day, to_char(by_month, 'YYYY-MM') as month, of_channel as "channelId",
       (select name from channels where id = of_channel) as "channelName", by_priority as priority,
       sum(accepted)::float8 as accepted,
       sum(sent + delivered + read + undelivered)::float8 as sent,
       sum(delivered + read)::float8 as delivered,
       sum(undelivered)::float8 as undelivered,
       sum(failed)::float8 as failed,
       sum(uncertain)::float8 as uncertain,
       sum(canceled)::float8 as canceled,
       sum(segments)::float8 as segments
from grouped
group by by_day, by_month, of_channel, by_priority
order by by_day, by_month, "channelName", of_channel, by_priority;

-- use_session: Records that a session was used, unless that was recorded in the last minutes.
update person_sessions set used_at = now()
where token_hash = $1 and used_at < now() - interval '5 minutes';

-- waiting_of_flow: Finds the oldest sends of an account that have not ended, by their flow.
-- $1: the account; $2: its reference or flow; $3: after this time, in microseconds; $4: and this send; $5: how many.
select (extract(epoch from s.accepted_at) * 1000000)::bigint::text as "acceptedAtMicros",
       s.request_id as "requestId"
from (
  (select s.accepted_at, s.request_id
   from sends s
   where s.flow_id = $2 and s.account_id = $1 and coalesce(s.finished_at, 'infinity') = 'infinity'
     and (s.accepted_at, s.request_id) > (timestamptz 'epoch' + $3::float8 * interval '1 microsecond', $4::uuid)
   order by s.accepted_at, s.request_id limit $5)
  union all
  (select s.accepted_at, s.request_id
   from scheduled_sends s
   where s.flow_id = $2 and s.account_id = $1 and true
     and (s.accepted_at, s.request_id) > (timestamptz 'epoch' + $3::float8 * interval '1 microsecond', $4::uuid)
   order by s.accepted_at, s.request_id limit $5)) s
order by s.accepted_at, s.request_id limit $5;

-- waiting_of_reference: Finds the oldest sends of an account that have not ended, by their reference.
-- $1: the account; $2: its reference or flow; $3: after this time, in microseconds; $4: and this send; $5: how many.
select (extract(epoch from s.accepted_at) * 1000000)::bigint::text as "acceptedAtMicros",
       s.request_id as "requestId"
from (
  (select s.accepted_at, s.request_id
   from sends s
   where s.reference = $2 and s.account_id = $1 and coalesce(s.finished_at, 'infinity') = 'infinity'
     and (s.accepted_at, s.request_id) > (timestamptz 'epoch' + $3::float8 * interval '1 microsecond', $4::uuid)
   order by s.accepted_at, s.request_id limit $5)
  union all
  (select s.accepted_at, s.request_id
   from scheduled_sends s
   where s.reference = $2 and s.account_id = $1 and true
     and (s.accepted_at, s.request_id) > (timestamptz 'epoch' + $3::float8 * interval '1 microsecond', $4::uuid)
   order by s.accepted_at, s.request_id limit $5)) s
order by s.accepted_at, s.request_id limit $5;

-- waiting_overflow: Lists the due sends of a channel’s overflow.
select s.request_id as "requestId", case when s.overflow then s.channel_id end as "overflowOf"
from sends s join channels on channels.id = s.channel_id
where s.channel_id = $1 and s.finished_at is null and s.overflow
  and s.status = 'queued' and s.next_attempt_at <= clock_timestamp()
    and not coalesce(s.expires_at <= clock_timestamp(), false)
    and (quiet_until(channels.quiet_hours, s.priority, s.contact_type, s.contact_value)
      is not null) is not true
    and (case when (select exists (select from ceilings))
              and s.attempt = s.attempts_before_replay then
      (select ends
       from passed_ceiling(s.account_id, s.channel_id, s.contact_type, s.segments,
                           s.account_counted_at, s.channel_counted_at)) end
      is not null) is not true
  and not coalesce((
      select true from sends earlier
      where earlier.lane = s.lane and earlier.seq < s.seq
        and coalesce(earlier.finished_at, 'infinity') = 'infinity'
      limit 1), false)
order by s.priority, s.next_attempt_at, s.seq
limit $2;

-- with_id_or_name: Finds accounts, channels, deleted ones too, or flows, by their id or their name.
-- $1: the id or the name; $2: of what.
select id, account_id as "accountId" from channels where $2 = 'channel' and (id::text = $1 or name = $1)
union all
select id, account_id from flows where $2 = 'flow' and (id::text = $1 or name = $1)
union all
select id, id from accounts where $2 = 'account' and (id::text = $1 or name = $1);

-- workers_alive: Counts the workers with a current lease, for metrics.
select count(*)::int as count from workers where alive_until > clock_timestamp();
