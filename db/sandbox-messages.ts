import { v7 as uuidv7 } from 'uuid'
import type { Database } from './client.ts'
import { sandboxMessages } from './schema.ts'

type NewMessage = Omit<typeof sandboxMessages.$inferInsert, 'id' | 'receivedAt'>

/** @returns the id that the sandbox gives the message. */
export async function keepSandboxMessage(db: Database, message: NewMessage): Promise<string> {
  const id = uuidv7()
  await db.insert(sandboxMessages).values({ id, ...message })
  return id
}
