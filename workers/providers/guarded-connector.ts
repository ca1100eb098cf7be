import { promises as dns, type LookupAddress } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import { buildConnector } from 'undici'
import { isReachable, type Network } from '../../src/core/public-address.ts'

export interface ConnectorOptions {
  /** What may be reached besides public addresses. */
  allowedPrivateNetworks: readonly Network[]
  resolve?: (hostname: string) => Promise<LookupAddress[]>
}

/** The code of the error where it refuses. */
export const addressNotAllowed = 'ADDRESS_NOT_ALLOWED'

const longestConnectMs = 5000

/** Opens connections to checked addresses only: a URL is a client's word, and must not reach into our network. */
export function guardedConnector({
  allowedPrivateNetworks,
  resolve = (hostname) => dns.lookup(hostname, { all: true }),
}: ConnectorOptions): buildConnector.connector {
  const isAllowed = (address: string) => isReachable(address, allowedPrivateNetworks)
  const refusal = (code = addressNotAllowed) => Object.assign(new Error(code), { code })

  const checkedAddresses = async (hostname: string) => {
    const addresses = await resolve(hostname)
    // Node throws where nobody can catch it when it gets none.
    if (addresses.length === 0) throw refusal('ENOTFOUND')
    // A name that means public and private addresses is refused whole: it is a mistake, or an attempt at it.
    if (!addresses.every(({ address }) => isAllowed(address))) throw refusal()
    return addresses
  }
  // Asked for one address only where the operator has switched off Node's choice among several.
  const lookup: LookupFunction = (hostname, { all }, callback) => {
    checkedAddresses(hostname).then(
      (addresses) => callback(null, all ? addresses : (addresses[0]?.address ?? ''), addresses[0]?.family),
      (error: Error) => callback(error, '', 0),
    )
  }
  const connect = buildConnector({ timeout: longestConnectMs, allowH2: false, lookup })

  return (target, callback) => {
    // Node doesn't look up what is an address already.
    if (isIP(target.hostname) === 0 || isAllowed(target.hostname)) connect(target, callback)
    else queueMicrotask(() => callback(refusal(), null))
  }
}
