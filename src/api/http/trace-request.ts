import type { IncomingMessage } from 'node:http'
import { type Span, SpanKind, trace } from '@opentelemetry/api'
import type { Context, Next } from 'hono'
import { matchedRoutes } from 'hono/route'
import { failSpan, inSpan, remoteContext } from '../../platform/log/tracing.ts'
import { type ApiEnv, factory } from '../context.ts'

/** Creates a span for each request, as a part of the client's trace if the client sent a `traceparent`. */
export const traceRequest = factory.createMiddleware((c, next) => {
  const { method } = c.req
  const parent = trace.getActiveSpan() ? undefined : remoteContext(clientsTraceparent(c.env.incoming))
  const attributes = { 'http.request.method': method, 'url.scheme': 'http' }
  return inSpan({ name: method, kind: SpanKind.SERVER, ...(parent && { parent }), attributes }, (span) =>
    span.isRecording() ? recordSpan(span, c, next) : next(),
  )
})

async function recordSpan(span: Span, c: Context<ApiEnv>, next: Next): Promise<void> {
  await next()
  const { method } = c.req
  const route = matchedRoutes(c).findLast((matched) => matched.method === method)?.path
  if (route) span.updateName(`${method} ${route}`)
  const { status } = c.res
  span.setAttributes({
    ...(route && { 'http.route': route }),
    'http.response.status_code': status,
    'http.response.header.x-request-id': [c.get('requestId')],
  })
  if (status >= 500) failSpan(span, String(status))
}

/** Two such headers are joined (`joinDuplicateHeaders`), which makes them malformed. */
export const clientsTraceparent = ({ headers }: Pick<IncomingMessage, 'headers'>) =>
  headers.traceparent?.toString()
