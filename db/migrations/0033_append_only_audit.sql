CREATE INDEX IF NOT EXISTS "audit_of_contact" ON "audit" USING btree ((coalesce(audit.details->>'conversationId', audit.details->>'requestId', audit.details->>'suppressionId')),"at","id");--> statement-breakpoint
-- By hand. What a role that may only add to the audit needs beyond that (ops/postgresql/audit-add-only.sql), with the rights of the role
-- that migrates: to add the numbers of a change to its row of the last day, where none is, and to remove old rows. How many days they are
-- kept, whatever is asked, is said by a function, because only its owner can replace it: a setting could be changed by any role.
CREATE OR REPLACE FUNCTION "finish_audit"(row_id uuid, result jsonb) RETURNS void LANGUAGE sql SECURITY DEFINER
  SET search_path = pg_catalog, pg_temp AS $$
  update public.audit set details = details || result
  where id = row_id and at > now() - interval '1 day'
    and not details ?| array(select key from jsonb_each(result))
    and not exists (select from jsonb_each(result) where jsonb_typeof(value) <> 'number')
$$;--> statement-breakpoint
CREATE OR REPLACE FUNCTION "audit_kept_days"() RETURNS integer LANGUAGE sql STABLE AS 'select 1';--> statement-breakpoint
CREATE OR REPLACE FUNCTION "trim_audit"(kept interval, most integer) RETURNS integer LANGUAGE sql SECURITY DEFINER
  SET search_path = pg_catalog, pg_temp AS $$
  with old as materialized (
    select id from public.audit
    where at < now() - greatest(kept, public.audit_kept_days() * interval '1 day')
    order by at limit most
    for update skip locked),
  trimmed as (delete from public.audit a using old where a.id = old.id returning 1)
  select count(*)::int from trimmed
$$;--> statement-breakpoint
REVOKE ALL ON FUNCTION "finish_audit", "trim_audit" FROM PUBLIC;--> statement-breakpoint
-- Roles that may delete rows already may do all of that.
DO $$
declare
  holder text;
begin
  for holder in
    select case grantee when 0 then 'public' else grantee::regrole::text end
    from pg_class cross join aclexplode(relacl)
    where oid = 'public.audit'::regclass and privilege_type = 'DELETE' and grantee <> relowner
  loop
    execute format('grant execute on function public.finish_audit, public.trim_audit to %s', holder);
  end loop;
end
$$;
