import type { Senders } from '../../workers/providers/index.ts'
import type { Sender } from '../../workers/providers/sender.ts'

/** Every provider sends like this one. */
export const alikeProviders =
  (provider: Sender): Senders =>
  () =>
    provider
