-- Lets a role run the API, the workers, the admin process and the CLI, but only add to the audit and read it: it can't change a row,
-- date one back, or remove one before its time. Run it as the role that migrates, which owns the tables; again after each change of
-- audit_days:
--
--   psql "$OWNER_URL" -v app=outbound_app -v audit_days=365 -f ops/postgresql/audit-add-only.sql
--
-- app: a role that exists and owns nothing. audit_days: AUDIT_RETENTION_DAYS. To undo it, e.g. before an earlier release comes back:
--   grant insert, update, delete on audit to outbound_app;
\set ON_ERROR_STOP on

begin;
-- An owner, a member of one and a superuser can give itself every right.
select pg_has_role(:'app', relowner, 'member') as "isOwner" from pg_class where oid = 'public.audit'::regclass \gset
\if :isOwner
  do $$ begin
    raise exception 'The role app owns the audit, is a member of the role that does, or is a superuser: create one that owns nothing';
  end $$;
\endif

grant connect on database :"DBNAME" to :"app";
revoke create on schema public from public, :"app";
grant usage on schema public, drizzle to :"app";
grant select on all tables in schema drizzle to :"app";
grant select, insert, update, delete on all tables in schema public to :"app";
-- Tables that later migrations create.
alter default privileges in schema public grant select, insert, update, delete on tables to :"app";

revoke all on audit from public, :"app";
-- Not `at`, whose default is the time.
grant select, insert (id, by, via, address, action, target, details) on audit to :"app";
-- Anything but a number fails.
select format('create or replace function public.audit_kept_days() returns integer language sql stable as %L',
              format('select %s', :'audit_days'::int)) \gexec
grant execute on function finish_audit(uuid, jsonb), trim_audit(interval, integer) to :"app";
commit;
