import pLimit from 'p-limit'
import { Agent, type Dispatcher } from 'undici'
import { maxMediaBytes } from '../../src/core/message-body.ts'
import { addressNotAllowed, type ConnectorOptions, guardedConnector } from './guarded-connector.ts'
import { describe, userAgent } from './http.ts'

/**
 * What became of a fetch. `refused`: another one would end alike. `failed`: it may go better later. Reasons are our own
 * words: never the URL, which may hold secrets.
 */
export type FetchedMedia =
  | { kind: 'media'; content: Buffer; mimetype: string | undefined }
  | { kind: 'refused'; reason: string }
  | { kind: 'failed'; reason: string }

export interface MediaFetcher {
  /** Gets the content of a valid http or https URL. Never throws, and ends at the signal. */
  fetch(url: string, signal: AbortSignal): Promise<FetchedMedia>
  /** Lets fetches under way end. */
  close(): Promise<void>
}

const tooLarge = { kind: 'refused', reason: `the media is larger than ${maxMediaBytes} bytes` } as const
const notInTime = { kind: 'failed', reason: 'the media did not come in time' } as const
const longestIdleMs = 10_000

/** What is being fetched is held in memory, up to 16 MiB each, or twice that where no length was told. */
const maxFetchesAtOnce = 4
const firstBytes = 64 * 1024

/** Fetches media for providers that take no links: from addresses that may be reached, without following a redirect. */
export function createMediaFetcher(options: ConnectorOptions): MediaFetcher {
  const agent = new Agent({
    connect: guardedConnector(options),
    pipelining: 1,
    // Held against each piece as it comes: what is longer is never held whole.
    maxResponseSize: maxMediaBytes,
    keepAliveMaxTimeout: longestIdleMs,
    // The signal covers both; they would each start anew with every byte of a trickled answer.
    headersTimeout: 0,
    bodyTimeout: 0,
  })
  const inTurn = pLimit(maxFetchesAtOnce)
  return {
    fetch: (url, signal) =>
      new Promise((resolve, reject) => {
        const giveUp = () => resolve(notInTime)
        if (signal.aborted) return giveUp()
        signal.addEventListener('abort', giveUp, { once: true })
        const fetched = inTurn(() => get(agent, new URL(url), signal))
        void fetched.then(resolve, reject).finally(() => signal.removeEventListener('abort', giveUp))
      }),
    close: () => agent.close(),
  }
}

type Headers = Record<string, string | string[] | undefined>

/**
 * Ends the call at the first thing that is wrong, and with it its connection: what still comes is not read. Makes none
 * where the signal has ended.
 */
function get(agent: Agent, url: URL, signal: AbortSignal): Promise<FetchedMedia> {
  return new Promise((resolve) => {
    let call: Dispatcher.DispatchController | undefined
    let isOver = false

    const end = (result: FetchedMedia) => {
      if (isOver) return
      isOver = true
      signal.removeEventListener('abort', giveUp)
      resolve(result)
      if (result.kind !== 'media') call?.abort(new Error('given up'))
    }
    const giveUp = () => end(notInTime)
    if (signal.aborted) return giveUp()
    signal.addEventListener('abort', giveUp)
    agent.dispatch(
      {
        origin: url.origin,
        path: url.pathname + url.search,
        method: 'GET',
        headers: { 'user-agent': userAgent, accept: '*/*', 'accept-encoding': 'identity' },
      },
      {
        onRequestStart(controller) {
          call = controller
          if (isOver) controller.abort(new Error('given up'))
        },
        ...answerReader(end),
      },
    )
  })
}

function answerReader(end: (result: FetchedMedia) => void): Dispatcher.DispatchHandler {
  let mimetype: string | undefined
  /** One buffer, which grows: however small the pieces are in which it comes, they cost no more than their bytes. */
  let held = Buffer.alloc(0)
  let bytes = 0
  const makeRoom = (size: number) => {
    const larger = Buffer.allocUnsafe(size)
    held.copy(larger, 0, 0, bytes)
    held = larger
  }
  return {
    onResponseStart(_controller, status, headers) {
      if (status < 200) return
      const fault = faultOf(status, headers)
      if (fault) return end(fault)
      mimetype = mimetypeOf(headers)
      makeRoom(Number(headerOf(headers, 'content-length')) || firstBytes)
    },
    onResponseData(_controller, chunk) {
      if (bytes + chunk.length > held.length) makeRoom(Math.max(2 * held.length, bytes + chunk.length))
      bytes += chunk.copy(held, bytes)
    },
    onResponseEnd() {
      if (bytes > 0) end({ kind: 'media', content: held.subarray(0, bytes), mimetype })
      else end({ kind: 'refused', reason: 'the media is empty' })
    },
    onResponseError(_controller, error) {
      end(failureOf(error))
    },
  }
}

const passingStatuses = [408, 425, 429]

function faultOf(status: number, headers: Headers): FetchedMedia | undefined {
  if (status >= 500 || passingStatuses.includes(status)) {
    return { kind: 'failed', reason: `the server of the media answered ${status}` }
  }
  if (status >= 400) return { kind: 'refused', reason: `the server of the media answered ${status}` }
  if (status >= 300) {
    return { kind: 'refused', reason: `the media's URL redirects (${status}), which is not followed` }
  }
  if (status === 206) return { kind: 'refused', reason: 'the server of the media gives only a part of it' }
  if (isEncoded(headers)) {
    return { kind: 'refused', reason: 'the server of the media compresses it, although asked not to' }
  }
  return Number(headerOf(headers, 'content-length')) > maxMediaBytes ? tooLarge : undefined
}

const plainEncodings = ['', 'identity', 'chunked']

function isEncoded(headers: Headers): boolean {
  const given = [headers['content-encoding'], headers['transfer-encoding']].flat().join(',').split(',')
  return !given.every((encoding) => plainEncodings.includes(encoding.trim().toLowerCase()))
}

/** What the server says that it is; undefined where it says nothing that can be passed on. */
function mimetypeOf(headers: Headers): string | undefined {
  const [bare = ''] = headerOf(headers, 'content-type')?.split(';') ?? []
  const type = bare.trim()
  return /^[\w!#$&^.+-]{1,127}\/[\w!#$&^.+-]{1,127}$/.test(type) ? type : undefined
}

function headerOf(headers: Headers, name: string): string | undefined {
  return [headers[name]].flat()[0]?.trim().toLowerCase()
}

const refusedCodes = [addressNotAllowed, 'UND_ERR_HEADERS_OVERFLOW']

function failureOf(error: Error & { code?: string }): FetchedMedia {
  if (error.code === 'UND_ERR_RES_EXCEEDED_MAX_SIZE') return tooLarge
  const isForGood = error.name === 'HTTPParserError' || refusedCodes.includes(error.code ?? '')
  return { kind: isForGood ? 'refused' : 'failed', reason: `no media: ${describe(error)}` }
}
