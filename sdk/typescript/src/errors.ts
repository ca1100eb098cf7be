/** What the service answered, for an error that it answered with. */
export interface ErrorAnswer {
  /** The HTTP status. */
  status: number
  /** The header `Error-Code`; undefined if something in front of the service answered. */
  code: string | undefined
  /** The id of the request. Quote it when you ask for help. */
  requestId: string | undefined
  /** The seconds of `Retry-After`. */
  retryAfterSeconds: number | undefined
  /** The key of the request, for those that have one. */
  idempotencyKey: string | undefined
}

/** What all errors of this package extend. */
export class OutboundError extends Error {
  override get name(): string {
    return this.constructor.name
  }
}

/**
 * The service refused a request. Each `Error-Code` has a class of its own, such as `ChannelNotFoundError`; a code that this release
 * doesn't know is an `ApiError` itself.
 */
export class ApiError extends OutboundError implements ErrorAnswer {
  readonly status: number
  readonly code: string | undefined
  readonly requestId: string | undefined
  readonly retryAfterSeconds: number | undefined
  readonly idempotencyKey: string | undefined

  /** @param message names each faulty field of a 400 by its path. */
  constructor(message: string, answer: ErrorAnswer) {
    super(message)
    this.status = answer.status
    this.code = answer.code
    this.requestId = answer.requestId
    this.retryAfterSeconds = answer.retryAfterSeconds
    this.idempotencyKey = answer.idempotencyKey
  }
}

/**
 * An attempt got no answer, and no repeat got one that says more: the request may or may not have been accepted. Call again with the
 * same `idempotencyKey`, which this error has, too. Its `cause` is the error of the last attempt.
 */
export class ConnectionError extends OutboundError {
  /** The key of the request, for those that have one. */
  readonly idempotencyKey: string | undefined

  constructor(message: string, idempotencyKey: string | undefined, cause: unknown) {
    super(message, { cause })
    this.idempotencyKey = idempotencyKey
  }
}

/** A callback isn't genuine, or too old: answer 401, and don't read it. */
export class VerificationError extends OutboundError {}
