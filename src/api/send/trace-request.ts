import { type Span, SpanKind, trace } from '@opentelemetry/api'
import type { Context, Next } from 'hono'
import { matchedRoutes } from 'hono/route'
import { queueName } from '../../core/send-job.ts'
import { formatTraceparent, parseTraceparent } from '../../core/traceparent.ts'
import { activeTraceparent, failSpan, inSpan, remoteContext } from '../../platform/tracing.ts'
import { type ApiEnv, factory } from '../context.ts'

/** A span for each request. Where a client sent a `traceparent`, it goes on with the client's trace. */
export const traceRequest = factory.createMiddleware((c, next) => {
  const { method } = c.req
  const parent = trace.getActiveSpan() ? undefined : remoteContext(clientsTraceparent(c))
  const attributes = { 'http.request.method': method, 'url.scheme': 'http' }
  return inSpan({ name: method, kind: SpanKind.SERVER, ...(parent && { parent }), attributes }, (span) =>
    span.isRecording() ? tellSpan(span, c, next) : next(),
  )
})

async function tellSpan(span: Span, c: Context<ApiEnv>, next: Next): Promise<void> {
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

/** Given twice, it comes as one text, which is none (`joinDuplicateHeaders`). */
const clientsTraceparent = (c: Context<ApiEnv>) => c.env.incoming.headers.traceparent?.toString()

type RecordStep<Given extends unknown[], Recorded> = (
  c: Context<ApiEnv>,
  ...given: Given
) => Promise<Recorded>

/** The send's row is the message that the workers get, so that recording it is what produces it. */
export function traceRecord<Given extends unknown[], Recorded>(
  record: RecordStep<Given, Recorded>,
): RecordStep<Given, Recorded> {
  return (c, ...given) =>
    inSpan(
      {
        name: `send ${queueName}`,
        kind: SpanKind.PRODUCER,
        attributes: {
          'messaging.system': 'bullmq',
          'messaging.operation.type': 'send',
          'messaging.operation.name': 'send',
          'messaging.destination.name': queueName,
          'messaging.message.id': c.get('requestId'),
        },
      },
      () => record(c, ...given),
    )
}

/** What is kept with the send: of the active span, or, where nobody traces here, the client's own. */
export function traceparentOf(c: Context<ApiEnv>): string | undefined {
  const active = activeTraceparent()
  if (active !== undefined) return active
  const ofClient = parseTraceparent(clientsTraceparent(c))
  return ofClient && formatTraceparent(ofClient)
}
