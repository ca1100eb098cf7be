import { Agent, type Dispatcher } from 'undici'
import type { Outcome } from '../../src/core/outcome.ts'
import type { Moved } from '../sends/time-limit.ts'
import { bodyInPieces, type HttpBody, lengthOf } from './body-pieces.ts'
import { addressNotAllowed, type ConnectorOptions, guardedConnector } from './guarded-connector.ts'

export interface HttpRequest {
  /** A valid one, http or https, without user info. */
  url: string
  headers: Record<string, string>
  body: HttpBody
}

export interface HttpAnswer {
  kind: 'answer'
  status: number
  /** By their names in lower case. */
  headers: Record<string, string | string[] | undefined>
  body: string
  /** Whether the body has come whole; the status counts all the same. */
  isWhole: boolean
  /** When it came, in ms since 1970, by PostgreSQL's clock. */
  at: number
}

/**
 * What became of a call. `not_sent`: not a byte of the request was written, so it may be made again. `maybe_sent`: it
 * was, or may have been, and no whole answer came. `isNotAllowed`: the host means an address that may not be reached,
 * and will at the next try. Reasons are our own words: never the URL, which may hold secrets.
 */
export type HttpResult =
  | HttpAnswer
  | { kind: 'not_sent'; reason: string; isNotAllowed?: boolean }
  | { kind: 'maybe_sent'; reason: string }

/** What a call without an answer comes to. */
export function unanswered(result: Exclude<HttpResult, HttpAnswer>): Outcome {
  const { kind, reason } = result
  if (kind === 'not_sent' && result.isNotAllowed)
    return { outcome: 'channel_refused', fault: 'sender', reason }
  return { outcome: kind === 'not_sent' ? 'retry_later' : 'uncertain', fault: 'provider', reason }
}

export interface HttpClient {
  /**
   * Makes one call, and never repeats it. Never throws, and ends at the signal.
   *
   * @param moved is told of the bytes of a large body as they go out.
   */
  post(request: HttpRequest, signal: AbortSignal, moved?: Moved): Promise<HttpResult>
  /** Lets calls under way end. */
  close(): Promise<void>
}

export interface HttpClientOptions extends ConnectorOptions {
  /** PostgreSQL's clock; this machine's may be wrong. */
  nowMs?: () => number
}

const maxAnswerBytes = 64 * 1024
const longestIdleMs = 60_000
export const userAgent = 'outbound-messaging-api'

/**
 * The HTTP client of all providers: it keeps connections, one call at a time on each (their number is bounded by the
 * worker's slots), follows no redirect, and connects only to addresses that may be reached.
 */
export function createHttpClient(options: HttpClientOptions): HttpClient {
  const { nowMs = Date.now } = options
  const agent = new Agent({
    connect: guardedConnector(options),
    // undici writes calls a second time that stood behind one whose connection failed: so none stands behind another.
    pipelining: 1,
    maxResponseSize: maxAnswerBytes,
    keepAliveMaxTimeout: longestIdleMs,
    // The signal covers both; they would each start anew with every byte of a trickled answer.
    headersTimeout: 0,
    bodyTimeout: 0,
  })
  return {
    post: (request, signal, moved = () => {}) => exchange(agent, request, signal, { moved, nowMs }),
    close: () => agent.close(),
  }
}

interface Watch {
  moved: Moved
  nowMs: () => number
}

/**
 * Makes one call. undici calls `onRequestStart` on an open connection, in the same turn as it writes the request to
 * the socket, or, of several buffers, just before that: what fails before it was not sent, and what fails after it may
 * have been. (The socket's `bytesWritten` tells no more: it counts bytes that the kernel refused, too.)
 */
function exchange(agent: Agent, request: HttpRequest, signal: AbortSignal, { moved, nowMs }: Watch) {
  const url = new URL(request.url)
  return new Promise<HttpResult>((resolve) => {
    let call: Dispatcher.DispatchController | undefined
    let isGivenUp = false
    let head = { status: 0, headers: {} }
    const chunks: Buffer[] = []

    const end = (result: HttpResult) => {
      signal.removeEventListener('abort', giveUp)
      resolve(result)
    }
    const answer = (isWhole: boolean) =>
      end({ kind: 'answer', ...head, body: Buffer.concat(chunks).toString(), isWhole, at: nowMs() })
    const fail = (reason: string, isNotAllowed = false) => {
      // A status that has arrived has told what matters, whatever becomes of the rest of the answer.
      if (head.status >= 200) answer(false)
      else if (call) end({ kind: 'maybe_sent', reason })
      else end({ kind: 'not_sent', reason, ...(isNotAllowed && { isNotAllowed }) })
    }
    const giveUp = () => {
      isGivenUp = true
      fail(call ? 'no whole answer in time' : 'no connection in time')
      call?.abort(new Error('given up'))
    }
    if (signal.aborted) return giveUp()
    signal.addEventListener('abort', giveUp)
    agent.dispatch(
      {
        origin: url.origin,
        path: url.pathname + url.search,
        method: 'POST',
        headers: { 'user-agent': userAgent, ...lengthOf(request.body), ...request.headers },
        // It takes any iterable; its types don't say so.
        body: bodyInPieces(request.body, moved) as string | Buffer,
      },
      {
        onRequestStart(controller) {
          // Aborted here, nothing is written: of a call that was given up while it connected, or a second time.
          if (isGivenUp || call) controller.abort(new Error('given up'))
          else call = controller
        },
        // Called for each 1xx, too; the last one counts. (An unasked 100 is more than undici bears: it ends the call.)
        onResponseStart(_controller, status, headers) {
          head = { status, headers }
        },
        onResponseData(_controller, chunk) {
          chunks.push(chunk)
        },
        onResponseEnd() {
          answer(true)
        },
        onResponseError(_controller, error: Error & { code?: string }) {
          fail(describe(error), error.code === addressNotAllowed)
        },
      },
    )
  })
}

const reasons: Record<string, string> = {
  [addressNotAllowed]: 'the address is not public (an operator may allow it: ALLOWED_PRIVATE_NETWORKS)',
  ENOTFOUND: 'the name of the host is not known',
  EAI_AGAIN: 'the name of the host could not be looked up',
  ECONNREFUSED: 'the connection was refused',
  UND_ERR_CONNECT_TIMEOUT: 'no connection in time',
  ECONNRESET: 'the connection was lost',
  EPIPE: 'the connection was lost',
  UND_ERR_SOCKET: 'the connection was lost',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'the answer was cut off',
  UND_ERR_RES_EXCEEDED_MAX_SIZE: `the answer is longer than ${maxAnswerBytes} bytes`,
  HTTPParserError: 'the answer is not HTTP',
  UND_ERR_HEADERS_OVERFLOW: 'the head of the answer is too long',
}
const isNoTls = /^(EPROTO|ERR_TLS_|ERR_SSL_|CERT_|SELF_SIGNED_|UNABLE_TO_|DEPTH_ZERO_)/

/** In our own words: never the URL, nor what the other end wrote. */
export function describe(error: Error & { code?: string }): string {
  const { name, code = name } = error
  const reason = reasons[code] ?? reasons[name]
  if (reason) return reason
  if (isNoTls.test(code)) return `no TLS connection (${code})`
  return `the call failed (${code})`
}
