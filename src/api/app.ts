import type { HttpBindings } from '@hono/node-server'
import { type Context, Hono } from 'hono'
import { methodNotAllowed } from 'hono/method-not-allowed'
import { routePath } from 'hono/route'
import { newId } from '../core/requests/new-id.ts'
import { Deadline } from '../platform/deadline.ts'
import { Readiness } from '../platform/health/readiness.ts'
import { createWarnOfUnknownProxy } from '../platform/http/client-address.ts'
import { logEvent } from '../platform/log/logger.ts'
import { build } from '../platform/process/build.ts'
import type { Runtime } from '../runtime.ts'
import { channelRoutes } from './account/channels.ts'
import { connectionShare } from './account/connection-share.ts'
import { auditRows } from './account/steps.ts'
import { answerJson } from './answer.ts'
import { bodySteps } from './body/body-steps.ts'
import { smallBodies } from './body/small-body.ts'
import { type ApiEnv, answerWithinMs, factory } from './context.ts'
import { docsRoutes } from './docs/routes.ts'
import { endpointRoutes } from './endpoints/index.ts'
import { answerError, answerNotReady, routeNotFound, wrongMethod } from './errors.ts'
import { timeouts as defaultClientTimeouts } from './http/client-timeouts.ts'
import { traceRequest } from './http/trace-request.ts'
import { index } from './index-route.ts'
import { createAuthenticate } from './keys/authenticate.ts'
import { createKeyLimits } from './keys/key-limit.ts'
import { cancelMessage } from './messages/cancel-message.ts'
import { cancelMessages } from './messages/cancel-messages.ts'
import { getMedia } from './messages/get-media.ts'
import { getMessage } from './messages/get-message.ts'
import { listMessages } from './messages/list-messages.ts'
import { moveMessage } from './messages/move-message.ts'
import { sendBatch } from './messages/send-batch.ts'
import { receiveReceipt } from './receive-receipt.ts'
import { createNoteRefused } from './refused/note-refused.ts'
import { sendSteps } from './send/steps.ts'
import { sendMessage } from './send-message.ts'
import { suppressionRoutes } from './suppressions/manage-suppressions.ts'

export type ApiApp = Hono<ApiEnv>

/** The routes of the API process (docs/reference/api.md). */
export function createApp(
  runtime: Runtime,
  readiness = new Readiness(runtime),
  timeouts = defaultClientTimeouts,
): ApiApp {
  const { log } = runtime
  const authenticate = createAuthenticate(runtime)
  const receipts = receiveReceipt(runtime, timeouts)
  const body = bodySteps(runtime.settings, timeouts)
  const steps = sendSteps(runtime)
  const { limitReads, countRefused } = createKeyLimits(runtime)
  const send = sendMessage(authenticate, body, steps)
  const account = {
    authenticate,
    withConnection: connectionShare(runtime),
    bodies: smallBodies(runtime.settings, timeouts),
    limiter: steps.limiter,
    limitReads,
    rowOf: auditRows(runtime),
  }
  const channels = channelRoutes(runtime, account)
  const endpoints = endpointRoutes(runtime, account, steps, timeouts)
  const suppressions = suppressionRoutes(runtime, account)
  const app: ApiApp = new Hono<ApiEnv & { Bindings: HttpBindings }>()

  app.use('/v1/*', traceRequest)
  app.use(trackRequest(runtime))
  app.post('/v1/messages', ...send.channelInBody)
  app.post('/v1/channels/:channelId/messages', ...send.channelInPath)
  app.post('/v1/messages/batch', ...sendBatch(authenticate, body, steps))
  app.post('/v1/messages/cancel', ...cancelMessages(runtime, account))
  app.get('/v1/messages', ...listMessages(runtime, account))
  app.get('/v1/messages/:requestId', ...getMessage(runtime, account))
  app.patch('/v1/messages/:requestId', ...moveMessage(runtime, account, steps))
  app.post('/v1/messages/:requestId/cancel', ...cancelMessage(runtime, authenticate, body))
  addAccountRoutes(app, { channels, endpoints, suppressions })

  app.post('/receipts/:channelId', ...receipts.post)
  app.get('/receipts/:channelId', ...receipts.check)
  if (runtime.settings.PUBLIC_BASE_URL !== undefined) app.get('/media/:token', ...getMedia(runtime))
  const docs = docsRoutes(runtime.settings)
  app.get('/openapi.json', ...docs.document)
  app.get('/docs', ...docs.reference)
  app.get('/docs/:page', ...docs.page)
  app.get('/', (c) => answerJson(c, index))
  app.get('/healthz', (c) => answerJson(c, { status: 'ok', version: build.version }))
  app.get('/readyz', async (c) => {
    const reason = await readiness.reasonNotReady()
    return reason === undefined ? answerJson(c, { status: 'ok' }) : answerNotReady(c, reason)
  })

  // After the routes: only a request that matches none of them comes here.
  app.use(
    methodNotAllowed({
      app,
      onMethodNotAllowed: (c, methods) => answerError(c, wrongMethod(methods), log),
    }),
  )
  app.notFound((c) => answerError(c, routeNotFound(), log))
  app.onError(async (error, c) => answerError(c, await countRefused(c, error), log))
  return app
}

