CREATE TABLE "early_receipts" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "early_receipts_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"channel_id" uuid NOT NULL,
	"message_key" uuid NOT NULL,
	"receipt" jsonb NOT NULL,
	"received_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "message_ids" (
	"channel_id" uuid NOT NULL,
	"message_key" uuid NOT NULL,
	"request_id" uuid NOT NULL,
	"recorded_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "message_ids_channel_id_message_key_pk" PRIMARY KEY("channel_id","message_key")
);
--> statement-breakpoint
CREATE INDEX "message_ids_by_time" ON "message_ids" USING btree ("recorded_at");