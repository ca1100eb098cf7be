import type { Context } from 'hono'
import ipaddr from 'ipaddr.js'
import { isInNetworks } from '../core/public-address.ts'
import type { Needs } from '../runtime.ts'
import type { ApiEnv } from './context.ts'

/**
 * The address of the client. X-Forwarded-For counts only if it was written by proxies in `TRUST_PROXY`: read from its end, the
 * first address outside those networks is the client's.
 */
export function clientAddressReader({ settings }: Needs<never, 'TRUST_PROXY'>) {
  return (c: Context<ApiEnv>): string => {
    let address = c.env.incoming.socket.remoteAddress ?? 'unknown'
    for (const hop of c.req.header('X-Forwarded-For')?.split(',').reverse() ?? []) {
      if (!ipaddr.isValid(address) || !isInNetworks(address, settings.TRUST_PROXY)) break
      address = withoutPort(hop.trim())
    }
    return address
  }
}

const withPort = /^(?:\[(?<v6>[^\]]*)\](?::\d+)?|(?<v4>[\d.]+):\d+)$/

/** Some proxies write the client's port behind its address: each connection would be another client. */
function withoutPort(hop: string): string {
  const { v4, v6 } = withPort.exec(hop)?.groups ?? {}
  return v4 ?? v6 ?? hop
}

/** Logs, once, that requests seem to come through a proxy although `TRUST_PROXY` is empty. */
export function unknownProxyWarner({ settings, log }: Needs<'log', 'TRUST_PROXY'>) {
  let isDone = settings.TRUST_PROXY.length > 0
  return (c: Context<ApiEnv>): void => {
    if (isDone || c.env.incoming.headers['x-forwarded-for'] === undefined) return
    isDone = true
    const advice = 'it is ignored; set TRUST_PROXY to the networks of your proxies to use it'
    log.warn({ event: 'x_forwarded_for_ignored', reason: advice })
  }
}
