import { Agent, type Dispatcher } from 'undici'
import { maxMediaBytes } from '../../src/core/messages/message-body.ts'
import {
  addressNotAllowed,
  type ConnectorOptions,
  createGuardedConnector,
  portNotAllowed,
} from '../../src/platform/http/guarded-connector.ts'
import type { Reservation } from '../../src/platform/memory/memory-budget.ts'
import { NotAcquired } from '../../src/platform/memory/semaphore.ts'
import { connectionShortage } from '../../src/platform/process/own-shortage.ts'
import { describeFailure } from './failure-reasons.ts'
import { userAgent } from './http.ts'
import {
  type FetchedMedia,
  headerOf,
  mimetypeOf,
  noMemory,
  notInTime,
  stopping,
  tooLarge,
  whyUnusable,
} from './media-answer.ts'
import type { Moved } from './time-limit.ts'

export interface MediaLink {
  url: string
  /** For the content. The caller releases it, after the call to the provider. */
  memory: Pick<Reservation, 'reserve'>
}

export interface MediaFetcher {
  /**
   * Fetches the content of a valid http or https URL. Never throws, and ends when the signal is aborted.
   *
   * @param moved called with the number of bytes, as they arrive.
   */
  fetch(media: MediaLink, signal: AbortSignal, moved?: Moved): Promise<FetchedMedia>
  /** Puts off all current and future fetches, because the worker is about to end. */
  stop(): void
  /** Waits for current fetches to end. */
  close(): Promise<void>
}

const longestIdleMs = 10_000

const byClients = { givenBy: 'clients' } as const

const firstBytes = 64 * 1024

/** Fetches media for providers that take no links: only from allowed addresses, and without following redirects. */
export function createMediaFetcher(options: Omit<ConnectorOptions, 'givenBy'>): MediaFetcher {
  const agent = new Agent({
    connect: createGuardedConnector({ ...options, ...byClients }),
    pipelining: 1,
    // Checked with each piece, so that longer media never fills the memory.
    maxResponseSize: maxMediaBytes,
    keepAliveMaxTimeout: longestIdleMs,
    // The signal covers both. These would restart with every byte of a response that trickles in.
    headersTimeout: 0,
    bodyTimeout: 0,
  })
  const putOffs = new Set<() => void>()
  let isStopped = false
  return {
    async fetch({ url, memory }, signal, moved = () => {}) {
      if (isStopped) return stopping
      const over = new AbortController()
      let putOff = () => {}
      let isWaitingForMemory = false
      let shrinkTo = (_keptBytes: number) => {}
      const reserve = async (bytes: number) => {
        isWaitingForMemory = true
        shrinkTo = await memory.reserve(bytes, over.signal)
        isWaitingForMemory = false
      }
      const onTimeOver = () => (isWaitingForMemory ? noMemory : notInTime)
      try {
        const fetched = await get(agent, new URL(url), { signal, onTimeOver }, (end) => {
          putOff = () => end(stopping)
          putOffs.add(putOff)
          return answerReader(end, reserve, moved)
        })
        shrinkTo(fetched.kind === 'media' ? fetched.content.length : 0)
        return fetched
      } finally {
        putOffs.delete(putOff)
        over.abort()
      }
    },
    stop() {
      isStopped = true
      for (const putOff of putOffs) putOff()
    },
    close: () => agent.close(),
  }
}

/**
 * Ends the call and its connection at the first failure, without reading the rest. Makes no call if the signal is aborted
 * already.
 */
function get(
  agent: Agent,
  url: URL,
  { signal, onTimeOver }: { signal: AbortSignal; onTimeOver: () => FetchedMedia },
  reader: (end: (result: FetchedMedia) => void) => Dispatcher.DispatchHandler,
): Promise<FetchedMedia> {
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
    const giveUp = () => end(onTimeOver())
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
        ...reader(end),
      },
    )
  })
}

/** @param reserve reserves memory for so many bytes; until it resolves, the response isn't read on. */
function answerReader(
  end: (result: FetchedMedia) => void,
  reserve: (bytes: number) => Promise<void>,
  moved: Moved,
): Dispatcher.DispatchHandler {
  let mimetype: string | undefined
  /** One growing buffer, so that many small pieces cost no more memory than their bytes. */
  let held = Buffer.alloc(0)
  let bytes = 0
  const makeLarger = (size: number) => {
    const larger = Buffer.allocUnsafe(size)
    held.copy(larger, 0, 0, bytes)
    held = larger
  }
  return {
    onResponseStart(controller, status, headers) {
      if (status < 200) return
      const unusable = whyUnusable(status, headers)
      if (unusable) return end(unusable)
      mimetype = mimetypeOf(headers)
      const length = Number(headerOf(headers, 'content-length')) || undefined
      controller.pause()
      const begin = () => {
        makeLarger(length ?? firstBytes)
        controller.resume()
      }
      reserve(length ?? maxMediaBytes).then(begin, (error: unknown) => {
        // Any other error means that the fetch has ended.
        if (error instanceof NotAcquired) end(noMemory)
      })
    },
    onResponseData(_controller, chunk) {
      moved(chunk.length)
      const needed = bytes + chunk.length
      if (needed > held.length) makeLarger(Math.max(Math.min(2 * held.length, maxMediaBytes), needed))
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

/** A name that doesn't exist is refused like a private address, so that clients can't tell them apart. */
const refusedCodes = [addressNotAllowed, portNotAllowed, 'ENOTFOUND', 'UND_ERR_HEADERS_OVERFLOW']

function failureOf(error: Error & { code?: string }): FetchedMedia {
  const shortage = connectionShortage(error, byClients.givenBy)
  if (shortage) return { kind: 'put_off', reason: shortage.reason, shortage }
  if (error.code === 'UND_ERR_RES_EXCEEDED_MAX_SIZE') return tooLarge
  const isForGood = error.name === 'HTTPParserError' || refusedCodes.includes(error.code ?? '')
  return { kind: isForGood ? 'refused' : 'failed', reason: `no media: ${describeFailure(error, byClients)}` }
}
