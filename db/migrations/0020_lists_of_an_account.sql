CREATE INDEX IF NOT EXISTS "callbacks_by_time" ON "callbacks" USING btree ("endpoint_id","created_at");--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "channels_of_account" ON "channels" USING btree ("account_id");--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "flows_of_account" ON "flows" USING btree ("account_id");