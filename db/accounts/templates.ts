import { and, asc, eq, sql } from 'drizzle-orm'
import type { Database, Transaction } from '../connection/client.ts'
import { templates } from '../schema.ts'

/** Registers a template with a channel; replaces one of the same name. */
export async function setTemplate(
  db: Database | Transaction,
  template: { channelId: string; name: string; definition: object },
): Promise<void> {
  const { definition } = template
  await db
    .insert(templates)
    .values(template)
    .onConflictDoUpdate({
      target: [templates.channelId, templates.name],
      set: { definition, setAt: sql`now()` },
    })
}

/** @returns whether it was there. */
export async function deleteTemplate(
  db: Database | Transaction,
  channelId: string,
  name: string,
): Promise<boolean> {
  const { rowCount } = await db
    .delete(templates)
    .where(and(eq(templates.channelId, channelId), eq(templates.name, name)))
  return rowCount === 1
}

/** A channel's templates, by name. */
export function listTemplates(db: Database, channelId: string) {
  return db
    .select({ name: templates.name, definition: templates.definition, setAt: templates.setAt })
    .from(templates)
    .where(eq(templates.channelId, channelId))
    .orderBy(asc(templates.name))
}

/** The definition; undefined if the channel has no template of that name. */
export async function findTemplate(
  db: Database,
  channelId: string,
  name: string,
): Promise<object | undefined> {
  const [row] = await db
    .select({ definition: templates.definition })
    .from(templates)
    .where(and(eq(templates.channelId, channelId), eq(templates.name, name)))
  return row?.definition
}
