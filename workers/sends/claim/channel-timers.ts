/** At most one timer for each channel. */
export class ChannelTimers {
  readonly #timers = new Map<string, NodeJS.Timeout>()
  readonly #onTime: (channelId: string) => void
  #isStopped = false

  constructor(onTime: (channelId: string) => void) {
    this.#onTime = onTime
  }

  has(channelId: string): boolean {
    return this.#timers.has(channelId)
  }

  /** Replaces the channel's timer. @param inMs null for none. */
  set(channelId: string, inMs: number | null): void {
    clearTimeout(this.#timers.get(channelId))
    this.#timers.delete(channelId)
    if (inMs === null || this.#isStopped) return
    const timer = setTimeout(() => {
      this.#timers.delete(channelId)
      this.#onTime(channelId)
    }, inMs)
    this.#timers.set(channelId, timer)
  }

  stop(): void {
    this.#isStopped = true
    for (const timer of this.#timers.values()) clearTimeout(timer)
  }
}
