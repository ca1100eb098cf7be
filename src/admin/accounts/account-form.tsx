import { TextField } from '../page/fields.tsx'
import { Layout } from '../page/layout.tsx'
import { ceilingHint } from '../page/setting-words.ts'
import type { FieldIssues, Typed } from '../page/typed-form.ts'

/** Asks for a new account, as `outbound account create` does. */
export function NewAccountPage({ typed = {}, issues = {} }: { typed?: Typed; issues?: FieldIssues }) {
  return (
    <Layout title="New account" at="/accounts">
      <h1>New account</h1>
      <section aria-label="New account">
        <form method="post" action="/accounts/new" class="fields one">
          <TextField
            name="name"
            label="Name"
            value={typed.name}
            hint="Shown in lists, such as the client's name"
            issue={issues.name}
            required
          />
          <TextField
            name="rateLimit"
            label="Rate limit"
            value={typed.rateLimit}
            hint="Requests in a number of seconds, such as 600/60. Empty: the limit of the service holds"
            issue={issues.rateLimit}
          />
          <TextField
            name="ceiling"
            label="Ceilings"
            value={typed.ceiling}
            hint={ceilingHint}
            issue={issues.ceiling}
          />
          <p class="row">
            <button type="submit" class="main">
              Create account
            </button>
            <a class="button" href="/accounts">
              Leave it
            </a>
          </p>
        </form>
      </section>
    </Layout>
  )
}
