import type { Context } from 'hono'
import { deleteCookie, getCookie, setCookie } from 'hono/cookie'
import { type FoundAccount, findAccounts } from '../../../db/overview/accounts.ts'
import { isStorable } from '../../core/requests/characters.ts'
import { type AdminEnv, type AdminRuntime, factory, isOverTls } from '../context.ts'
import { PageError } from '../errors.tsx'
import { Layout } from '../page/layout.tsx'

const cookie = 'account'

/** A person chooses among at most these: a longer text finds others. */
const mostShown = 50

/**
 * Sets the account of which pages show what there is: the one that the address names, which is then kept in a cookie, or the one
 * that was chosen before. An empty name means all accounts again. A name that several accounts have leads to a choice.
 */
export function chosenAccount({ db }: Pick<AdminRuntime, 'db'>) {
  return factory.createMiddleware(async (c, next) => {
    if (c.req.method !== 'GET' && c.req.method !== 'HEAD') return next()
    const named = (c.req.query('account') ?? c.req.query('accountId'))?.trim()
    if (named === '') deleteCookie(c, cookie)
    else if (named !== undefined) {
      const [first, ...others] = isStorable(named) ? await findAccounts(db, named, mostShown) : []
      if (!first) throw new PageError(404, 'Account: no account has this id or name, in whole or in part.')
      if (others.length > 0) return c.html(<WhichPage c={c} typed={named} found={[first, ...others]} />)
      c.set('account', first)
      setCookie(c, cookie, first.accountId, { httpOnly: true, sameSite: 'Lax', secure: isOverTls(c) })
    } else {
      const kept = getCookie(c, cookie)
      const [account] = kept && isStorable(kept) ? await findAccounts(db, kept, 1) : []
      if (account?.accountId === kept) c.set('account', account)
    }
    await next()
  })
}

interface WhichPageProps {
  c: Context<AdminEnv>
  typed: string
  found: readonly FoundAccount[]
}

function WhichPage({ c, typed, found }: WhichPageProps) {
  const asked = new URL(c.req.url)
  const field = c.req.query('account') === undefined ? 'accountId' : 'account'
  const linkTo = (accountId: string) => {
    const query = new URLSearchParams(asked.search)
    query.set(field, accountId)
    return `${asked.pathname}?${query}`
  }
  return (
    <Layout title="Which account?">
      <h1>Which account?</h1>
      <section>
        <p>
          {found.length === mostShown ? `At least ${mostShown}` : found.length} accounts have “{typed}” in
          their name.
        </p>
        <ul>
          {found.map(({ accountId, name }) => (
            <li>
              <a href={linkTo(accountId)}>{name}</a> <small class="id">{accountId}</small>
            </li>
          ))}
        </ul>
      </section>
    </Layout>
  )
}
