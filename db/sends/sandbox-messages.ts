import { desc, eq, lt, sql } from 'drizzle-orm'
import { v7 as uuidv7 } from 'uuid'
import { type KeptMessage, readKeptMessage } from '../../src/core/messages/kept-message.ts'
import { type Contents, contentsIn } from '../../src/core/messages/stored-content.ts'
import type { Database } from '../connection/client.ts'
import { channels, sandboxMessages } from '../schema.ts'
import { type Count, mostCounted } from './list-count.ts'

type NewMessage = Omit<typeof sandboxMessages.$inferInsert, 'id' | 'receivedAt'>

/** @returns the sandbox's message id. */
export async function keepSandboxMessage(db: Database, message: NewMessage): Promise<string> {
  const id = uuidv7()
  await db.insert(sandboxMessages).values({ id, ...message })
  return id
}

export type ReceivedMessage = Awaited<ReturnType<typeof listSandboxMessages>>[number]

/** Enough of a file to recognise its type. */
const headBytes = 4100

/** The messages that the sandbox received, newest first, with only the head of their media. */
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

/** How many messages the sandbox received that are kept. */
export async function countSandboxMessages(db: Database): Promise<Count> {
  const first = db
    .select({ id: sandboxMessages.id })
    .from(sandboxMessages)
    .limit(mostCounted + 1)
  const count = await db.$count(first)
  return { count, isMore: count > mostCounted }
}

/** A message that the sandbox received, without its media; undefined if there is none, or it can't be read. */
export async function findSandboxMessage(db: Database, id: string): Promise<KeptMessage | undefined> {
  const { message } = sandboxMessages
  const [row] = await db.select({ message }).from(sandboxMessages).where(eq(sandboxMessages.id, id))
  return readKeptMessage(row?.message)
}

/** A message that the sandbox received, with its files; a file is undefined if it came by a link, or is no longer kept. */
export async function findSandboxContents(
  db: Database,
  id: string,
): Promise<({ message: KeptMessage } & Contents) | undefined> {
  const [row] = await db
    .select({ content: sandboxMessages.mediaContent, message: sandboxMessages.message })
    .from(sandboxMessages)
    .where(eq(sandboxMessages.id, id))
  const message = readKeptMessage(row?.message)
  return message && { message, ...contentsIn(message, row?.content ?? undefined) }
}
