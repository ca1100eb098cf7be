import { ApiError } from './errors.ts'

const longestDelayMs = 8_000

/** What a proxy answers for a service that it lost. A 503 of the service itself has an `Error-Code`. */
const lostStatuses = [502, 503, 504]
const refusedStatuses = [429, 503]
/** The endpoint may have been called: a repeat would call it again. */
const calledCode = 'endpoint_not_called'

/** A request that got no answer, or a part of one. */
export class Lost {
  readonly cause: unknown

  constructor(cause: unknown) {
    this.cause = cause
  }
}

/** Whether the connection to the service was lost, so that the request may have been accepted. */
export const isLost = (error: ApiError | Lost): boolean =>
  error instanceof Lost || (error.code === undefined && lostStatuses.includes(error.status))

/** Whether a repeat may succeed: nothing was accepted, or the repeat of what was is harmless. */
export const isWorthRepeating = (error: ApiError | Lost, isRepeatable: boolean): boolean =>
  isLost(error)
    ? isRepeatable
    : error instanceof ApiError && refusedStatuses.includes(error.status) && error.code !== calledCode

/** The time before the next attempt: as the service asks for, or twice as long each time, at random so that clients don't come at once. */
export function delayMs(error: ApiError | Lost, attempt: number, firstDelayMs: number): number {
  const asked = error instanceof ApiError ? error.retryAfterSeconds : undefined
  const own = Math.min(longestDelayMs, firstDelayMs * 2 ** (attempt - 1)) * (0.5 + Math.random() / 2)
  return asked === undefined ? own : asked * 1000 + Math.random() * 100
}

/** Reads a `Retry-After`, in seconds or as a date. */
export function readRetryAfter(header: string | null): number | undefined {
  if (header === null) return undefined
  if (/^\d+$/.test(header)) return Number(header)
  const seconds = (Date.parse(header) - Date.now()) / 1000
  return Number.isNaN(seconds) ? undefined : Math.max(0, seconds)
}

/** Waits, until a signal ends the wait with its reason. */
export function wait(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', end)
      resolve()
    }, ms)
    if (signal?.aborted) end()
    else signal?.addEventListener('abort', end, { once: true })
  })
}
