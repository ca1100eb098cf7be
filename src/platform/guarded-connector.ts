import { promises as dns, type LookupAddress } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import { buildConnector } from 'undici'
import { isReachable, type Network } from '../core/public-address.ts'

export interface ConnectorOptions {
  /** Networks that may be reached in addition to public addresses. */
  allowedPrivateNetworks: readonly Network[]
  resolve?: (hostname: string) => Promise<LookupAddress[]>
  /** How long a connection may take, with its look-up and TLS. */
  connectMs?: number
}

/** The error code of a refused address. */
export const addressNotAllowed = 'ADDRESS_NOT_ALLOWED'

const longestConnectMs = 5000

/** Connects to allowed addresses only, so that a URL given by a client can't reach the internal network. */
export function guardedConnector({
  allowedPrivateNetworks,
  resolve = (hostname) => dns.lookup(hostname, { all: true }),
  connectMs = longestConnectMs,
}: ConnectorOptions): buildConnector.connector {
  const isAllowed = (address: string) => isReachable(address, allowedPrivateNetworks)
  const refusal = (code = addressNotAllowed) => Object.assign(new Error(code), { code })

  const checkedAddresses = async (hostname: string) => {
    const addresses = await resolve(hostname)
    // With an empty list, Node.js would throw where it can't be caught.
    if (addresses.length === 0) throw refusal('ENOTFOUND')
    // A name with both public and private addresses is refused: it is a mistake or an attack.
    if (!addresses.every(({ address }) => isAllowed(address))) throw refusal()
    return addresses
  }
  // `all` is false only if the operator has switched off Node.js's choice among several addresses.
  const lookup: LookupFunction = (hostname, { all }, callback) => {
    checkedAddresses(hostname).then(
      (addresses) => callback(null, all ? addresses : (addresses[0]?.address ?? ''), addresses[0]?.family),
      (error: Error) => callback(error, '', 0),
    )
  }
  const connect = buildConnector({ timeout: connectMs, allowH2: false, lookup })

  return (target, callback) => {
    // Node.js doesn't call `lookup` for an IP address.
    if (isIP(target.hostname) === 0 || isAllowed(target.hostname)) connect(target, callback)
    else queueMicrotask(() => callback(refusal(), null))
  }
}
