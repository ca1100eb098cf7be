import { Hono } from 'hono'
import { contextStorage } from 'hono/context-storage'
import { Readiness } from '../platform/health/readiness.ts'
import { build } from '../platform/process/build.ts'
import { chosenAccount } from './account/chosen-account.tsx'
import { accountNames } from './account/routes.ts'
import { accounts } from './accounts/routes.tsx'
import { logSetUp } from './audit/page-actor.ts'
import { audit } from './audit/routes.tsx'
import { recordSeen } from './audit/seen.ts'
import { channels } from './channels/routes.tsx'
import { contact } from './contact/routes.tsx'
import type { AdminApp, AdminEnv, AdminRuntime } from './context.ts'
import { endpoints } from './endpoints/routes.tsx'
import { answerError, PageError } from './errors.tsx'
import { allowScrape, passwordCheck } from './http/access.ts'
import { refuseForeignForms } from './http/foreign-forms.ts'
import { readOrigin } from './http/origin.ts'
import { securityHeaders } from './http/security-headers.ts'
import { inbox } from './inbox/routes.tsx'
import { metrics } from './metrics.ts'
import { assets } from './page/assets.ts'
import { storeWarnings } from './page/store-warnings.ts'
import { allow, refuseRoutesWithoutRole } from './people/allow.ts'
import { identify, requireSignIn } from './people/identify.ts'
import { login } from './people/login.tsx'
import { ownPages } from './people/own-pages.tsx'
import { people } from './people/routes.tsx'
import { createSignIn } from './people/sign-in.ts'
import { queueBoard } from './queues/routes.tsx'
import { refused } from './refused/routes.tsx'
import { sends } from './sends/routes.tsx'
import { support } from './support/routes.tsx'
import { suppressions } from './suppressions/routes.tsx'
import { today } from './today/routes.tsx'

/** The routes of the admin process (docs/how-to/find-a-send.md). */
export function createAdminApp(runtime: AdminRuntime, readiness = new Readiness(runtime)): AdminApp {
  const { log, settings } = runtime
  const app: AdminApp = new Hono<AdminEnv>()

  app.use(contextStorage(), readOrigin(runtime), securityHeaders)
  app.use(async (c, next) => {
    c.set('publicBaseUrl', settings.PUBLIC_BASE_URL)
    await next()
  })
  app.get('/healthz', allow('anyone'), (c) => c.json({ status: 'ok', version: build.version }))
  app.get('/readyz', allow('anyone'), async (c) => {
    const reason = await readiness.reasonNotReady()
    return reason === undefined
      ? c.json({ status: 'ok' })
      : c.json({ status: reason }, 503, { 'Retry-After': '1' })
  })

  const checkPassword = passwordCheck(runtime)
  app.get('/metrics', allow('anyone'), allowScrape(checkPassword), ...metrics(runtime, readiness))

  app.use(identify(runtime, checkPassword), refuseForeignForms)
  app.get('/admin.css', allow('anyone'), assets.styles)
  app.get('/console.js', allow('anyone'), assets.script)
  app.get('/icon.svg', allow('anyone'), assets.icon)
  app.get('/inter.woff2', allow('anyone'), assets.font)
  const signIn = createSignIn(runtime)
  app.route('/', login(runtime, signIn))

  app.use(
    requireSignIn,
    chosenAccount(runtime),
    logSetUp(runtime),
    recordSeen(runtime),
    storeWarnings(runtime),
  )
  app.route('/', accountNames(runtime))
  app.route('/support', support(runtime))
  app.route('/', today(runtime))
  app.route('/channels', channels(runtime))
  app.route('/', sends(runtime))
  app.route('/', suppressions(runtime))
  app.route('/contact', contact(runtime))
  app.route('/endpoints', endpoints(runtime))
  app.route('/inbox', inbox(runtime))
  app.route('/queues', queueBoard(runtime))
  app.route('/accounts', accounts(runtime))
  app.route('/people', people(runtime))
  app.route('/me', ownPages(runtime, signIn))
  app.route('/refused', refused(runtime))
  app.route('/audit', audit(runtime))
  refuseRoutesWithoutRole(app)

  app.notFound((c) => answerError(c, new PageError(404, 'There is no such page.'), log))
  app.onError((error, c) => answerError(c, error, log))
  return app
}
