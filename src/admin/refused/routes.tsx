import { withIdOrName } from '../../../db/accounts/names.ts'
import { pageOfRefused } from '../../../db/audit/refused.ts'
import { isStorable } from '../../core/requests/characters.ts'
import { canBeRecordId } from '../../core/requests/record-id.ts'
import { type AdminApp, type AdminRuntime, factory } from '../context.ts'
import { allow } from '../people/allow.ts'
import { type RefusedInput, RefusedPage, statuses } from './refused-page.tsx'

const rowsOnPage = 50

/** The requests of clients that were refused in the last day (docs/how-to/see-refused-requests.md). */
export function refused({ db }: AdminRuntime): AdminApp {
  const app: AdminApp = factory.createApp()

  app.get('/', allow('support'), async (c) => {
    const { account, status, before } = c.req.query()
    const input: RefusedInput = { account: account?.trim(), status }
    if (status && !statuses.some(([known]) => known === status))
      return c.html(<RefusedPage input={input} issue="Answer: choose one from the list." />, 400)
    if (before && !canBeRecordId(before))
      return c.html(<RefusedPage input={input} issue="This page no longer exists. Start again." />, 400)
    const accountIds = input.account ? await idsOf(input.account) : undefined
    if (accountIds?.length === 0)
      return c.html(<RefusedPage input={input} issue="Account: no account has this id or name." />, 404)
    const filters = { accountIds, status: status ? Number(status) : undefined, before: before || undefined }
    const { items, next } = await pageOfRefused(db, filters, rowsOnPage)
    return c.html(<RefusedPage input={input} requests={items} next={next} />)
  })

  const idsOf = async (account: string) => {
    const found = isStorable(account) ? await withIdOrName(db, 'account', account) : []
    return found.map(({ id }) => id)
  }
  return app
}
