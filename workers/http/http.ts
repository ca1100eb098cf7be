import { Agent, type Dispatcher } from 'undici'
import type { AttemptOutcome } from '../../src/core/sends/outcome.ts'
import type { OwnShortage } from '../../src/core/sends/own-shortage.ts'
import {
  addressNotAllowed,
  type ConnectorOptions,
  createGuardedConnector,
  tlsNeeded,
} from '../../src/platform/http/guarded-connector.ts'
import { build } from '../../src/platform/process/build.ts'
import { connectionShortage } from '../../src/platform/process/own-shortage.ts'
import type { HttpAnswer, HttpRequest } from '../../src/providers/shared/http/http-call.ts'
import { bodyInPieces, lengthOf } from './body-pieces.ts'
import { describeFailure, maxAnswerBytes } from './failure-reasons.ts'
import type { Moved } from './time-limit.ts'

/**
 * The result of a call. `not_sent`: no byte of the request was written, so it may be sent again. `maybe_sent`: some may have
 * been written, and no status was received. `isNotAllowed`: the host has an address that may not be reached, which a retry
 * won't change. `shortage`: this machine couldn't begin the call. Reasons never contain the URL, which may contain secrets.
 */
export type HttpResult =
  | HttpAnswer
  | ({ kind: 'not_sent'; reason: string } & WhyNotSent)
  | { kind: 'maybe_sent'; reason: string }

interface WhyNotSent {
  isNotAllowed?: boolean
  shortage?: OwnShortage
}

/** The outcome of a call without an answer. */
export function unanswered(
  result: Exclude<HttpResult, HttpAnswer>,
): Exclude<AttemptOutcome, { outcome: 'sent' }> {
  const { kind, reason } = result
  if (kind === 'not_sent' && result.shortage)
    return { outcome: 'not_called', reason, shortage: result.shortage }
  if (kind === 'not_sent' && result.isNotAllowed)
    return { outcome: 'channel_refused', fault: 'sender', reason }
  return { outcome: kind === 'not_sent' ? 'retry_later' : 'uncertain', fault: 'provider', reason }
}

export interface HttpClient {
  /**
   * Makes one call, and never repeats it. Never throws, and ends when the signal is aborted.
   *
   * @param moved called with the number of bytes of a large body, as they are written.
   */
  post(request: HttpRequest, signal: AbortSignal, moved?: Moved): Promise<HttpResult>
  connections(): Connections
  /** Waits for current calls to end. */
  close(): Promise<void>
}

/** How many are open. */
export interface Connections {
  inUse: number
  idle: number
  /** To the origin that has the most. */
  toOneOrigin: number
}

export interface HttpClientOptions extends ConnectorOptions {
  /** PostgreSQL's clock, because this machine's may be wrong. */
  nowMs?: () => number
  /** To one origin, at most: as many as calls are in flight. Default: unlimited. */
  maxConnections?: number
}

const longestIdleMs = 60_000
export const userAgent = `outbound-messaging-api/${build.version}`

/**
 * The HTTP client of all providers. It keeps connections open, with one call at a time on each; the worker's slots bound their
 * number. It follows no redirects, and connects only to allowed addresses.
 */
export function createHttpClient(options: HttpClientOptions): HttpClient {
  const { nowMs = Date.now, maxConnections = null, givenBy = 'operators', requiresTls = false } = options
  const agent = new Agent({
    connect: createGuardedConnector(options),
    // undici opens another one for a call that begins in the moment in which a connection becomes free.
    connections: maxConnections,
    // If a connection fails, undici repeats the calls that were pipelined behind the failed one. So none is pipelined.
    pipelining: 1,
    maxResponseSize: maxAnswerBytes,
    keepAliveMaxTimeout: longestIdleMs,
    // The signal covers both. These would restart with every byte of a response that trickles in.
    headersTimeout: 0,
    bodyTimeout: 0,
  })
  return {
    post: (request, signal, moved = () => {}) =>
      exchange(agent, request, signal, { moved, nowMs, givenBy, requiresTls }),
    connections() {
      const origins = Object.values(agent.stats).map(({ running, connected }) => ({
        inUse: running,
        open: Number(connected),
      }))
      const inUse = origins.reduce((sum, origin) => sum + origin.inUse, 0)
      const open = origins.reduce((sum, origin) => sum + origin.open, 0)
      return {
        inUse,
        idle: Math.max(0, open - inUse),
        toOneOrigin: Math.max(0, ...origins.map((one) => one.open)),
      }
    },
    close: () => agent.close(),
  }
}

interface Watch {
  moved: Moved
  nowMs: () => number
  givenBy: NonNullable<HttpClientOptions['givenBy']>
  requiresTls: boolean
}

/**
 * Makes one call. undici calls `onRequestStart` on an open connection, in the tick in which it writes the request to the
 * socket, or just before that if there are several buffers. So a call that fails before it was not sent, and one that fails
 * after it may have been. (The socket's `bytesWritten` is no better: it also counts bytes that the kernel refused.)
 */
function exchange(agent: Agent, request: HttpRequest, signal: AbortSignal, watch: Watch) {
  const { moved, nowMs, givenBy, requiresTls } = watch
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
    const fail = (reason: string, why: WhyNotSent = {}) => {
      // A received status decides, even if the rest of the answer is lost.
      if (head.status >= 200) answer(false)
      else if (call) end({ kind: 'maybe_sent', reason })
      else end({ kind: 'not_sent', reason, ...why })
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
        method: request.method ?? 'POST',
        headers: { 'user-agent': userAgent, ...lengthOf(request.body), ...request.headers },
        // undici accepts any iterable, although its types don't say so.
        body: bodyInPieces(request.body, moved) as string | Buffer,
      },
      {
        onRequestStart(controller) {
          // Aborting here means that nothing is written: the call was given up while connecting, or undici repeats it.
          if (isGivenUp || call) controller.abort(new Error('given up'))
          else call = controller
        },
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
          const shortage = call ? undefined : connectionShortage(error, givenBy)
          if (shortage) return fail(shortage.reason, { shortage })
          const isInClear = requiresTls && url.protocol === 'http:'
          const isNotAllowed = error.code === addressNotAllowed || error.code === tlsNeeded
          fail(describeFailure(error, { givenBy, isInClear }), isNotAllowed ? { isNotAllowed } : {})
        },
      },
    )
  })
}
