CREATE INDEX IF NOT EXISTS "callbacks_by_time" ON "callbacks" USING btree ("endpoint_id","created_at","request_id","sequence") WHERE coalesce(sequence, 0) >= 0;--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "channels_of_account" ON "channels" USING btree ("account_id");--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "flows_of_account" ON "flows" USING btree ("account_id");