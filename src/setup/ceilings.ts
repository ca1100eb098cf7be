import { type CeilingOwner, setCeilings } from '../../db/ceilings/ceilings.ts'
import type { Transaction } from '../../db/connection/client.ts'
import { type Ceiling, ceilingText } from '../core/accounts/ceiling.ts'

/** What is asked for; `none` takes them off, and what is left out stays. */
type Asked = Ceiling[] | 'none' | undefined

/** Sets the ceilings of an account or a channel, if some were asked for. */
export async function changeCeilings(
  transaction: Transaction,
  owner: CeilingOwner,
  asked: Asked,
): Promise<void> {
  if (asked !== undefined) await setCeilings(transaction, owner, asked === 'none' ? [] : asked)
}

/** For the audit, as `ceilingsOf` reads them. */
export const ceilingDetails = (asked: Asked): { ceilings?: string[] | null } =>
  asked === undefined ? {} : { ceilings: asked === 'none' ? null : asked.map(ceilingText) }
