import type { ChannelMoment } from '../../db/receipts/awaited-receipts.ts'
import { type Logger, logWarningOnceAMinute } from '../platform/log/logger.ts'

/** So seldom that the channels' rows, which every send reads, hardly change. */
const flushAfterMs = 30_000

/**
 * Gathers what happens on channels, and writes it now and then: a moment for each channel. A process that dies loses half a minute
 * of it, which only makes an alert less exact.
 *
 * @param which whether a channel's first or last moment since the last write counts.
 */
export function channelMoments(
  log: Logger,
  which: 'first' | 'last',
  write: (moments: ChannelMoment[]) => Promise<void>,
  afterMs = flushAfterMs,
) {
  const moments = new Map<string, Date>()
  let timer: NodeJS.Timeout | undefined
  const flush = async () => {
    timer = undefined
    const batch = [...moments].map(([channelId, at]) => ({ channelId, at }))
    moments.clear()
    await write(batch).catch((error: unknown) => logWarningOnceAMinute(log, 'receipts_not_noted', error))
  }
  return {
    note(channelId: string, at: Date): void {
      if (which === 'last' || !moments.has(channelId)) moments.set(channelId, at)
      timer ??= setTimeout(flush, afterMs).unref()
    },
    /** Writes at once what was gathered. */
    async flush(): Promise<void> {
      clearTimeout(timer)
      if (moments.size > 0) await flush()
    },
  }
}
