import { LRUCache } from 'lru-cache'
import { maxMediaBytes } from '../../../src/core/messages/message-body.ts'
import { lateMediaKeptMs, waitInSlotMs } from '../../../src/core/sends/delivery-times.ts'
import type { AttemptOutcome } from '../../../src/core/sends/outcome.ts'
import type { Reservation } from '../../../src/platform/memory/memory-budget.ts'
import { NotAcquired, Semaphore } from '../../../src/platform/memory/semaphore.ts'
import type { Delivery } from '../../../src/providers/delivery.ts'
import type { Needs } from '../../../src/runtime.ts'
import { type FetchedMedia, noMemory, notInTime } from '../../http/media-answer.ts'
import type { MediaFetcher, MediaLink } from '../../http/media-fetcher.ts'
import { withinTimeLimit } from '../../http/time-limit.ts'
import type { Senders } from '../../providers/index.ts'
import type { EnteredSend } from '../send-states.ts'
import { tryReserve } from './media-memory.ts'
import { PutOffs } from './put-off.ts'
import { hasLinks, takeAll } from './take-links.ts'

/**
 * Shares of a worker's slots that may be fetching media at the same time: for one account, and for all together. An account's
 * first fetch may always begin; otherwise a few accounts whose media hang would block the media of all others.
 */
export const shareOfAccount = 0.2
export const shareOfAll = 0.6
const watchedAccounts = 10_000
/** Media that arrived after the window of the call, on a channel with a rate. The next attempt takes it from here. */
export const lateMediaBytes = 4 * maxMediaBytes

const accountIsBusy = 'its account has reached its limit of concurrent media fetches'
const workerIsBusy = 'the worker has reached its limit of concurrent media fetches'

/** What is sent in place of links, in the form in which it is sent. */
type Taken = Pick<Delivery<unknown>, 'message' | 'mediaContent' | 'attachmentContents'> & {
  fetchedBytes: number
}

type Fetch = (
  send: Pick<EnteredSend, 'requestId' | 'accountId' | 'provider' | 'tooLateAt'>,
  delivery: Delivery<unknown>,
  /** For the content; released when the attempt has ended. */
  memory: Reservation,
) => Promise<Delivery<unknown> | AttemptOutcome>

/**
 * Fetches media given by a link, for a provider that takes only content (docs/reference/providers/smtp.md#the-mail). A fetch may
 * hang for as long as a call, and occupies a slot. So an account may have only a few fetches at a time; its further sends go
 * back to the queue, so that its media doesn't delay other accounts (docs/explanation/delivery.md#fetching-media).
 *
 * @returns the delivery with the content; or the result of the attempt, if the provider must not be called.
 */
export function createFetchLinkedMedia(
  { settings }: Needs<never, 'PROVIDER_TIMEOUT_SECONDS' | 'WORKER_CONCURRENCY'>,
  senders: Senders,
  putOffs = new PutOffs(),
): Fetch {
  const timeoutMs = settings.PROVIDER_TIMEOUT_SECONDS * 1000
  const fetches = fetchLimit(settings.WORKER_CONCURRENCY)
  const queues = fetchQueues(fetches)
  const lateMedia = new LRUCache<string, Taken>({
    maxSize: lateMediaBytes,
    ttl: lateMediaKeptMs,
    // The entry also holds the stored bytes.
    sizeCalculation: ({ mediaContent, attachmentContents = [] }) =>
      [mediaContent, ...attachmentContents].reduce((sum, content) => sum + (content?.length ?? 0), 1),
  })
  const take = async (
    { requestId, accountId }: Pick<EnteredSend, 'requestId' | 'accountId'>,
    fetcher: MediaFetcher,
    delivery: Delivery<unknown>,
    memory: Reservation,
  ): Promise<Taken | AttemptOutcome> => {
    const release = queues.isStuck(accountId) ? undefined : await beginFetch(fetches, accountId)
    if (!release)
      return putOffs.putOff(requestId, fetches.holdsShare(accountId) ? accountIsBusy : workerIsBusy)
    queues.moved(accountId)
    const fetchOne = (url: string) => fetchInTime(fetcher, { url, memory }, timeoutMs)
    const taken = await takeAll(delivery, fetchOne).finally(() => {
      release()
      queues.moved(accountId)
    })
    if ('outcome' in taken || !('kind' in taken)) {
      putOffs.forget(requestId)
      return taken
    }
    const { reason, delayMs, shortage } = taken
    if (shortage) return { outcome: 'not_called', reason, shortage }
    return delayMs === undefined
      ? putOffs.putOff(requestId, reason)
      : { outcome: 'not_called', reason, delayMs }
  }

  return async (send, delivery, memory) => {
    const { media: fetcher } = senders(send.provider) ?? {}
    if (!fetcher || !hasLinks(delivery)) return delivery
    const { requestId, tooLateAt = Number.POSITIVE_INFINITY } = send
    const late = lateMedia.get(requestId)
    if (late && !(await tryReserve(memory, late.fetchedBytes)))
      return putOffs.putOff(requestId, noMemory.reason)
    const taken = late ?? (await take(send, fetcher, delivery, memory))
    if ('outcome' in taken) return taken
    if (performance.now() < tooLateAt) lateMedia.delete(requestId)
    else lateMedia.set(requestId, taken)
    const { fetchedBytes: _, ...contents } = taken
    return { ...delivery, ...contents }
  }
}

function fetchLimit(slots: number): Semaphore {
  const part = (share: number) => Math.max(1, Math.floor(slots * share))
  return new Semaphore({
    units: part(shareOfAll),
    unitsOfOwner: part(shareOfAccount),
    alwaysGrantsFirst: true,
  })
}

/**
 * Knows whether an account's fetches hang: it is at its limit, and none has begun or ended for a while. A send that waited for
 * them would occupy its slot for nothing.
 */
function fetchQueues(fetches: Semaphore) {
  const movedAt = new LRUCache<string, number>({ max: watchedAccounts })
  return {
    isStuck: (accountId: string) =>
      fetches.holdsShare(accountId) && performance.now() - (movedAt.get(accountId) ?? 0) > waitInSlotMs,
    moved: (accountId: string) => void movedAt.set(accountId, performance.now()),
  }
}

async function beginFetch(fetches: Semaphore, owner: string): Promise<(() => void) | undefined> {
  return await fetches.acquire({ units: 1, owner }, waitInSlotMs).catch((error: unknown) => {
    if (error instanceof NotAcquired) return undefined
    throw error
  })
}

const fetchInTime = (fetcher: MediaFetcher, media: MediaLink, timeoutMs: number) =>
  withinTimeLimit<FetchedMedia>(timeoutMs, (signal, moved) => fetcher.fetch(media, signal, moved), notInTime)
