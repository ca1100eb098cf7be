import {
  accountsNamed,
  createAccount,
  findAccount,
  type RateLimit,
  updateRateLimit,
} from '../../db/accounts/accounts.ts'
import { audited } from '../../db/audit/record.ts'
import { changedDetails } from '../core/accounts/audit-details.ts'
import type { Ceiling } from '../core/accounts/ceiling.ts'
import { ceilingDetails, changeCeilings } from './ceilings.ts'
import type { Making } from './making.ts'

export interface NewAccount {
  name: string
  rateLimit?: RateLimit | undefined
  ceiling?: Ceiling[] | 'none' | undefined
}

/** What is left out stays. */
export interface AccountChange extends Omit<NewAccount, 'name' | 'rateLimit'> {
  /** Null for the service's. */
  rateLimit?: RateLimit | null | undefined
}

/** Creates an account. The warnings name others of this name. */
export async function makeAccount(
  { db, actor }: Making,
  { name, rateLimit, ceiling }: NewAccount,
): Promise<{ accountId: string; warnings: string[] }> {
  const others = await accountsNamed(db, name)
  const details = { name, ...limitsOf({ rateLimit, ceiling }) }
  const accountId = await audited(
    db,
    async (transaction) => {
      const id = await createAccount(transaction, name, rateLimit)
      await changeCeilings(transaction, { ownerId: id, accountId: id }, ceiling)
      return id
    },
    (target) => ({ ...actor, action: 'account.create', target, details }),
  )
  return { accountId, warnings: others.map((id) => `The account ${id} has this name, too.`) }
}

/** Sets an account's own rate limit and ceilings. @returns whether there is such an account. */
export async function limitAccount(
  { db, actor }: Making,
  accountId: string,
  { rateLimit, ceiling }: AccountChange,
): Promise<boolean> {
  const change = await audited(
    db,
    async (transaction) => {
      const before = await findAccount(transaction, accountId)
      if (!before) return undefined
      if (rateLimit !== undefined) await updateRateLimit(transaction, accountId, rateLimit)
      await changeCeilings(transaction, { ownerId: accountId, accountId }, ceiling)
      return before
    },
    (before) =>
      before && {
        ...actor,
        action: 'account.update',
        target: accountId,
        details: changedDetails(
          {
            rateLimit: before.rateLimit ? rateLimitText(before.rateLimit) : null,
            ceilings: before.ceilings,
          },
          limitsOf({ rateLimit, ceiling }),
        ),
      },
  )
  return change !== undefined
}

const limitsOf = ({ rateLimit, ceiling }: AccountChange) => ({
  ...(rateLimit !== undefined && { rateLimit: rateLimit && rateLimitText(rateLimit) }),
  ...ceilingDetails(ceiling),
})

/** As it is typed. */
export const rateLimitText = ({ points, seconds }: RateLimit): string => `${points}/${seconds}`
