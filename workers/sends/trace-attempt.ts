import { SpanKind } from '@opentelemetry/api'
import type { AttemptOutcome } from '../../src/core/sends/outcome.ts'
import { queueName } from '../../src/core/sends/send-job.ts'
import { failSpan, inSpan, remoteContext } from '../../src/platform/log/tracing.ts'
import type { EnteredSend, OwnSend } from './send-states.ts'

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
