import type { Call, Caller } from './call.ts'
import { ApiError, ConnectionError } from './errors.ts'
import { errorClasses } from './generated/errors.ts'
import { Routes } from './generated/routes.ts'
import { Pages } from './pages.ts'
import { delayMs, isLost, isWorthRepeating, readRetryAfter, wait } from './retry.ts'

/** How a client reaches the service. */
export interface ClientOptions {
  /** The API key, which begins with `omk_`. Whoever has it can send: keep it out of pages that others load. */
  apiKey: string
  /** The address of the service, such as `https://messages.example.com`. */
  baseUrl: string
  /** How often a request is repeated after a 429, a 503 or a lost connection; 5 unless given. */
  retries?: number
  /** The time before the first repeat, in milliseconds, about twice as long before each further one; 500 unless given. */
  retryDelayMs?: number
  /** How long an attempt may take, in milliseconds; 10,000 unless given. */
  timeoutMs?: number
  /** The longest `Retry-After` that a call waits for, in seconds: a longer one ends it at once with the error; 60 unless given. */
  maxRetryAfterSeconds?: number
  /** A `fetch` in place of the global one, for a proxy for example. */
  fetch?: typeof fetch
}

/**
 * A client of the API: a method for each route, named as the `operationId` of the OpenAPI document.
 *
 * A call is repeated after a 429, a 503 or a lost connection. Sends carry an Idempotency-Key, the same at each repeat, so that nothing
 * is sent twice. Whatever else the service refuses is thrown as the class of its `Error-Code`.
 *
 * @example
 * const client = new Client({ baseUrl: 'https://messages.example.com', apiKey: process.env.API_KEY })
 * const { requestId } = await client.sendMessage({
 *   channelId,
 *   contact: { value: '+4915112345678' },
 *   message: { type: 'text', text: { value: 'Hello Ann' } },
 * })
 */
export class Client extends Routes {
  readonly #options: Required<Omit<ClientOptions, 'fetch'>>
  readonly #fetch: typeof fetch

  constructor(options: ClientOptions) {
    super()
    const { fetch: given = globalThis.fetch, ...own } = options
    this.#options = { retries: 5, retryDelayMs: 500, timeoutMs: 10_000, maxRetryAfterSeconds: 60, ...own }
    this.#options.baseUrl = options.baseUrl.replace(/\/+$/, '')
    // A browser's fetch wants to be called by itself.
    this.#fetch = (...request) => given(...request)
  }

  protected override readonly call: Caller = {
    segment,
    once: (call) => this.#repeated(call),
    pages: (field, call) =>
      new Pages(field, (after) =>
        this.#repeated({ ...call, query: { ...call.query, ...(after !== undefined && { after }) } }),
      ),
  }

  async #repeated<Answer>(call: Call): Promise<Answer> {
    const { isRepeatable = false, isKeyed = false, method } = call
    const { signal, idempotencyKey = isKeyed ? newKey() : undefined } = call.options
    const request = { url: this.#urlOf(call), headers: this.#headersOf(call, idempotencyKey) }
    let wasLost = false
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#attempt(call, request)
      } catch (error) {
        if (signal?.aborted) throw signal.reason
        if (method === 'DELETE' && wasLost && isAbsent(error)) return undefined as Answer
        wasLost ||= isLost(error)
        if (!this.#isRepeated(error, isRepeatable, attempt)) throw asThrown(error, idempotencyKey)
        await wait(delayMs(error, attempt, this.#options.retryDelayMs), signal)
      }
    }
  }

  #isRepeated(error: unknown, isRepeatable: boolean, attempt: number): boolean {
    const { retries, maxRetryAfterSeconds } = this.#options
    const seconds = (error instanceof ApiError && error.retryAfterSeconds) || 0
    return attempt <= retries && seconds <= maxRetryAfterSeconds && isWorthRepeating(error, isRepeatable)
  }

  async #attempt<Answer>(call: Call, { url, headers }: Request): Promise<Answer> {
    const timeout = AbortSignal.timeout(this.#options.timeoutMs)
    const { signal } = call.options
    const response = await this.#fetch(url, {
      method: call.method,
      headers,
      // A POST that follows a redirect becomes a GET, and sends nothing.
      redirect: 'manual',
      signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
      ...(call.body !== undefined && { body: JSON.stringify(call.body) }),
    })
    const text = await response.text()
    if (!response.ok) throw errorOf(response, text)
    return text === '' ? (undefined as Answer) : readAnswer(response, text)
  }

  #urlOf({ path, query = {} }: Call): string {
    const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null)
    const parameters = new URLSearchParams(
      given.map(([name, value]): [string, string] => [name, String(value)]),
    )
    return `${this.#options.baseUrl}${path}${parameters.size > 0 ? `?${parameters}` : ''}`
  }

  #headersOf({ body }: Call, idempotencyKey: string | undefined): Record<string, string> {
    return {
      Authorization: `Bearer ${this.#options.apiKey}`,
      ...(body !== undefined && { 'Content-Type': 'application/json' }),
      ...(idempotencyKey !== undefined && { 'Idempotency-Key': idempotencyKey }),
    }
  }
}

interface Request {
  url: string
  headers: Record<string, string>
}

/** An id that would make another path of its route is never sent. */
function segment(id: string): string {
  if (id === '' || id === '.' || id === '..') throw new TypeError(`"${id}" is no id: pass one of an answer.`)
  return encodeURIComponent(id)
}

/** Made of random bytes, since pages without TLS have no `crypto.randomUUID`. */
const newKey = () =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join(
    '',
  )

const isAbsent = (error: unknown) => error instanceof ApiError && error.status === 404

const asThrown = (error: unknown, idempotencyKey: string | undefined) =>
  error instanceof ApiError
    ? error
    : new ConnectionError(
        'The service gave no answer. Whether it accepted the request is not known: repeat the call with the same idempotencyKey.',
        idempotencyKey,
        error,
      )

function readAnswer<Answer>(response: Response, text: string): Answer {
  try {
    return JSON.parse(text)
  } catch {
    throw errorOf(response, '')
  }
}

function errorOf({ status, headers }: Response, text: string): ApiError {
  const code = headers.get('Error-Code') ?? undefined
  const Class = (code !== undefined && errorClasses[code as keyof typeof errorClasses]) || ApiError
  const { message, requestId } = parsed(text)
  return new Class(
    message ?? `The answer is not one of the service (status ${status}). Compare baseUrl with its address.`,
    {
      ...{ status, code },
      requestId: requestId ?? headers.get('X-Request-Id') ?? undefined,
      retryAfterSeconds: readRetryAfter(headers.get('Retry-After')),
    },
  )
}

function parsed(text: string): { message?: string; requestId?: string } {
  try {
    return JSON.parse(text) ?? {}
  } catch {
    return {}
  }
}
