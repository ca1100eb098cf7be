CREATE TABLE "provider_files" (
	"name" text PRIMARY KEY NOT NULL,
	"content" text NOT NULL,
	"hash" text NOT NULL,
	"set_at" timestamp with time zone DEFAULT now() NOT NULL
);
