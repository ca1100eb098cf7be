CREATE TABLE "people_since" (
	"only_row" boolean PRIMARY KEY DEFAULT true NOT NULL,
	"since" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
-- The previous release adds people, too, and doesn't know the table.
CREATE FUNCTION "note_people"() RETURNS trigger LANGUAGE plpgsql AS $$
begin
  insert into people_since default values on conflict do nothing;
  return null;
end
$$;--> statement-breakpoint
CREATE TRIGGER "note_people" AFTER INSERT ON "people" FOR EACH STATEMENT EXECUTE FUNCTION "note_people"();--> statement-breakpoint
INSERT INTO "people_since" ("since") SELECT min(created_at) FROM "people" HAVING count(*) > 0;
