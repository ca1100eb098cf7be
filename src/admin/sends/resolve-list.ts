import { type Named, withIdOrName } from '../../../db/accounts/names.ts'
import type { Database } from '../../../db/connection/client.ts'

/** The account, the channel and the flow of a list, by their ids. */
export interface ResolvedList {
  accountId: string | undefined
  channelId: string | undefined
  flowId: string | undefined
  /** The account that the list names, or else that of its channel or its flow. */
  ownerId: string | undefined
}

type Found = { id: string; accountId: string }

/**
 * Finds the account, the channel and the flow of a list, which may be given by their names. `issues` has a sentence for each that
 * isn't one: an empty list would look as if there were no sends.
 */
export async function resolveList(
  db: Database,
  form: { accountId?: string | undefined; channelId?: string | undefined; flowId?: string | undefined },
): Promise<ResolvedList | { issues: string[] }> {
  const account = await theOne(db, 'account', form.accountId)
  const ownerId = account && 'id' in account ? account.id : undefined
  const channel = await theOne(db, 'channel', form.channelId, ownerId)
  const flow = await theOne(db, 'flow', form.flowId, ownerId)
  const all = [account, channel, flow]
  const issues = all.flatMap((found) => (found && 'issue' in found ? [found.issue] : []))
  if (issues.length > 0) return { issues }
  const [ofAccount, ofChannel, ofFlow] = all.map((found) => (found && 'id' in found ? found : undefined))
  return {
    accountId: ofAccount?.id,
    channelId: ofChannel?.id,
    flowId: ofFlow?.id,
    ownerId: (ofAccount ?? ofChannel ?? ofFlow)?.accountId,
  }
}

/** @param ownerId the account of the list: names of other accounts' channels and flows aren't meant. */
async function theOne(
  db: Database,
  of: Named,
  idOrName: string | undefined,
  ownerId?: string,
): Promise<Found | { issue: string } | undefined> {
  if (idOrName === undefined) return undefined
  const anywhere = await withIdOrName(db, of, idOrName)
  const [found, ...others] = anywhere.filter(({ accountId }) => !ownerId || accountId === ownerId)
  const name = `${of.charAt(0).toUpperCase()}${of.slice(1)}`
  if (!found && anywhere.length > 0)
    return { issue: `${name}: the account has no ${of} with this id or name.` }
  if (!found) return { issue: `${name}: no ${of} has this id or name.` }
  if (others.length === 0) return found
  const ids = [found, ...others].map(({ id }) => id).join(', ')
  return { issue: `${name}: several ${of}s have this name. Give the id of one: ${ids}.` }
}
