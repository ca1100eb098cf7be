import { countRefused, pageOfRefused } from '../../../db/audit/refused.ts'
import { canBeRecordId } from '../../core/requests/record-id.ts'
import { type AdminApp, type AdminRuntime, factory } from '../context.ts'
import { allow } from '../people/allow.ts'
import { type RefusedInput, RefusedPage, statuses } from './refused-page.tsx'

const rowsOnPage = 50

/** The requests of clients that were refused in the last day (docs/how-to/see-refused-requests.md). */
export function refused({ db }: AdminRuntime): AdminApp {
  const app: AdminApp = factory.createApp()

  app.get('/', allow('reader'), async (c) => {
    const { status, before } = c.req.query()
    const input: RefusedInput = { status }
    const account = c.get('account')
    if (status && !statuses.some(([known]) => known === status))
      return c.html(<RefusedPage input={input} issue="Answer: choose one from the list." />, 400)
    if (before && !canBeRecordId(before))
      return c.html(<RefusedPage input={input} issue="This page no longer exists. Start again." />, 400)
    const accountIds = account && [account.accountId]
    const filters = { accountIds, status: status ? Number(status) : undefined, before: before || undefined }
    const [{ items, next }, total] = await Promise.all([
      pageOfRefused(db, filters, rowsOnPage),
      countRefused(db, filters),
    ])
    return c.html(<RefusedPage {...{ input, total, next }} requests={items} />)
  })
  return app
}
