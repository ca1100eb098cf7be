import type { Context } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { audited } from '../../../db/audit/record.ts'
import { endSession } from '../../../db/people/sessions.ts'
import { pageActor } from '../audit/page-actor.ts'
import { type AdminApp, type AdminEnv, type AdminRuntime, factory, signedIn } from '../context.ts'
import { PageError } from '../errors.tsx'
import { Layout } from '../page/layout.tsx'
import { fieldsOf } from '../support/form-fields.ts'
import { allow } from './allow.ts'
import { ownPath } from './own-path.ts'
import { deleteSessionCookie, setSessionCookie } from './session-cookie.ts'
import type { SignedIn, SignIn } from './sign-in.ts'
import { createRecordRefusedSignIn } from './sign-in-audit.ts'

const maxFormBytes = 16 * 1024

const limitForm = bodyLimit({
  maxSize: maxFormBytes,
  onError: () => {
    throw new PageError(413, 'This form is too long. Open /login and sign in again.')
  },
})

/** Signs people in and out (docs/reference/admin.md#people). */
export function login(runtime: AdminRuntime, signIn: SignIn): AdminApp {
  const app: AdminApp = factory.createApp()
  const { log, db } = runtime
  const recordRefused = createRecordRefusedSignIn(runtime)

  app.get('/login', allow('anyone'), (c) => {
    const next = ownPath(c.req.query('next'))
    if (signedIn(c)) return c.redirect(next, 303)
    // After a link on another site, a browser leaves out a cookie that is SameSite=Strict. It sends it when this page leads on.
    if (c.req.header('Sec-Fetch-Site') === 'cross-site') return c.html(<OnwardPage to={next} />)
    return c.html(<SignInPage next={next} />)
  })

  app.post('/login', allow('anyone'), limitForm, async (c) => {
    const fields = await fieldsOf(c)
    const name = textIn(fields.name)
    const to = ownPath(textIn(fields.next))
    if (signedIn(c)) return c.redirect(to, 303)
    const address = c.get('address')
    const done = await signIn.begin({ name: name.trim(), password: textIn(fields.password), address })
    if ('refused' in done) {
      log.warn({ event: 'sign_in_refused', reason: done.refused, address })
      await recordRefused({ name: done.person, address, reason: done.refused })
      return refuse(c, done, { name, next: to })
    }
    log.info({ event: 'signed_in', by: done.name, address })
    setSessionCookie(c, done.token)
    return c.redirect(to, 303)
  })

  app.post('/logout', allow('anyone'), async (c) => {
    const sessionHash = c.get('sessionHash')
    if (sessionHash) {
      await audited(
        db,
        (transaction) => endSession(transaction, sessionHash),
        () => ({ ...pageActor(c), action: 'person.sign_out', target: c.get('person').name }),
      )
    }
    deleteSessionCookie(c)
    return c.redirect('/login', 303)
  })
  return app
}

const textIn = (field: unknown): string => (typeof field === 'string' ? field : '')

type Refused = Extract<SignedIn, { refused: string }>

function refuse(c: Context<AdminEnv>, refused: Refused, form: { name: string; next: string }) {
  switch (refused.refused) {
    case 'wrong':
      return c.html(<SignInPage {...form} issue="This name and password do not belong together." />, 401)
    case 'limited': {
      const minutes = Math.ceil(refused.resetSeconds / 60)
      const issue = `Too many wrong passwords for this name or from this address. Try again in ${minutes} min.`
      return c.html(<SignInPage {...form} issue={issue} />, 429, {
        'Retry-After': String(refused.resetSeconds),
      })
    }
    case 'busy':
      throw new PageError(503, 'Too many people sign in at this moment. Try again.', { 'Retry-After': '1' })
  }
}

function SignInPage({ name = '', next, issue }: { name?: string; next: string; issue?: string }) {
  return (
    <Layout title="Sign in">
      <div class="fields one">
        <h1>Sign in</h1>
        {issue !== undefined && (
          <p class="fault" role="alert">
            {issue}
          </p>
        )}
        <section>
          <form method="post" action="/login" class="fields one">
            <input type="hidden" name="next" value={next} />
            <p class="field">
              <label for="name">Name</label>
              <input
                id="name"
                name="name"
                value={name}
                autocomplete="username"
                autocapitalize="none"
                required
              />
            </p>
            <p class="field">
              <label for="password">Password</label>
              <input id="password" name="password" type="password" autocomplete="current-password" required />
            </p>
            <button type="submit" class="main">
              Sign in
            </button>
          </form>
        </section>
        <p class="muted">An operator adds people and sets forgotten passwords.</p>
      </div>
    </Layout>
  )
}

function OnwardPage({ to }: { to: string }) {
  return (
    <Layout title="Opening" leadsTo={to}>
      <p>
        <a href={to}>Open the page</a>
      </p>
    </Layout>
  )
}
