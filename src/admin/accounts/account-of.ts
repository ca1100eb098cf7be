import type { Context } from 'hono'
import { findAccount } from '../../../db/accounts/accounts.ts'
import { canBeRecordId } from '../../core/requests/record-id.ts'
import type { AdminEnv, AdminRuntime } from '../context.ts'
import { PageError } from '../errors.tsx'

/** The account that the path of a page names. */
export async function accountOf(c: Context<AdminEnv>, { db }: Pick<AdminRuntime, 'db'>) {
  const id = c.req.param('accountId') ?? ''
  const account = canBeRecordId(id) ? await findAccount(db, id) : undefined
  if (account) return account
  throw new PageError(404, 'There is no such account.')
}
