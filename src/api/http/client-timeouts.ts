/** Time limits for clients (docs/reference/api.md#connections). */
export interface ClientTimeouts {
  /** From the start of a connection, or of a later request on it, to the end of the headers. */
  headersMs: number
  /** For this long, a body may be sent at any pace. */
  bodyGraceMs: number
  /** The minimum average pace of a body after `bodyGraceMs`. */
  bodyBytesPerSecond: number
  /** How long a large body waits for memory before it gets a 503. The wait counts neither for the pace nor as idle. */
  queuedMs: number
  /** For a connection without traffic during a request or its answer. */
  idleMs: number
  /** How long a test of an endpoint waits for its call: longer than the call may take, and than it takes until a worker begins it. */
  testedMs: number
  /** From an answer that was sent before the end of its request, to the end of the connection. */
  lingerMs: number
}

export const timeouts: ClientTimeouts = {
  headersMs: 10_000,
  bodyGraceMs: 10_000,
  bodyBytesPerSecond: 32 * 1024,
  queuedMs: 30_000,
  idleMs: 30_000,
  testedMs: 25_000,
  lingerMs: 500,
}
