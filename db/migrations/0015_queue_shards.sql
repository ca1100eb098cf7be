CREATE TABLE "queue_shards" (
	"only_row" boolean PRIMARY KEY DEFAULT true NOT NULL,
	"count" integer NOT NULL,
	"previous" integer
);
