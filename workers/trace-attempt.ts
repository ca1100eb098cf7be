import { SpanKind, trace } from '@opentelemetry/api'
import type { AttemptOutcome } from '../src/core/outcome.ts'
import { queueName } from '../src/core/send-job.ts'
import { failSpan, inSpan, remoteContext } from '../src/platform/tracing.ts'
import type { HttpClient } from './providers/http.ts'
import type { EnteredSend, OwnSend } from './sends/send-states.ts'

/** Creates a span for an attempt, from its claim to its recorded outcome, in the trace in which the send was accepted. */
export function traceAttempt<Result>(send: OwnSend, advance: () => Promise<Result>): Promise<Result> {
  return inSpan(
    {
      name: `process ${queueName}`,
      kind: SpanKind.CONSUMER,
      parent: remoteContext(send.traceparent) ?? null,
      attributes: {
        'messaging.system': 'bullmq',
        'messaging.operation.type': 'process',
        'messaging.operation.name': 'process',
        'messaging.destination.name': queueName,
        ...aboutSend(send),
      },
    },
    advance,
  )
}

/** Creates a span for the call to the provider, with its outcome. */
export function traceCall(send: EnteredSend, call: () => Promise<AttemptOutcome>): Promise<AttemptOutcome> {
  const { provider } = send
  return inSpan(
    {
      name: `send ${provider}`,
      kind: SpanKind.CLIENT,
      attributes: {
        'messaging.system': provider,
        'messaging.operation.type': 'send',
        'messaging.operation.name': 'send',
        'messaging.destination.name': send.channelId,
        ...aboutSend(send),
      },
    },
    async (span) => {
      const result = await call()
      if (!span.isRecording()) return result
      const { outcome, providerStatus, providerCode } = result
      span.setAttribute('outbound.outcome', outcome)
      if (providerStatus !== undefined) span.setAttribute('outbound.provider.status', providerStatus)
      if (providerCode !== undefined) span.setAttribute('outbound.provider.code', providerCode)
      if (outcome !== 'sent') failSpan(span, outcome)
      return result
    },
  )
}

const aboutSend = ({ requestId, attempt }: OwnSend) => ({
  'messaging.message.id': requestId,
  'outbound.attempt': attempt,
})

/** Adds HTTP attributes to the span of the provider's call; never the path, which may contain secrets. */
export function traceHttp(client: HttpClient): HttpClient {
  return {
    ...client,
    async post(request, signal, moved) {
      const result = await client.post(request, signal, moved)
      const span = trace.getActiveSpan()
      if (!span?.isRecording()) return result
      const { protocol, hostname, port } = new URL(request.url)
      span.setAttributes({
        'http.request.method': 'POST',
        'url.scheme': protocol.slice(0, -1),
        'server.address': hostname,
        'server.port': Number(port) || (protocol === 'https:' ? 443 : 80),
        ...(result.kind === 'answer' && { 'http.response.status_code': result.status }),
      })
      return result
    },
  }
}
