import { LRUCache } from 'lru-cache'
import { contentFault, recognise, typeOfContent } from '../../src/core/media-content.ts'
import type { MediaDescription } from '../../src/core/message.ts'
import { maxMediaBytes } from '../../src/core/message-body.ts'
import { mimetypeFault } from '../../src/core/mimetype-fault.ts'
import type { AttemptOutcome, Outcome } from '../../src/core/outcome.ts'
import { NotAcquired, Semaphore } from '../../src/platform/semaphore.ts'
import type { Needs } from '../../src/runtime.ts'
import type { MediaFetcher } from '../providers/fetch-media.ts'
import { type FetchedMedia, notInTime } from '../providers/media-answer.ts'
import type { Delivery, Provider } from '../providers/provider.ts'
import type { EnteredSend } from './attempt.ts'
import { withinTimeLimit } from './time-limit.ts'

/**
 * Shares of a worker's slots that may be fetching media at the same time: for one account, and for all together. An account's
 * first fetch is always permitted; otherwise a few accounts whose media hang would block the media of all others.
 */
export const shareOfAccount = 0.2
export const shareOfAll = 0.6
/** How long a send waits in its slot for a permit to fetch, before it goes back to the queue. */
export const waitInSlotMs = 200
export const firstDelayMs = 1000
export const longestDelayMs = 60_000
const watchedSends = 10_000
/** Media that arrived after the window of the call, on a channel with a rate. The next attempt takes it from here. */
export const lateMediaKept = { maxSize: 4 * maxMediaBytes, ttl: 600_000 }

const accountIsBusy = 'its account has reached its limit of concurrent media fetches'
const workerIsBusy = 'the worker has reached its limit of concurrent media fetches'

/** Fetched media, in the form in which it is sent. */
interface Taken {
  media: MediaDescription
  content: Buffer
}

type Fetch = (
  send: Pick<EnteredSend, 'requestId' | 'accountId' | 'provider' | 'tooLateAt'>,
  delivery: Delivery<unknown>,
) => Promise<Delivery<unknown> | AttemptOutcome>

/**
 * Fetches media given by a link, for a provider that takes only content (docs/reference/providers/smtp.md#the-mail). A fetch may
 * hang for as long as a call, and occupies a slot. So an account may have only a few fetches at a time; its further sends go
 * back to the queue, so that its media doesn't delay other accounts (docs/explanation/delivery.md#fetching-media).
 *
 * @returns the delivery with the content; or the result of the attempt, if the provider must not be called.
 */
export function mediaFetching(
  { settings }: Needs<never, 'PROVIDER_TIMEOUT_SECONDS' | 'WORKER_CONCURRENCY'>,
  providers: Readonly<Record<string, Provider>>,
): Fetch {
  const timeoutMs = settings.PROVIDER_TIMEOUT_SECONDS * 1000
  const part = (share: number) => Math.max(1, Math.floor(settings.WORKER_CONCURRENCY * share))
  const permits = new Semaphore({
    units: part(shareOfAll),
    unitsOfOwner: part(shareOfAccount),
    alwaysGrantsFirst: true,
  })
  const queues = fetchQueues(permits)
  const delays = new LRUCache<string, number>({ max: watchedSends })
  const lateMedia = new LRUCache<string, Taken>({
    ...lateMediaKept,
    sizeCalculation: ({ content }) => Math.max(1, content.length),
  })
  const putOff = (requestId: string, reason: string): AttemptOutcome => {
    const delayMs = delays.get(requestId) ?? firstDelayMs
    delays.set(requestId, Math.min(2 * delayMs, longestDelayMs))
    return { outcome: 'not_called', reason, delayMs }
  }
  const take = async (
    { requestId, accountId }: Pick<EnteredSend, 'requestId' | 'accountId'>,
    fetcher: MediaFetcher,
    media: MediaDescription,
  ): Promise<Taken | AttemptOutcome> => {
    const release = queues.isStuck(accountId) ? undefined : await permitOf(permits, accountId)
    if (!release) return putOff(requestId, permits.holdsShare(accountId) ? accountIsBusy : workerIsBusy)
    const link = { url: media.mediaUrl ?? '', owner: accountId }
    queues.moved(accountId)
    const fetched = await fetchInTime(fetcher, link, timeoutMs).finally(() => {
      release()
      queues.moved(accountId)
    })
    if (fetched.kind === 'put_off') {
      const { reason, delayMs } = fetched
      return delayMs === undefined ? putOff(requestId, reason) : { outcome: 'not_called', reason, delayMs }
    }
    delays.delete(requestId)
    return await mediaOf(media, fetched)
  }

  return async (send, delivery) => {
    const { media: fetcher } = providers[send.provider] ?? {}
    const { message } = delivery
    if (!fetcher || message.type !== 'media' || delivery.mediaContent) return delivery
    const { requestId, tooLateAt = Number.POSITIVE_INFINITY } = send
    const taken = lateMedia.get(requestId) ?? (await take(send, fetcher, message.media))
    if ('outcome' in taken) return taken
    if (performance.now() < tooLateAt) lateMedia.delete(requestId)
    else lateMedia.set(requestId, taken)
    return { ...delivery, message: { type: 'media', media: taken.media }, mediaContent: taken.content }
  }
}

/**
 * Knows whether an account's fetches hang: it is at its limit, and none has begun or ended for a while. A send that waited for
 * them would occupy its slot for nothing.
 */
function fetchQueues(permits: Semaphore) {
  const movedAt = new LRUCache<string, number>({ max: watchedSends })
  return {
    isStuck: (accountId: string) =>
      permits.holdsShare(accountId) && performance.now() - (movedAt.get(accountId) ?? 0) > waitInSlotMs,
    moved: (accountId: string) => void movedAt.set(accountId, performance.now()),
  }
}

async function permitOf(permits: Semaphore, owner: string): Promise<(() => void) | undefined> {
  return await permits.acquire({ units: 1, owner }, waitInSlotMs).catch((error: unknown) => {
    if (error instanceof NotAcquired) return undefined
    throw error
  })
}

const fetchInTime = (fetcher: MediaFetcher, media: { url: string; owner: string }, timeoutMs: number) =>
  withinTimeLimit<FetchedMedia>(timeoutMs, (signal, moved) => fetcher.fetch(media, signal, moved), notInTime)

/** Checks fetched media against its declared type, as the API does with base64 content. */
async function mediaOf(
  described: MediaDescription,
  fetched: Exclude<FetchedMedia, { kind: 'put_off' }>,
): Promise<Taken | Outcome> {
  if (fetched.kind === 'failed') return { outcome: 'retry_later', fault: 'message', reason: fetched.reason }
  if (fetched.kind === 'refused') return refused(fetched.reason)
  const { content, mimetype: served } = fetched
  const { mediaType, mimetype: declared } = described
  const recognised = await recognise(content)
  const fault = contentFault(mediaType, recognised)
  if (fault) return refused(`the content of the mediaUrl ${fault}`)
  const contradiction = declared && mimetypeFault(declared, recognised)
  if (contradiction) return refused(`the mimetype ${contradiction}`)
  const trusted = served && !mimetypeFault(served, recognised) ? served : undefined
  const mimetype = declared ?? trusted ?? typeOfContent(mediaType, recognised)
  return { media: { ...described, mimetype }, content }
}

const refused = (reason: string): Outcome => ({ outcome: 'rejected', fault: 'message', reason })
