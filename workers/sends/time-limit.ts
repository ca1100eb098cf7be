/** 2 Mbit/s. A call whose bytes move more slowly counts as one that hangs. */
const slowestBytesPerSecond = 250_000
const timeToReadMs = 50
const timeToHeedMs = 500

/** To be called with the number of bytes as they go out, or come in: the work then has more time. */
export type Moved = (bytes: number) => void

/**
 * The one rule of how long a call to a provider, or a fetch of media, may take: `PROVIDER_TIMEOUT_SECONDS` after its
 * last bytes have moved, and in all no longer than that and the time in which a slow line moves as many bytes. So large
 * media has the time that it needs, and what hangs or trickles ends as soon as what is small.
 */
const timeLimitMs = (timeoutMs: number, moved: { bytes: number; forMs: number }) =>
  timeoutMs + Math.min(moved.forMs, (moved.bytes / slowestBytesPerSecond) * 1000)

/**
 * Aborts the work when its time is over; if it doesn't heed that, it is left behind: it must not hold its slot.
 *
 * @param leftBehind what the work then comes to.
 */
export async function withinTimeLimit<Result>(
  timeoutMs: number,
  work: (signal: AbortSignal, moved: Moved) => Promise<Result>,
  leftBehind: Result,
): Promise<Result> {
  const startedAt = performance.now()
  const abort = new AbortController()
  const sinceStartMs = () => performance.now() - startedAt
  const moved = { bytes: 0, forMs: 0 }
  let timer: NodeJS.Timeout | undefined
  const after = (ms: number, then: () => void) => {
    timer = setTimeout(then, ms)
  }
  const isLeftBehind = new Promise<Result>((resolve) => {
    const end = () => {
      abort.abort()
      after(timeToHeedMs, () => resolve(leftBehind))
    }
    const look = () => {
      const leftMs = timeLimitMs(timeoutMs, moved) - sinceStartMs()
      // A process that was frozen finds its time over and the answers come: these are read first.
      if (leftMs > 0) after(leftMs, look)
      else after(timeToReadMs, end)
    }
    after(timeoutMs, look)
  })
  const onMoved: Moved = (bytes) => {
    moved.bytes += bytes
    moved.forMs = sinceStartMs()
  }
  try {
    return await Promise.race([work(abort.signal, onMoved), isLeftBehind])
  } finally {
    clearTimeout(timer)
  }
}
