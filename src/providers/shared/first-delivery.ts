import { v7 as uuidv7 } from 'uuid'
import type { Delivery } from '../delivery.ts'

/** The first attempt at a send that no channel has, such as one that is tried. */
export function firstDelivery<Config>(
  given: Pick<Delivery<Config>, 'contact' | 'message' | 'mediaContent' | 'config'>,
): Delivery<Config> {
  return {
    requestId: uuidv7(),
    channelId: uuidv7(),
    conversationId: uuidv7(),
    flowId: null,
    reference: null,
    attempt: 1,
    expiresInMs: null,
    ...given,
  }
}
