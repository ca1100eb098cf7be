/** 2 Mbit/s. A transfer slower than this counts as hanging. */
export const slowestBytesPerSecond = 250_000
const timeToReadMs = 50
const timeToHeedMs = 500

/** Called with the number of bytes that were sent or received; extends the time limit. */
export type Moved = (bytes: number) => void

/**
 * The time limit of a call to a provider, or of a fetch of media: `PROVIDER_TIMEOUT_SECONDS` after its last bytes were
 * transferred, but at most that plus the time in which a slow line transfers as many bytes. So large media gets the time that
 * it needs, and a transfer that hangs or trickles ends as soon as a small one.
 */
const timeLimitMs = (timeoutMs: number, moved: { bytes: number; forMs: number }) =>
  timeoutMs + Math.min(moved.forMs, (moved.bytes / slowestBytesPerSecond) * 1000)

/**
 * Aborts the work at its time limit. If the work ignores the signal, stops waiting for it, so that it doesn't keep its slot.
 *
 * @param ignored the result of work that ignores the signal.
 */
export async function withinTimeLimit<Result>(
  timeoutMs: number,
  work: (signal: AbortSignal, moved: Moved) => Promise<Result>,
  ignored: Result,
): Promise<Result> {
  const startedAt = performance.now()
  const abort = new AbortController()
  const sinceStartMs = () => performance.now() - startedAt
  const moved = { bytes: 0, forMs: 0 }
  let timer: NodeJS.Timeout | undefined
  let reading: NodeJS.Immediate | undefined
  const after = (ms: number, then: () => void) => {
    timer = setTimeout(then, ms)
  }
  const timeOver = new Promise<Result>((resolve) => {
    const end = () => {
      abort.abort()
      after(timeToHeedMs, () => resolve(ignored))
    }
    // Node.js reads what has arrived before it runs an immediate, but not before every timer.
    const endAfterReading = () => {
      reading = setImmediate(end)
    }
    const check = () => {
      const leftMs = timeLimitMs(timeoutMs, moved) - sinceStartMs()
      // After the process was frozen, the time is over although answers may have arrived. These answers are read first.
      if (leftMs > 0) after(leftMs, check)
      else after(timeToReadMs, endAfterReading)
    }
    after(timeoutMs, check)
  })
  const onMoved: Moved = (bytes) => {
    moved.bytes += bytes
    moved.forMs = sinceStartMs()
  }
  try {
    return await Promise.race([work(abort.signal, onMoved), timeOver])
  } finally {
    clearTimeout(timer)
    clearImmediate(reading)
  }
}
