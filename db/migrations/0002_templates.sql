CREATE TABLE "templates" (
	"channel_id" uuid NOT NULL,
	"name" text NOT NULL,
	"definition" json NOT NULL,
	"set_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "templates_channel_id_name_pk" PRIMARY KEY("channel_id","name")
);
--> statement-breakpoint
ALTER TABLE "templates" ADD CONSTRAINT "templates_channel_id_channels_id_fk" FOREIGN KEY ("channel_id") REFERENCES "public"."channels"("id") ON DELETE no action ON UPDATE no action;