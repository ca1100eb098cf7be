import { setTimeout as sleep } from 'node:timers/promises'
import { isUnavailable } from '../../db/connection/errors.ts'
import { agreeOnShards, readShardCounts } from '../../db/delivery/queue-shards.ts'
import type { Clients } from '../platform/clients.ts'
import { logWarningOnceAMinute } from '../platform/log/logger.ts'
import type { Settings } from '../platform/settings/settings.ts'

type Own = Pick<Settings, 'QUEUE_SHARDS' | 'QUEUE_SHARDS_PREVIOUS'>

const askEveryMs = { whileItDiffers: 1000, whileItAgrees: 5000 }

/**
 * Holds a process to the number of shards that is in force, which PostgreSQL keeps. A wake-up on a shard that no worker serves
 * would wait until the reconciler adds it elsewhere, and an account's rate limit would be counted twice. Only workers change
 * the number, so that no API adds to shards before a worker serves them (docs/decisions/0042-shards.md).
 */
export class ShardsInForce {
  readonly #runtime: Pick<Clients<Own>, 'db' | 'log' | 'settings'>
  #mayChange: boolean
  readonly #stopping = new AbortController()
  #reason: string | undefined

  constructor(runtime: Pick<Clients<Own>, 'db' | 'log' | 'settings'>, { mayChange = false } = {}) {
    this.#runtime = runtime
    this.#mayChange = mayChange
  }

  /**
   * Resolves when this process's number is in force, or PostgreSQL doesn't answer: then the process begins with its own. It is
   * compared again every 5 s.
   */
  async agreed(): Promise<void> {
    await this.#ask()
    while (this.#reason !== undefined && !this.#stopping.signal.aborted) {
      await this.#pause(askEveryMs.whileItDiffers)
      await this.#ask()
    }
    void this.#keepAsking()
  }

  /** Why the process isn't ready: another number is in force. */
  reasonNotReady(): string | undefined {
    return this.#reason
  }

  stop(): void {
    this.#stopping.abort()
  }

  async #keepAsking(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      await this.#pause(askEveryMs.whileItAgrees)
      await this.#ask()
    }
  }

  async #pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#stopping.signal, ref: false }).catch(() => {})
  }

  async #ask(): Promise<void> {
    if (this.#stopping.signal.aborted) return
    const { db, log, settings } = this.#runtime
    const own = { count: settings.QUEUE_SHARDS, previous: settings.QUEUE_SHARDS_PREVIOUS ?? null }
    try {
      if (this.#mayChange) await agreeOnShards(db, own)
      const inForce = await readShardCounts(db)
      const agrees = !inForce || own.count === inForce.count || own.count === inForce.previous
      const reason = agrees
        ? undefined
        : `QUEUE_SHARDS is ${own.count}, but ${inForce.count} is in force: see docs/how-to/shard-the-queue.md.`
      if (reason !== undefined && reason !== this.#reason) log.warn({ event: 'queue_shards_differ', reason })
      this.#reason = reason
      // Only once: workers of two releases would otherwise take turns.
      if (agrees) this.#mayChange = false
    } catch (error) {
      // The shards in force stay. The process reports by itself that PostgreSQL is away.
      if (!isUnavailable(error) && !this.#stopping.signal.aborted)
        logWarningOnceAMinute(log, 'queue_shards_unknown', error)
    }
  }
}