interface AccountRoutes {
  channels: ReturnType<typeof channelRoutes>
  endpoints: ReturnType<typeof endpointRoutes>
  suppressions: ReturnType<typeof suppressionRoutes>
}

/** Routes for an account's channels, endpoints and suppressions. */
function addAccountRoutes(app: ApiApp, { channels, endpoints, suppressions }: AccountRoutes): void {
  app.get('/v1/channels', ...channels.list)
  app.get('/v1/channels/:channelId', ...channels.get)
  app.get('/v1/channels/:channelId/templates', ...channels.templates)
  app.get('/v1/flows', ...channels.flows)
  app.get('/v1/endpoints', ...endpoints.list)
  app.post('/v1/endpoints', ...endpoints.create)
  app.get('/v1/endpoints/:endpointId', ...endpoints.get)
  app.patch('/v1/endpoints/:endpointId', ...endpoints.patch)
  app.delete('/v1/endpoints/:endpointId', ...endpoints.remove)
  app.post('/v1/endpoints/:endpointId/enable', ...endpoints.enable)
  app.post('/v1/endpoints/:endpointId/disable', ...endpoints.disable)
  app.post('/v1/endpoints/:endpointId/test', ...endpoints.test)
  app.post('/v1/endpoints/:endpointId/rotate-secret', ...endpoints.rotate)
  app.post('/v1/endpoints/:endpointId/resend', ...endpoints.resend)
  app.get('/v1/endpoints/:endpointId/callbacks', ...endpoints.callbacks)
  app.get('/v1/suppressions', ...suppressions.list)
  app.post('/v1/suppressions', ...suppressions.add)
  app.delete('/v1/suppressions/:suppressionId', ...suppressions.remove)
}

/**
 * The first step: mints the requestId, and in the end counts the request and logs a refused one. A client's own X-Request-Id
 * is never used, because the id becomes the key of a row and of a job.
 */
const trackRequest = (runtime: Runtime) => {
  const { log, metrics } = runtime
  const warnOfUnknownProxy = createWarnOfUnknownProxy(runtime)
  const noteRefused = createNoteRefused(runtime)
  return factory.createMiddleware(async (c, next) => {
    const startedAt = performance.now()
    warnOfUnknownProxy(c.env.incoming)
    const requestId = newId()
    c.set('requestId', requestId)
    c.set('deadline', new Deadline(answerWithinMs))
    c.set('headers', { 'X-Request-Id': requestId })
    await next()
    const { status: statusCode } = c.res
    const route = answeredRoute(c)
    metrics.requests.inc({ route, status: statusCode })
    if (statusCode === 202) metrics.acceptDuration.observe({ route }, (performance.now() - startedAt) / 1000)
    // Readiness logs its changes itself.
    if (statusCode < 400 || (statusCode === 503 && route === '/readyz')) return
    const { caller, refusal: reason } = c.var
    logEvent(log, requestId, 'rejected', { statusCode, reason, accountId: caller?.accountId })
    if (statusCode < 500) noteRefused(c, route)
  })
}

/** The pattern of the matched route, such as `/v1/messages/:requestId`, or `none`. */
function answeredRoute(c: Context<ApiEnv>): string {
  const path = routePath(c)
  return path === '/*' ? 'none' : path
}
