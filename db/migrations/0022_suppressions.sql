CREATE TABLE "suppression_checks" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "suppression_checks_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"account_id" uuid NOT NULL,
	"contact_value" text,
	"created_at" timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
	"due_at" timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "suppressions" (
	"id" uuid PRIMARY KEY NOT NULL,
	"account_id" uuid NOT NULL,
	"contact_type" text NOT NULL,
	"contact_value" text NOT NULL,
	"channel_id" uuid,
	"cause" text NOT NULL,
	"reason" text,
	"request_id" uuid,
	"created_at" timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
	"erased_at" timestamp with time zone,
	CONSTRAINT "suppressions_cause" CHECK (cause in ('manual', 'bounce', 'complaint', 'opt_out'))
);
--> statement-breakpoint
ALTER TABLE "callbacks" ADD COLUMN "status" text;--> statement-breakpoint
ALTER TABLE "callbacks" ADD COLUMN "delivery" text;--> statement-breakpoint
ALTER TABLE "channels" ADD COLUMN "auto_suppress" text[];--> statement-breakpoint
CREATE INDEX "suppression_checks_due" ON "suppression_checks" USING btree ("due_at");--> statement-breakpoint
CREATE UNIQUE INDEX "suppressions_of_contact" ON "suppressions" USING btree ("account_id","contact_value",coalesce(channel_id, '00000000-0000-0000-0000-000000000000'));--> statement-breakpoint
CREATE INDEX "suppressions_of_account" ON "suppressions" USING btree ("account_id","id");--> statement-breakpoint
CREATE INDEX "suppressions_erased" ON "suppressions" USING btree ("erased_at") WHERE erased_at is not null;