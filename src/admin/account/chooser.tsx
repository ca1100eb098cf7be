import { tryGetContext } from 'hono/context-storage'
import type { AdminEnv } from '../context.ts'
import { accountPage } from '../page/menu.ts'

/** Chooses the account that all pages show. Its name is completed while it is typed (console.js); an empty one means all accounts. */
export function AccountChooser({ at, id }: { at: string | undefined; id: string }) {
  const chosen = tryGetContext<AdminEnv>()?.var.account
  const page = accountPage(at)
  return (
    <form class="account" method="get" action={page}>
      <label class="unseen" for={id}>
        Account
      </label>
      <input
        id={id}
        name="account"
        type="text"
        list={`${id}-names`}
        value={chosen?.name ?? ''}
        title={chosen?.name}
        placeholder="All accounts"
        autocomplete="off"
      />
      <datalist id={`${id}-names`} />
      {chosen && (
        <a class="clear" href={`${page}?account=`} aria-label="Show all accounts" title="Show all accounts">
          ×
        </a>
      )}
    </form>
  )
}
