import type { IncomingMessage } from 'node:http'
import { type Span, SpanKind, trace } from '@opentelemetry/api'
import type { Context, Next } from 'hono'
import { matchedRoutes } from 'hono/route'
import { queueName } from '../../core/send-job.ts'
import { formatTraceparent, parseTraceparent } from '../../core/traceparent.ts'
import { activeTraceparent, failSpan, inSpan, remoteContext } from '../../platform/tracing.ts'
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

/** Creates a producer span for the recording of a send, whose row is the message that workers consume. */
export function traceRecord<Result>(requestId: string, record: () => Promise<Result>): Promise<Result> {
  return inSpan(
    {
      name: `send ${queueName}`,
      kind: SpanKind.PRODUCER,
      attributes: {
        'messaging.system': 'bullmq',
        'messaging.operation.type': 'send',
        'messaging.operation.name': 'send',
        'messaging.destination.name': queueName,
        'messaging.message.id': requestId,
      },
    },
    record,
  )
}

/** The `traceparent` stored with the send: that of the active span, or without tracing here the client's own. */
export function traceparentOf(clientsOwn: string | undefined): string | undefined {
  const active = activeTraceparent()
  if (active !== undefined) return active
  const parsed = parseTraceparent(clientsOwn)
  return parsed && formatTraceparent(parsed)
}
