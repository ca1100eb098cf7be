import type { AttemptOutcome } from '../../src/core/sends/outcome.ts'
import type { Delivery } from '../../src/providers/delivery.ts'
import type { MediaFetcher } from '../http/media-fetcher.ts'
import type { Moved } from '../http/time-limit.ts'

/**
 * Sends by one provider. It makes one call and returns what happened as an outcome; it never retries, and the pipeline decides
 * what follows. It should never throw: an error counts as uncertain. `not_called`: this machine couldn't begin the call.
 */
export interface Sender<Config = unknown> {
  /**
   * @param signal aborted when the call's time limit is reached; then the outcome is uncertain if anything may have been sent.
   * @param moved to be called with the number of bytes of large content, as they are written.
   */
  send(delivery: Delivery<Config>, signal: AbortSignal, moved?: Moved): Promise<AttemptOutcome>
  /** Fetches media before the call, for a provider that takes no links. */
  media?: MediaFetcher
  /** Closes its open connections. */
  close?(): Promise<void>
}
