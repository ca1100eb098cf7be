CREATE TABLE "audit" (
	"id" uuid PRIMARY KEY NOT NULL,
	"at" timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
	"by" text NOT NULL,
	"via" text NOT NULL,
	"address" text,
	"action" text NOT NULL,
	"target" text,
	"details" jsonb DEFAULT '{}'::jsonb NOT NULL
);
--> statement-breakpoint
CREATE TABLE "refused_requests" (
	"request_id" uuid PRIMARY KEY NOT NULL,
	"account_id" uuid NOT NULL,
	"key_prefix" text NOT NULL,
	"at" timestamp with time zone NOT NULL,
	"status" integer NOT NULL,
	"message" text NOT NULL,
	"route" text NOT NULL,
	"fields" text[] NOT NULL
);
--> statement-breakpoint
CREATE INDEX "audit_by_time" ON "audit" USING btree ("at","id");--> statement-breakpoint
CREATE INDEX "audit_of_target" ON "audit" USING btree ("target","at","id");--> statement-breakpoint
CREATE INDEX "audit_of_person" ON "audit" USING btree ("by","at","id");--> statement-breakpoint
CREATE INDEX "refused_requests_of_account" ON "refused_requests" USING btree ("account_id","request_id");