/** A request with receipts. */
export interface Report {
  url: string
  headers: Record<string, string>
  body: string
}

/** Providers give up, or wait for minutes. An emulator tries for some seconds. */
const tries = 5
const retryAfterMs = 500

/** Sends reports like a provider: some time after its answer, and again unless they are taken. */
export function createReports() {
  const stopping = new AbortController()
  const timers = new Set<NodeJS.Timeout>()
  const later = (afterMs: number, report: Report, triesLeft = tries) => {
    const timer = setTimeout(async () => {
      timers.delete(timer)
      const isTaken = await post(report, stopping.signal)
      if (!isTaken && triesLeft > 1 && !stopping.signal.aborted) later(retryAfterMs, report, triesLeft - 1)
    }, afterMs)
    timers.add(timer)
  }
  return {
    later,
    stop() {
      stopping.abort()
      for (const timer of timers) clearTimeout(timer)
    },
  }
}

async function post({ url, headers, body }: Report, signal: AbortSignal): Promise<boolean> {
  try {
    const response = await fetch(url, { method: 'POST', headers, body, signal })
    await response.arrayBuffer()
    return response.status === 200
  } catch {
    return false
  }
}
