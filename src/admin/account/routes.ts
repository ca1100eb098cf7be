import { accountsNamedLike } from '../../../db/overview/accounts.ts'
import { isStorable } from '../../core/requests/characters.ts'
import { type AdminApp, type AdminRuntime, factory } from '../context.ts'
import { allow } from '../people/allow.ts'

const mostOffered = 10

/** The names that complete a part of one, for the script of the pages. */
export function accountNames({ db }: Pick<AdminRuntime, 'db'>): AdminApp {
  const app: AdminApp = factory.createApp()
  app.get('/accounts.json', allow('reader'), async (c) => {
    const part = c.req.query('part')?.trim() ?? ''
    const found = part !== '' && isStorable(part) ? await accountsNamedLike(db, part, mostOffered) : []
    return c.json(found.map(({ name }) => name))
  })
  return app
}
