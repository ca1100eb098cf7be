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
import { formatTraceparent, parseTraceparent } from '../../core/requests/traceparent.ts'

/** Spans are exported by the SDK that the process was started with (docs/how-to/trace-with-opentelemetry.md). Without one they cost almost nothing. */
const tracer = trace.getTracer('outbound-messaging-api')

export interface SpanOptions {
  name: string
  kind: SpanKind
  /** Default: the active span. Null: none. */
  parent?: Context | null
  attributes?: Attributes
}

/** Runs work within a span of its own. An error marks the span as failed; only the error's name is recorded. */
export function inSpan<Result>(
  { name, kind, parent, attributes = {} }: SpanOptions,
  work: (span: Span) => Promise<Result>,
): Promise<Result> {
  const parentContext = parent === undefined ? context.active() : (parent ?? ROOT_CONTEXT)
  const span = tracer.startSpan(name, { kind, attributes }, parentContext)
  const isUntraced = span.spanContext().traceId === INVALID_TRACEID
  return isUntraced ? work(span) : within(span, trace.setSpan(parentContext, span), work)
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

/** For work shared by many requests: it belongs to none of their traces. */
export const outsideSpans = <Result>(work: () => Result): Result => context.with(ROOT_CONTEXT, work)

/** The context of a span in another process; undefined if `traceparent` is absent or malformed. */
export function remoteContext(traceparent: string | null | undefined): Context | undefined {
  const remote = parseTraceparent(traceparent ?? undefined)
  return remote && trace.setSpanContext(ROOT_CONTEXT, { ...remote, isRemote: true })
}

/** The active span's `traceparent`, to pass on to another process. */
export function activeTraceparent(): string | undefined {
  const active = trace.getActiveSpan()?.spanContext()
  return active && isSpanContextValid(active) ? formatTraceparent(active) : undefined
}

/** The active span's ids, by the field names that log collectors know. */
export function traceFields(): { trace_id?: string; span_id?: string } {
  const active = trace.getActiveSpan()?.spanContext()
  return active && isSpanContextValid(active) ? { trace_id: active.traceId, span_id: active.spanId } : {}
}

const flushWithinMs = 2000

/** Exports the remaining spans before the process ends: an SDK buffers them for some seconds. Waits 2 s at most. */
export async function flushSpans(): Promise<void> {
  const provider = trace.getTracerProvider()
  const sdk = isProxy(provider) ? provider.getDelegate() : provider
  if (!canFlush(sdk)) return
  const timer = new AbortController()
  await Promise.race([sdk.forceFlush(), sleep(flushWithinMs, undefined, { signal: timer.signal })]).catch(
    () => {},
  )
  timer.abort()
}

/** Not `instanceof`: an SDK installed in another folder has its own copy of the API's classes. */
const isProxy = (provider: object): provider is { getDelegate(): object } =>
  'getDelegate' in provider && typeof provider.getDelegate === 'function'

const canFlush = (sdk: object): sdk is { forceFlush(): Promise<unknown> } =>
  'forceFlush' in sdk && typeof sdk.forceFlush === 'function'
