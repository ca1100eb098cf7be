import { SpanKind } from '@opentelemetry/api'
import { formatTraceparent, parseTraceparent } from '../../core/requests/traceparent.ts'
import { queueName } from '../../core/sends/send-job.ts'
import { activeTraceparent, inSpan } from '../../platform/log/tracing.ts'

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
