/** How slow a client may be before it is let go (docs/reference/api.md#connections). */
export interface ClientTimeouts {
  /** From the start of a connection, or of a later request on it, to the end of the headers. */
  headersMs: number
  /** In which a body may come at any pace. */
  bodyGraceMs: number
  /** What the body's average has to be from then on. */
  bodyBytesPerSecond: number
  /** In which a large body has its turn, or is told to come again. Waiting for it doesn't count as slow, nor as silence. */
  queuedMs: number
  /** While a request or its answer is on its way and nothing moves. */
  idleMs: number
  /** Between an answer that came before the end of its request, and the end of the connection. */
  lingerMs: number
}

export const timeouts: ClientTimeouts = {
  headersMs: 10_000,
  bodyGraceMs: 10_000,
  bodyBytesPerSecond: 32 * 1024,
  queuedMs: 30_000,
  idleMs: 30_000,
  lingerMs: 500,
}
