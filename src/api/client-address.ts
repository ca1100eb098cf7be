import type { Context } from 'hono'
import ipaddr from 'ipaddr.js'
import { isInNetworks } from '../core/public-address.ts'
import type { Runtime } from '../platform/runtime.ts'
import type { ApiEnv } from './context.ts'

/**
 * The address a request comes from. X-Forwarded-For counts only as far as the proxies that wrote it are in
 * `TRUST_PROXY`: read from its end, the first address outside those networks is the client's.
 */
export function clientAddressReader({ settings, log }: Runtime) {
  let warned = false
  return (c: Context<ApiEnv>): string => {
    const sender = c.env.incoming.socket.remoteAddress ?? 'unknown'
    const forwarded = c.req.header('X-Forwarded-For')
    if (forwarded === undefined) return sender
    if (settings.TRUST_PROXY.length === 0 && !warned) {
      warned = true
      const advice = 'it is ignored; set TRUST_PROXY to the networks of your proxies to use it'
      log.warn({ event: 'x_forwarded_for_ignored', reason: advice })
    }
    let address = sender
    for (const hop of forwarded.split(',').reverse()) {
      if (!ipaddr.isValid(address) || !isInNetworks(address, settings.TRUST_PROXY)) break
      address = hop.trim()
    }
    return address
  }
}
