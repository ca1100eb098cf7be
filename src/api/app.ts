import type { HttpBindings } from '@hono/node-server'
import { type Context, Hono, type MiddlewareHandler } from 'hono'
import { methodNotAllowed } from 'hono/method-not-allowed'
import { routePath } from 'hono/route'
import { newId } from '../core/requests/new-id.ts'
import { Deadline } from '../platform/deadline.ts'
import { Readiness } from '../platform/health/readiness.ts'
import { createWarnOfUnknownProxy } from '../platform/http/client-address.ts'
import { logEvent } from '../platform/log/logger.ts'
import { build } from '../platform/process/build.ts'
import type { Runtime } from '../runtime.ts'
import { serveChannels } from './account/channels.ts'
import { connectionShare } from './account/connection-share.ts'
import { getKey } from './account/key.ts'
import { auditRows } from './account/steps.ts'
import { getUsage } from './account/usage.ts'
import { bodySteps } from './body/body-steps.ts'
import { smallBodies } from './body/small-body.ts'
import { type ApiEnv, answerWithinMs, factory } from './context.ts'
import { serveDocs } from './docs/serve-docs.ts'
import { serveEndpoints } from './endpoints/index.ts'
import { answerError, answerNotReady, routeNotFound, wrongMethod } from './errors.ts'
import { type ClientTimeouts, timeouts as defaultClientTimeouts } from './http/client-timeouts.ts'
import { traceRequest } from './http/trace-request.ts'
import { createAuthenticate } from './keys/authenticate.ts'
import { createKeyLimits, type KeyLimiter } from './keys/key-limit.ts'
import { cancelMessage } from './messages/cancel-message.ts'
import { cancelMessages } from './messages/cancel-messages.ts'
import { getMedia } from './messages/get-media.ts'
import { getMessage } from './messages/get-message.ts'
import { listMessages } from './messages/list-messages.ts'
import { moveMessage } from './messages/move-message.ts'
import { sendBatch } from './messages/send-batch.ts'
import { receiveReceipt } from './receive-receipt.ts'
import { createNoteRefused } from './refused/note-refused.ts'
import { index, type RouteName, routes, routesOf } from './routes.ts'
import { sendSteps } from './send/steps.ts'
import { sendMessage } from './send-message.ts'
import { createServe, type Handlers } from './serve.ts'
import { serveSuppressions } from './suppressions/manage-suppressions.ts'
import { serveUnsubscribe } from './unsubscribe/unsubscribe.tsx'

export type ApiApp = Hono<ApiEnv>

const ok = { status: 'ok' } as const

/** The routes of the API process (docs/reference/api.md). */
export function createApp(
  runtime: Runtime,
  readiness = new Readiness(runtime),
  timeouts = defaultClientTimeouts,
): ApiApp {
  const authenticate = createAuthenticate(runtime)
  const { limitReads, countRefused } = createKeyLimits(runtime)
  const app: ApiApp = new Hono<ApiEnv & { Bindings: HttpBindings }>()
  const docs = serveDocs(runtime.settings)
  const handlers = createHandlers(runtime, readiness, timeouts, { authenticate, limitReads, docs })

  app.use('/v1/*', traceRequest)
  app.use(trackRequest(runtime))
  for (const [name, { method, path }] of routesOf(runtime.settings))
    app.on(method.toUpperCase(), [path], ...handlers[name])
  app.get('/docs/', ...docs.landingBelow)

  // After the routes: only a request that matches none of them comes here.
  app.use(
    methodNotAllowed({
      app,
      onMethodNotAllowed(c, methods) {
        // Hono would give the 405 the headers of the 404 before it.
        c.res = undefined
        return answerError(c, wrongMethod(methods), runtime)
      },
    }),
  )
  app.notFound((c) => answerError(c, routeNotFound(), runtime))
  app.onError(async (error, c) => answerError(c, await countRefused(c, error), runtime))
  return app
}

/** Creates the handlers of each route of the table. */
function createHandlers(
  runtime: Runtime,
  readiness: Readiness,
  timeouts: ClientTimeouts,
  {
    authenticate,
    limitReads,
    docs,
  }: {
    authenticate: MiddlewareHandler<ApiEnv>
    docs: ReturnType<typeof serveDocs>
  } & Pick<KeyLimiter, 'limitReads'>,
): Record<RouteName, Handlers> {
  const { settings } = runtime
  const body = bodySteps(settings, timeouts)
  const steps = sendSteps(runtime)
  const send = sendMessage(authenticate, body, steps)
  const receipts = receiveReceipt(runtime, timeouts)
  const bodies = smallBodies(settings, timeouts)
  const account = {
    serve: createServe({
      authenticate,
      bodies,
      limitReads,
      allowedPrivateNetworks: settings.CLIENT_PRIVATE_NETWORKS,
    }),
    withConnection: connectionShare(runtime),
    limiter: steps.limiter,
    rowOf: auditRows(runtime),
  }
  return {
    sendMessage: send.channelInBody,
    sendMessageOnChannel: send.channelInPath,
    sendBatch: sendBatch(authenticate, body, steps),
    cancelMessages: cancelMessages(runtime, account),
    listMessages: listMessages(runtime, account),
    getMessage: getMessage(runtime, account),
    moveMessage: moveMessage(runtime, account, steps),
    cancelMessage: cancelMessage(runtime, authenticate, body),
    getKey: getKey(runtime, account),
    getUsage: getUsage(runtime, account),
    ...serveChannels(runtime, account),
    ...serveEndpoints(runtime, account, steps, timeouts),
    ...serveSuppressions(runtime, account),
    ...serveUnsubscribe(runtime, bodies),
    receiveReceipts: receipts.post,
    checkReceipts: receipts.check,
    getMedia: getMedia(runtime),
    getIndex: account.serve(routes.getIndex, async () => index),
    getHealth: account.serve(routes.getHealth, async () => ({ ...ok, version: build.version })),
    getReadiness: account.serve(routes.getReadiness, async (c) => {
      const reason = await readiness.reasonNotReady()
      return reason === undefined ? ok : answerNotReady(c, reason, runtime)
    }),
    getOpenApi: docs.document,
    getDocs: docs.landing,
    getLlms: docs.llms,
    getGuide: docs.page,
  }
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
    const { caller, refusal } = c.var
    const { code, reason } = refusal
    logEvent(log, requestId, 'rejected', { statusCode, code, reason, accountId: caller?.accountId })
    if (statusCode < 500) noteRefused(c, route)
  })
}

/** The pattern of the matched route, such as `/v1/messages/:requestId`, or `none`. */
function answeredRoute(c: Context<ApiEnv>): string {
  const path = routePath(c)
  return path === '/*' ? 'none' : path
}
