import { withIdOrName } from '../../../db/accounts/names.ts'
import type { Database } from '../../../db/connection/client.ts'
import { PageError } from '../errors.tsx'

/** Refuses a filter by an account that there isn't: an empty list would look as if the account had nothing. */
export async function knownAccount(db: Database, idOrName: string | undefined): Promise<void> {
  if (idOrName === undefined || (await withIdOrName(db, 'account', idOrName)).length > 0) return
  throw new PageError(404, 'Account: no account has this id or name.')
}
