import { Agent, type Dispatcher } from 'undici'
import { maxMediaBytes } from '../../src/core/message-body.ts'
import { NotAcquired, Semaphore } from '../../src/platform/semaphore.ts'
import type { Moved } from '../sends/time-limit.ts'
import { addressNotAllowed, type ConnectorOptions, guardedConnector } from './guarded-connector.ts'
import { describe, userAgent } from './http.ts'
import {
  type FetchedMedia,
  faultOf,
  headerOf,
  mimetypeOf,
  noMemory,
  notInTime,
  stopping,
  tooLarge,
} from './media-answer.ts'

export interface MediaLink {
  url: string
  /** The account, of whose share of the memory it is. */
  owner: string
}

export interface MediaFetcher {
  /**
   * Gets the content of a valid http or https URL. Never throws, and ends at the signal.
   *
   * @param moved is told of the bytes as they come.
   */
  fetch(media: MediaLink, signal: AbortSignal, moved?: Moved): Promise<FetchedMedia>
  /** Puts off the fetches under way, and all to come: the worker is to end soon. */
  stop(): void
  /** Lets fetches under way end. */
  close(): Promise<void>
}

const longestIdleMs = 10_000

/** For what is being fetched, by all accounts and by one: what comes beyond it waits, unread, in the network. */
const memoryBudget = { units: 8 * maxMediaBytes, unitsOfOwner: 4 * maxMediaBytes }
/** Then the send goes back to the queue: it would wait in its slot, and its connection stay open, for nothing. */
const longestWaitForMemoryMs = 5000
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
  const memory = new Semaphore(memoryBudget)
  const putOffs = new Set<() => void>()
  let isStopped = false
  return {
    async fetch({ url, owner }, signal, moved = () => {}) {
      if (isStopped) return stopping
      const over = new AbortController()
      let release = () => {}
      let putOff = () => {}
      let isWaitingForMemory = false
      const reserve = async (bytes: number) => {
        isWaitingForMemory = true
        const acquired = await memory.acquire({ units: bytes, owner }, longestWaitForMemoryMs, over.signal)
        isWaitingForMemory = false
        if (over.signal.aborted) acquired()
        else release = acquired
      }
      const onTimeOver = () => (isWaitingForMemory ? noMemory : notInTime)
      try {
        return await get(agent, new URL(url), { signal, onTimeOver }, (end) => {
          putOff = () => end(stopping)
          putOffs.add(putOff)
          return answerReader(end, reserve, moved)
        })
      } finally {
        putOffs.delete(putOff)
        over.abort()
        release()
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
 * Ends the call at the first thing that is wrong, and with it its connection: what still comes is not read. Makes none
 * where the signal has ended.
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

/** @param reserve memory for so many bytes: until there is some, nothing more of the answer is read. */
function answerReader(
  end: (result: FetchedMedia) => void,
  reserve: (bytes: number) => Promise<void>,
  moved: Moved,
): Dispatcher.DispatchHandler {
  let mimetype: string | undefined
  /** One buffer, which grows: however small the pieces are in which it comes, they cost no more than their bytes. */
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
      const fault = faultOf(status, headers)
      if (fault) return end(fault)
      mimetype = mimetypeOf(headers)
      const length = Number(headerOf(headers, 'content-length')) || undefined
      controller.pause()
      const begin = () => {
        makeLarger(length ?? firstBytes)
        controller.resume()
      }
      reserve(length ?? maxMediaBytes).then(begin, (error: unknown) => {
        // Else the fetch is over.
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

const refusedCodes = [addressNotAllowed, 'UND_ERR_HEADERS_OVERFLOW']

function failureOf(error: Error & { code?: string }): FetchedMedia {
  if (error.code === 'UND_ERR_RES_EXCEEDED_MAX_SIZE') return tooLarge
  const isForGood = error.name === 'HTTPParserError' || refusedCodes.includes(error.code ?? '')
  return { kind: isForGood ? 'refused' : 'failed', reason: `no media: ${describe(error)}` }
}
