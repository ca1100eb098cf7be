import { setTimeout as sleep } from 'node:timers/promises'
import {
  type Attributes,
  type Context,
  context,
  INVALID_TRACEID,
  isSpanContextValid,
  ROOT_CONTEXT,
  type Span,
  type SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api'
import { formatTraceparent, parseTraceparent } from '../core/traceparent.ts'

/**
 * Spans go wherever an SDK sends them that was loaded before the process (docs/how-to/trace-with-opentelemetry.md); without one each
 * of these calls comes to nearly nothing.
 */
const tracer = trace.getTracer('outbound-messaging-api')

export interface SpanOptions {
  name: string
  kind: SpanKind
  /** In place of the span that is active: null for none. */
  parent?: Context | null
  attributes?: Attributes
}

/** Does some work within a span of its own; what is thrown marks the span as failed, by its name alone. */
export function inSpan<Result>(
  { name, kind, parent, attributes = {} }: SpanOptions,
  work: (span: Span) => Promise<Result>,
): Promise<Result> {
  const above = parent === undefined ? context.active() : (parent ?? ROOT_CONTEXT)
  const span = tracer.startSpan(name, { kind, attributes }, above)
  const isOfNobody = span.spanContext().traceId === INVALID_TRACEID
  return isOfNobody ? work(span) : within(span, trace.setSpan(above, span), work)
}

async function within<Result>(
  span: Span,
  inside: Context,
  work: (span: Span) => Promise<Result>,
): Promise<Result> {
  try {
    return await context.with(inside, work, undefined, span)
  } catch (error) {
    failSpan(span, error instanceof Error ? error.name : 'unknown')
    throw error
  } finally {
    span.end()
  }
}

export function failSpan(span: Span, type: string): void {
  span.setAttribute('error.type', type)
  span.setStatus({ code: SpanStatusCode.ERROR })
}

/** For work that is done for many at once: it belongs to nobody's trace. */
export const outsideSpans = <Result>(work: () => Result): Result => context.with(ROOT_CONTEXT, work)

/** The context of a span in another process; undefined where there was none, or it can't be read. */
export function remoteContext(traceparent: string | null | undefined): Context | undefined {
  const remote = parseTraceparent(traceparent ?? undefined)
  return remote && trace.setSpanContext(ROOT_CONTEXT, { ...remote, isRemote: true })
}

/** The active span's, to hand on. */
export function activeTraceparent(): string | undefined {
  const active = trace.getActiveSpan()?.spanContext()
  return active && isSpanContextValid(active) ? formatTraceparent(active) : undefined
}

/** What a log line has of the active span, by the names that log collectors know. */
export function traceFields(): { trace_id?: string; span_id?: string } {
  const active = trace.getActiveSpan()?.spanContext()
  return active && isSpanContextValid(active) ? { trace_id: active.traceId, span_id: active.spanId } : {}
}

const flushWithinMs = 2000

/** Before the process ends: an SDK keeps spans for some seconds. */
export async function flushSpans(): Promise<void> {
  const provider = trace.getTracerProvider()
  const sdk = isProxy(provider) ? provider.getDelegate() : provider
  if (!canFlush(sdk)) return
  // Where they go may be away.
  const over = new AbortController()
  await Promise.race([sdk.forceFlush(), sleep(flushWithinMs, undefined, { signal: over.signal })]).catch(
    () => {},
  )
  over.abort()
}

/** By its method: an SDK from a folder of its own has another copy of the API, and with it another class. */
const isProxy = (provider: object): provider is { getDelegate(): object } =>
  'getDelegate' in provider && typeof provider.getDelegate === 'function'

const canFlush = (sdk: object): sdk is { forceFlush(): Promise<unknown> } =>
  'forceFlush' in sdk && typeof sdk.forceFlush === 'function'
