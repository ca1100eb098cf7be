import { withIdOrName } from '../../../db/accounts/names.ts'
import type { Database } from '../../../db/client.ts'
import type { ListForm } from './list-form.ts'

/** The account and the channel of a list, by their ids. */
export interface ResolvedList {
  accountId: string | undefined
  channelId: string | undefined
  /** The account that the list names, or else that of its channel. */
  ownerId: string | undefined
}

/** Finds the account and the channel of a list, which may be given by their names. `issues` has a sentence for each that isn't one. */
export async function resolveList(
  db: Database,
  { accountId, channelId }: Pick<ListForm, 'accountId' | 'channelId'>,
): Promise<ResolvedList | { issues: string[] }> {
  const account = accountId === undefined ? undefined : await theOne(db, 'account', accountId)
  const channel = channelId === undefined ? undefined : await theOne(db, 'channel', channelId)
  const issues = [account, channel].flatMap((found) => (found && 'issue' in found ? [found.issue] : []))
  if (issues.length > 0) return { issues }
  const [ofAccount, ofChannel] = [account, channel].map((found) =>
    found && 'id' in found ? found : undefined,
  )
  return {
    accountId: ofAccount?.id,
    channelId: ofChannel?.id,
    ownerId: ofAccount?.id ?? ofChannel?.accountId,
  }
}

async function theOne(
  db: Database,
  of: 'account' | 'channel',
  idOrName: string,
): Promise<{ id: string; accountId: string } | { issue: string }> {
  const [found, ...others] = await withIdOrName(db, of, idOrName)
  const name = of === 'account' ? 'Account' : 'Channel'
  if (!found) return { issue: `${name}: no ${of} has this id or name.` }
  if (others.length === 0) return found
  const ids = [found, ...others].map(({ id }) => id).join(', ')
  return { issue: `${name}: several ${of}s have this name. Give the id of one: ${ids}.` }
}
