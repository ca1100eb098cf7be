import { and, asc, isNull, sql } from 'drizzle-orm'
import type { Database } from '../connection/client.ts'
import { channels } from '../schema.ts'

/** Limit of the channels that a process reads at its start. */
const maxRead = 1000

/** The channels that may call in plain text, by their configs; whether they do depends on their hosts (`plainWarning`). */
export const findPlainChannels = (db: Database) =>
  db
    .select({ channelId: channels.id, name: channels.name, shownConfig: channels.shownConfig })
    .from(channels)
    .where(
      and(
        isNull(channels.deletedAt),
        sql`(${channels.shownConfig}->>'url' like 'http:%' or ${channels.shownConfig}->>'baseUrl' like 'http:%'
             or ${channels.shownConfig}->>'requireTls' = 'false')`,
      ),
    )
    .orderBy(asc(channels.createdAt))
    .limit(maxRead)
