-- Processes of the previous release still use the table by its old name "turns".
ALTER TABLE "turns" RENAME TO "permits";--> statement-breakpoint
ALTER INDEX "turns_of_channel" RENAME TO "permits_of_channel";--> statement-breakpoint
ALTER INDEX "sends_of_places" RENAME TO "sends_in_quota";--> statement-breakpoint
CREATE VIEW "turns" AS SELECT * FROM "permits";
