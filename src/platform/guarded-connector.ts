import { promises as dns, type LookupAddress } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import { buildConnector } from 'undici'
import { isClientPort } from '../core/client-port.ts'
import { isAllowedPrivate, isReachable, type Network } from '../core/public-address.ts'
import { passOverInterimAnswers } from './interim-answers.ts'

export interface ConnectorOptions {
  /** Networks that may be reached in addition to public addresses. */
  allowedPrivateNetworks: readonly Network[]
  /** Who gave the URLs. Clients' may use the ports of `isClientPort` only. Default: operators. */
  givenBy?: 'operators' | 'clients'
  resolve?: (hostname: string) => Promise<LookupAddress[]>
  /** Whether http is for `allowedPrivateNetworks` only, so that nothing crosses the internet in plain text. */
  requiresTls?: boolean
  /** How long a connection may take, with its look-up and TLS. */
  connectMs?: number
}

/** The error code of a refused address. */
export const addressNotAllowed = 'ADDRESS_NOT_ALLOWED'
/** The error code of a refused port. */
export const portNotAllowed = 'PORT_NOT_ALLOWED'

const longestConnectMs = 5000

/**
 * Connects to allowed addresses only, so that a URL given by a client can't reach the internal network. Its connections pass over
 * interim answers.
 */
export function guardedConnector(options: ConnectorOptions): buildConnector.connector {
  const { allowedPrivateNetworks: networks, requiresTls = false } = options
  const tls = connectorTo((address) => isReachable(address, networks), options)
  if (!requiresTls) return tls
  const plain = connectorTo((address) => isAllowedPrivate(address, networks), options)
  return (target, callback) => (target.protocol === 'http:' ? plain : tls)(target, callback)
}

function connectorTo(
  isAllowed: (address: string) => boolean,
  {
    resolve = (hostname) => dns.lookup(hostname, { all: true }),
    connectMs = longestConnectMs,
    givenBy = 'operators',
  }: ConnectorOptions,
): buildConnector.connector {
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
    // A URL may have been accepted by a release that took any port.
    if (givenBy === 'clients' && !isClientPort(target.port))
      return queueMicrotask(() => callback(refusal(portNotAllowed), null))
    // Node.js doesn't call `lookup` for an IP address.
    if (isIP(target.hostname) !== 0 && !isAllowed(target.hostname))
      return queueMicrotask(() => callback(refusal(), null))
    connect(target, (...result) => {
      const [, socket] = result
      if (socket) passOverInterimAnswers(socket)
      callback(...result)
    })
  }
}
