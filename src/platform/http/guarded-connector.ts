import { promises as dns, type LookupAddress } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import { buildConnector } from 'undici'
import { isClientPort } from '../../core/requests/client-port.ts'
import { isAllowedPrivate, isReachable, type Network } from '../../core/requests/public-address.ts'
import { lookUpError } from '../process/own-shortage.ts'
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
/** The error code of a public address that may be called by https alone. */
export const tlsNeeded = 'TLS_NEEDED'
/** The error code of a refused port. */
export const portNotAllowed = 'PORT_NOT_ALLOWED'

const longestConnectMs = 5000

const lookUp = (hostname: string) =>
  dns.lookup(hostname, { all: true }).catch((error: NodeJS.ErrnoException) => {
    throw lookUpError(error)
  })

/**
 * Connects to allowed addresses only, so that a URL given by a client can't reach the internal network. Its connections pass over
 * interim answers.
 */
export function createGuardedConnector(options: ConnectorOptions): buildConnector.connector {
  const { allowedPrivateNetworks: networks, requiresTls = false } = options
  const refusalOf: RefusalOf = (addresses) =>
    addresses.every((address) => isReachable(address, networks)) ? undefined : addressNotAllowed
  const tls = connectorTo(refusalOf, options)
  if (!requiresTls) return tls
  const refusalInClear: RefusalOf = (addresses) =>
    addresses.every((address) => isAllowedPrivate(address, networks)) ? undefined : tlsNeeded
  const plain = connectorTo((addresses) => refusalOf(addresses) ?? refusalInClear(addresses), options)
  return (target, callback) => (target.protocol === 'http:' ? plain : tls)(target, callback)
}

/** The error code if one of a host's addresses may not be connected to. */
type RefusalOf = (addresses: readonly string[]) => string | undefined

function connectorTo(
  refusalOf: RefusalOf,
  { resolve = lookUp, connectMs = longestConnectMs, givenBy = 'operators' }: ConnectorOptions,
): buildConnector.connector {
  const refusal = (code: string) => Object.assign(new Error(code), { code })

  const checkedAddresses = async (hostname: string) => {
    const addresses = await resolve(hostname)
    // Node.js would throw on an empty list, where it can't be caught.
    if (addresses.length === 0) throw refusal('ENOTFOUND')
    // A name with both public and private addresses is refused: it is a mistake or an attack.
    const code = refusalOf(addresses.map(({ address }) => address))
    if (code) throw refusal(code)
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
    const code = isIP(target.hostname) === 0 ? undefined : refusalOf([target.hostname])
    if (code) return queueMicrotask(() => callback(refusal(code), null))
    connect(target, (...result) => {
      const [, socket] = result
      if (socket) passOverInterimAnswers(socket)
      callback(...result)
    })
  }
}
