import { createFlow } from '../../db/accounts/flows.ts'
import { audited } from '../../db/audit/record.ts'
import type { Making } from './making.ts'

/** Creates a flow. @returns its id. */
export async function makeFlow({ db, actor }: Making, accountId: string, name: string): Promise<string> {
  return await audited(
    db,
    (transaction) => createFlow(transaction, accountId, name),
    (target) => ({ ...actor, action: 'flow.create', target, details: { accountId, name } }),
  )
}
