import type { Page, Pages } from './pages.ts'

/** What every call takes. */
export interface CallOptions {
  /** Ends the call, and its repeats. Whether the request was accepted isn't known then. */
  signal?: AbortSignal
}

/** What a call takes that the service can recognise when it is repeated. */
export interface KeyedOptions extends CallOptions {
  /**
   * An id of your own for this request, such as `order-4711-shipped`, 1 to 255 characters: for 24 hours, the same call with the same key
   * sends nothing twice, also from another process. Without one, each call makes a key, which its own repeats share.
   */
  idempotencyKey?: string
}

/** A request of a route. */
export interface Call {
  method: string
  path: string
  query?: object
  body?: object
  /** Whether the route takes an Idempotency-Key. */
  isKeyed?: boolean
  /** Whether the request is repeated after a lost connection. */
  isRepeatable?: boolean
  options: KeyedOptions
}

/** How the methods of the routes reach the service. */
export interface Caller {
  /** An id as a part of a path. */
  segment(id: string): string
  once<Answer>(call: Call): Promise<Answer>
  pages<Of extends Page, Field extends keyof Of>(field: Field, call: Call): Pages<Of, Field>
}
