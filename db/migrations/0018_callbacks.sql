CREATE TABLE "callbacks" (
	"endpoint_id" uuid NOT NULL,
	"request_id" uuid NOT NULL,
	"sequence" integer NOT NULL,
	"type" text NOT NULL,
	"created_at" timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
	"attempts" integer DEFAULT 0 NOT NULL,
	"conversation_id" uuid,
	"provider_at" text,
	"provider_code" text,
	"next_try_at" timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
	"finished_at" timestamp with time zone,
	"given_up" boolean DEFAULT false NOT NULL,
	"tried" integer DEFAULT 0 NOT NULL,
	"tried_before_resend" integer DEFAULT 0 NOT NULL,
	"tries" jsonb DEFAULT '[]'::jsonb NOT NULL,
	CONSTRAINT "callbacks_endpoint_id_request_id_sequence_pk" PRIMARY KEY("endpoint_id","request_id","sequence"),
	CONSTRAINT "callbacks_given_up" CHECK (not given_up or finished_at is not null),
	CONSTRAINT "callbacks_tries" CHECK (tried_before_resend >= 0 and tried >= tried_before_resend)
);
--> statement-breakpoint
CREATE TABLE "endpoints" (
	"id" uuid PRIMARY KEY NOT NULL,
	"account_id" uuid NOT NULL,
	"url" text NOT NULL,
	"events" text[],
	"sealed_secret" text NOT NULL,
	"sealed_former_secret" text,
	"former_until" timestamp with time zone,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"disabled_at" timestamp with time zone,
	"disabled_reason" text,
	"answered_at" timestamp with time zone,
	"failing_since" timestamp with time zone,
	"failed_at" timestamp with time zone,
	"breaker_open_until" timestamp with time zone,
	"breaker_opened_at" timestamp with time zone,
	"breaker_openings" integer DEFAULT 0 NOT NULL,
	"worker" text,
	"claim_id" uuid,
	"claimed_at" timestamp with time zone
);
--> statement-breakpoint
ALTER TABLE "sends" ADD COLUMN "change_number" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "endpoints" ADD CONSTRAINT "endpoints_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."accounts"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "callbacks_waiting" ON "callbacks" USING btree ("endpoint_id","next_try_at") WHERE finished_at is null;--> statement-breakpoint
CREATE INDEX "endpoints_of_account" ON "endpoints" USING btree ("account_id");