import { desc, eq, lt, sql } from 'drizzle-orm'
import { v7 as uuidv7 } from 'uuid'
import type { Database } from '../client.ts'
import { channels, sandboxMessages } from '../schema.ts'

type NewMessage = Omit<typeof sandboxMessages.$inferInsert, 'id' | 'receivedAt'>

/** @returns the id that the sandbox gives the message. */
export async function keepSandboxMessage(db: Database, message: NewMessage): Promise<string> {
  const id = uuidv7()
  await db.insert(sandboxMessages).values({ id, ...message })
  return id
}

export type ReceivedMessage = Awaited<ReturnType<typeof listSandboxMessages>>[number]

/** By which the type of a file is told. */
const headBytes = 4100

/** What the sandbox received, the newest first, with no more of its media than tells its type. */
export function listSandboxMessages(db: Database, page: { before?: string | undefined; limit: number }) {
  const { mediaContent } = sandboxMessages
  return db
    .select({
      id: sandboxMessages.id,
      requestId: sandboxMessages.requestId,
      channelName: channels.name,
      contactType: sandboxMessages.contactType,
      contactValue: sandboxMessages.contactValue,
      contactName: sandboxMessages.contactName,
      message: sandboxMessages.message,
      mediaHead: sql<Buffer | null>`substring(${mediaContent} from 1 for ${sql.raw(String(headBytes))})`,
      receivedAt: sandboxMessages.receivedAt,
    })
    .from(sandboxMessages)
    .innerJoin(channels, eq(channels.id, sandboxMessages.channelId))
    .where(page.before === undefined ? undefined : lt(sandboxMessages.id, page.before))
    .orderBy(desc(sandboxMessages.id))
    .limit(page.limit)
}

/** The media of a message that the sandbox received, where it came with it and is still kept. */
export async function findSandboxMedia(db: Database, id: string) {
  const [row] = await db
    .select({ content: sandboxMessages.mediaContent, message: sandboxMessages.message })
    .from(sandboxMessages)
    .where(eq(sandboxMessages.id, id))
  if (!row?.content || row.message.type !== 'media') return undefined
  return { content: row.content, description: row.message.media }
}
