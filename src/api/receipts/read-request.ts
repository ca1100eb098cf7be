import type { Context } from 'hono'
import type { ReceiptRequest } from '../../core/receipts/receipt.ts'
import { createReadClientAddress } from '../../platform/http/client-address.ts'
import { MemoryBudget } from '../../platform/memory/memory-budget.ts'
import type { Needs } from '../../runtime.ts'
import { refuseEncoded } from '../body/body-headers.ts'
import { receive, tooLarge } from '../body/receive.ts'
import { type ApiEnv, factory } from '../context.ts'
import type { ClientTimeouts } from '../http/client-timeouts.ts'

/** WhatsApp's requests are the largest, with up to 3 MB. */
export const maxReceiptBytes = 4 * 1024 * 1024
/** Memory for large bodies whose proof isn't checked yet. */
const receivedBytes = 64 * 1024 * 1024

/** Refuses by the headers, before anything is read or queried. */
export const refuseUnfitBody = factory.createMiddleware((c, next) => {
  const { headers } = c.env.incoming
  if (Number(headers['content-length'] ?? 0) > maxReceiptBytes) throw tooLarge(maxReceiptBytes)
  refuseEncoded(headers)
  return next()
})

/** Reads the request with the bytes of its body, which its signature covers. */
export function createReadRequest(
  runtime: Needs<'clock', 'PUBLIC_BASE_URL' | 'TRUST_PROXY'>,
  timeouts: ClientTimeouts,
) {
  const { clock, settings } = runtime
  const clientAddress = createReadClientAddress(runtime)
  const memory = new MemoryBudget({ bytes: receivedBytes, waitMs: timeouts.queuedMs })
  return async (c: Context<ApiEnv>): Promise<ReceiptRequest> => {
    const { incoming } = c.env
    // Released when the body is received: parsing and recording it take one moment.
    const reservation = memory.reservationFor(clientAddress(incoming))
    try {
      const pieces = await receive(incoming, maxReceiptBytes, timeouts, reservation)
      return {
        headers: incoming.headers,
        target: incoming.url ?? '',
        body: Buffer.concat(pieces),
        publicBaseUrl: settings.PUBLIC_BASE_URL,
        nowMs: clock.nowMs(),
      }
    } finally {
      reservation.release()
    }
  }
}
