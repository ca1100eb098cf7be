import { deleteTemplate, setTemplate } from '../../../db/accounts/templates.ts'
import { audited } from '../../../db/audit/record.ts'
import { describeIssue, describeIssues } from '../../core/requests/issues.ts'
import { providerOf } from '../../providers/known.ts'
import type { Making } from '../making.ts'
import { SetupFault } from '../setup-fault.ts'

/** A definition as the provider needs it. @throws SetupFault if it isn't one. */
export function checkedDefinition(provider: string, given: unknown): object {
  const { success, data, error } = providerOf(provider).template.definition.safeParse(given, {
    error: describeIssue,
  })
  if (success) return data as object
  throw new SetupFault('definition', describeIssues(error.issues))
}

export interface NewTemplate {
  channelId: string
  provider: string
  name: string
  definition: unknown
}

/** Registers a template with a channel, or replaces one of its name. @throws SetupFault if its definition can't be used. */
export async function registerTemplate(
  { db, actor }: Making,
  { channelId, provider, name, definition }: NewTemplate,
): Promise<void> {
  const checked = checkedDefinition(provider, definition)
  await audited(
    db,
    (transaction) => setTemplate(transaction, { channelId, name, definition: checked }),
    () => ({ ...actor, action: 'template.set', target: channelId, details: { name } }),
  )
}

/** Removes a template: sends that were accepted with it keep its text. @returns whether it was there. */
export async function endTemplate({ db, actor }: Making, channelId: string, name: string): Promise<boolean> {
  return await audited(
    db,
    (transaction) => deleteTemplate(transaction, channelId, name),
    (wasThere) => wasThere && { ...actor, action: 'template.remove', target: channelId, details: { name } },
  )
}
