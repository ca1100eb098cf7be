/** The identity of a span, passed between processes by W3C Trace Context. */
export interface TraceContext {
  traceId: string
  spanId: string
  traceFlags: number
}

/** `00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01`; later versions may have more fields after it. */
const form = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/

/** Undefined if the header is missing or malformed, which means no trace. */
export function parseTraceparent(header: string | undefined): TraceContext | undefined {
  const [, version, traceId, spanId, flags = '', rest] = form.exec(header?.trim() ?? '') ?? []
  if (traceId === undefined || spanId === undefined) return undefined
  if (version === '00' && rest !== undefined) return undefined
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1 }
}

export function formatTraceparent({ traceId, spanId, traceFlags }: TraceContext): string {
  return `00-${traceId}-${spanId}-0${traceFlags & 1}`
}
