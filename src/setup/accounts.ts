import {
  accountsNamed,
  createAccount,
  findAccount,
  type RateLimit,
  updateRateLimit,
} from '../../db/accounts/accounts.ts'
import { audited } from '../../db/audit/record.ts'
import { changedDetails } from '../core/accounts/audit-details.ts'
import type { Making } from './making.ts'

export interface NewAccount {
  name: string
  rateLimit?: RateLimit | undefined
}

/** Creates an account. The warnings name others of this name. */
export async function makeAccount(
  { db, actor }: Making,
  { name, rateLimit }: NewAccount,
): Promise<{ accountId: string; warnings: string[] }> {
  const others = await accountsNamed(db, name)
  const details = { name, ...(rateLimit && { rateLimit: rateLimitText(rateLimit) }) }
  const accountId = await audited(
    db,
    (transaction) => createAccount(transaction, name, rateLimit),
    (target) => ({ ...actor, action: 'account.create', target, details }),
  )
  return { accountId, warnings: others.map((id) => `The account ${id} has this name, too.`) }
}

/** Sets an account's own rate limit. @returns whether there is such an account. */
export async function limitAccount(
  { db, actor }: Making,
  accountId: string,
  rateLimit: RateLimit,
): Promise<boolean> {
  const change = await audited(
    db,
    async (transaction) => {
      const before = await findAccount(transaction, accountId)
      if (before) await updateRateLimit(transaction, accountId, rateLimit)
      return before
    },
    (before) =>
      before && {
        ...actor,
        action: 'account.update',
        target: accountId,
        details: changedDetails(
          { rateLimit: before.rateLimit ? rateLimitText(before.rateLimit) : null },
          { rateLimit: rateLimitText(rateLimit) },
        ),
      },
  )
  return change !== undefined
}

/** As it is typed. */
export const rateLimitText = ({ points, seconds }: RateLimit): string => `${points}/${seconds}`
