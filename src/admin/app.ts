import { Hono } from 'hono'
import { Readiness } from '../platform/readiness.ts'
import { authenticate, checkHost, refuseForeignForms } from './access.ts'
import { assets } from './assets.ts'
import { contact } from './contact/routes.tsx'
import type { AdminApp, AdminEnv, AdminRuntime } from './context.ts'
import { endpoints } from './endpoints/routes.tsx'
import { answerError, PageError } from './errors.tsx'
import { inbox } from './inbox/routes.tsx'
import { metrics } from './metrics.ts'
import { queueBoard } from './queue-board.ts'
import { securityHeaders } from './security-headers.ts'
import { sends } from './sends/routes.tsx'
import { support } from './support/routes.tsx'
import { suppressions } from './suppressions/routes.tsx'

/** The routes of the admin process (docs/how-to/find-a-send.md). */
export function createAdminApp(runtime: AdminRuntime, readiness = new Readiness(runtime)): AdminApp {
  const { log } = runtime
  const app: AdminApp = new Hono<AdminEnv>()

  app.use(securityHeaders)
  app.get('/healthz', (c) => c.json({ status: 'ok' }))
  app.get('/readyz', async (c) => {
    const reason = await readiness.reasonNotReady()
    return reason === undefined
      ? c.json({ status: 'ok' })
      : c.json({ status: reason }, 503, { 'Retry-After': '1' })
  })

  app.use(checkHost(runtime), authenticate(runtime), refuseForeignForms)
  app.get('/', (c) => c.redirect('/support'))
  app.get('/admin.css', assets.styles)
  app.get('/icon.svg', assets.icon)
  app.route('/support', support(runtime))
  app.route('/', sends(runtime))
  app.route('/', suppressions(runtime))
  app.route('/contact', contact(runtime))
  app.route('/endpoints', endpoints(runtime))
  app.route('/inbox', inbox(runtime))
  app.route('/queues', queueBoard(runtime))
  app.get('/metrics', ...metrics(runtime))

  app.notFound((c) => answerError(c, new PageError(404, 'There is no such page.'), log))
  app.onError((error, c) => answerError(c, error, log))
  return app
}
