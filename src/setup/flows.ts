import { createFlow, deleteFlow } from '../../db/accounts/flows.ts'
import { unfinishedOfFlow } from '../../db/accounts/installation.ts'
import { audited, recordAudit } from '../../db/audit/record.ts'
import { inTransaction } from '../../db/connection/client.ts'
import type { Making } from './making.ts'

/** Creates a flow. @returns its id. */
export async function makeFlow({ db, actor }: Making, accountId: string, name: string): Promise<string> {
  return await audited(
    db,
    (transaction) => createFlow(transaction, accountId, name),
    (target) => ({ ...actor, action: 'flow.create', target, details: { accountId, name } }),
  )
}

/**
 * Deletes a flow; its finished sends keep its id.
 *
 * @returns undefined if there is no such flow; how many of its sends haven't ended, if there are any: then it stays.
 */
export async function endFlow(
  { db, actor }: Making,
  flowId: string,
): Promise<'deleted' | { unfinished: number } | undefined> {
  return await inTransaction(db, async (transaction) => {
    const unfinished = await unfinishedOfFlow(transaction, flowId)
    if (unfinished > 0) return { unfinished }
    const deleted = await deleteFlow(transaction, flowId)
    if (!deleted) return undefined
    const details = { accountId: deleted.accountId, name: deleted.name }
    await recordAudit(transaction, { ...actor, action: 'flow.delete', target: flowId, details })
    return 'deleted'
  })
}
