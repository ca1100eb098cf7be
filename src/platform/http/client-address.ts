import type { IncomingMessage } from 'node:http'
import ipaddr from 'ipaddr.js'
import { isInNetworks } from '../../core/requests/public-address.ts'
import type { Clients } from '../clients.ts'
import type { Settings } from '../settings/settings.ts'

type TrustSettings = Pick<Settings, 'TRUST_PROXY'>

/**
 * The address of the client. X-Forwarded-For counts only if it was written by proxies in `TRUST_PROXY`: read from its end, the
 * first address outside those networks is the client's.
 */
export function createReadClientAddress({ settings }: { settings: TrustSettings }) {
  return ({ socket, headers }: IncomingMessage): string => {
    let address = withoutPrefix(socket.remoteAddress ?? 'unknown')
    for (const hop of forwardedFor(headers)?.split(',').reverse() ?? []) {
      if (!isProxy(address, settings)) break
      address = withoutPrefix(withoutPort(hop.trim()))
    }
    return address
  }
}

/** Whether the request comes from a proxy in `TRUST_PROXY`, whose headers may be believed. */
export function isFromProxy({ socket }: IncomingMessage, settings: TrustSettings): boolean {
  return isProxy(socket.remoteAddress ?? 'unknown', settings)
}

const isProxy = (address: string, { TRUST_PROXY }: TrustSettings) =>
  ipaddr.isValid(address) && isInNetworks(address, TRUST_PROXY)

/** Node.js joins headers that came more than once. */
const forwardedFor = (headers: IncomingMessage['headers']) => headers['x-forwarded-for'] as string | undefined

const withPort = /^(?:\[(?<v6>[^\]]*)\](?::\d+)?|(?<v4>[\d.]+):\d+)$/

/** Some proxies write the client's port behind its address: each connection would be another client. */
function withoutPort(hop: string): string {
  const { v4, v6 } = withPort.exec(hop)?.groups ?? {}
  return v4 ?? v6 ?? hop
}

/** A socket at `[::]` has IPv4 clients as `::ffff:192.0.2.1`: in the audit and the log one client would be two. */
const withoutPrefix = (address: string) => address.replace(/^::ffff:(?=[\d.]+$)/i, '')

/** Logs, once, that requests seem to come through a proxy although `TRUST_PROXY` is empty. */
export function createWarnOfUnknownProxy({
  settings,
  log,
}: Pick<Clients<TrustSettings>, 'settings' | 'log'>) {
  let isDone = settings.TRUST_PROXY.length > 0
  return ({ headers }: IncomingMessage): void => {
    if (isDone || forwardedFor(headers) === undefined) return
    isDone = true
    const advice = 'it is ignored; set TRUST_PROXY to the networks of your proxies to use it'
    log.warn({ event: 'x_forwarded_for_ignored', reason: advice })
  }
}
