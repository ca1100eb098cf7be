import type { Call, Caller } from './call.ts'
import { ApiError, ConnectionError } from './errors.ts'
import { errorClasses } from './generated/errors.ts'
import { Routes } from './generated/routes.ts'
import { Pages } from './pages.ts'
import { delayMs, isLost, isWorthRepeating, Lost, readRetryAfter, wait } from './retry.ts'

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
  /** How long an attempt may take, from its start to the last byte of its answer, in milliseconds; 40,000 unless given. */
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
    const { apiKey, retries = 5, retryDelayMs = 500, maxRetryAfterSeconds = 60 } = options
    // A test of an endpoint takes up to 25 seconds, and a large body may wait 30 until the service has room for it.
    const { timeoutMs = 40_000, fetch: given = globalThis.fetch } = options
    const baseUrl = options.baseUrl.replace(/\/+$/, '')
    this.#options = { apiKey, baseUrl, retries, retryDelayMs, timeoutMs, maxRetryAfterSeconds }
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
    const { signal } = call.options
    const idempotencyKey = call.options.idempotencyKey ?? (isKeyed ? newKey() : undefined)
    const request = this.#requestOf(call, idempotencyKey)
    let wasLost = false
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#attempt(request, signal)
      } catch (caught) {
        const error = caught as ApiError | Lost
        if (signal?.aborted) throw signal.reason
        if (method === 'DELETE' && wasLost && isAbsent(error)) return undefined as Answer
        wasLost ||= isLost(error)
        if (!this.#isRepeated(error, isRepeatable, attempt)) {
          // A read accepts nothing: what its last attempt got is its answer.
          throw isLost(error) || (wasLost && method !== 'GET')
            ? connectionError(error, idempotencyKey)
            : error
        }
        await wait(delayMs(error, attempt, this.#options.retryDelayMs), signal)
      }
    }
  }

  #isRepeated(error: ApiError | Lost, isRepeatable: boolean, attempt: number): boolean {
    const { retries, maxRetryAfterSeconds } = this.#options
    const seconds = (error instanceof ApiError && error.retryAfterSeconds) || 0
    return attempt <= retries && seconds <= maxRetryAfterSeconds && isWorthRepeating(error, isRepeatable)
  }

  /** @throws ApiError or Lost, and nothing else. */
  async #attempt<Answer>(request: Prepared, signal: AbortSignal | undefined): Promise<Answer> {
    const { idempotencyKey, url, init } = request
    const timeout = AbortSignal.timeout(this.#options.timeoutMs)
    const lost = (cause: unknown) => {
      throw new Lost(cause)
    }
    const signals = signal ? AbortSignal.any([signal, timeout]) : timeout
    const response = await this.#fetch(url, { ...init, signal: signals }).catch(lost)
    const text = await response.text().catch(lost)
    if (!response.ok) throw errorOf(response, text, idempotencyKey)
    return text === '' ? (undefined as Answer) : readAnswer(response, text, idempotencyKey)
  }

  /** @throws TypeError for what no repeat would send. */
  #requestOf(call: Call, idempotencyKey: string | undefined): Prepared {
    const url = this.#urlOf(call)
    const init = {
      method: call.method,
      headers: this.#headersOf(call, idempotencyKey),
      // A POST that follows a redirect becomes a GET, and sends nothing.
      redirect: 'manual' as const,
      ...(call.body !== undefined && { body: JSON.stringify(call.body) }),
    }
    // Made for its checks: a `fetch` of another library wouldn't take it.
    if (!/^https?:/.test(new Request(url, init).url))
      throw new TypeError(`baseUrl has to begin with https:// or http://, unlike ${this.#options.baseUrl}`)
    return { idempotencyKey, url, init }
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

/** What each attempt of a call sends. */
interface Prepared {
  idempotencyKey: string | undefined
  url: string
  init: RequestInit
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

const isAbsent = (error: ApiError | Lost) => error instanceof ApiError && error.status === 404

const connectionError = (error: ApiError | Lost, idempotencyKey: string | undefined) =>
  new ConnectionError(
    `The service gave no answer. Whether it accepted the request is not known: ${
      idempotencyKey === undefined
        ? 'read what is there before you call again.'
        : 'repeat the call with the same idempotencyKey.'
    }`,
    idempotencyKey,
    error instanceof Lost ? error.cause : error,
  )

function readAnswer<Answer>(response: Response, text: string, idempotencyKey: string | undefined): Answer {
  try {
    return JSON.parse(text)
  } catch {
    throw errorOf(response, '', idempotencyKey)
  }
}

function errorOf({ status, headers }: Response, text: string, idempotencyKey: string | undefined): ApiError {
  const code = headers.get('Error-Code') ?? undefined
  const Class = code !== undefined && isKnown(code) ? errorClasses[code] : ApiError
  const { message, requestId } = parsed(text)
  return new Class(
    message ?? `The answer is not one of the service (status ${status}). Compare baseUrl with its address.`,
    {
      ...{ status, code, idempotencyKey },
      requestId: requestId ?? headers.get('X-Request-Id') ?? undefined,
      retryAfterSeconds: readRetryAfter(headers.get('Retry-After')),
    },
  )
}

/** `constructor` is no code, though every object has it. */
const isKnown = (code: string): code is keyof typeof errorClasses => Object.hasOwn(errorClasses, code)

function parsed(text: string): { message?: string; requestId?: string } {
  try {
    return JSON.parse(text) ?? {}
  } catch {
    return {}
  }
}
