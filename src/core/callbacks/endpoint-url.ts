import { clientPortIssue, isClientPort } from '../requests/client-port.ts'
import { parseUrl } from '../requests/parse-url.ts'
import {
  isAllowedPrivate,
  literalAddress,
  type Network,
  unreachableAddress,
} from '../requests/public-address.ts'

export const maxUrlLength = 2048

/** Ends the issue of an address that is not public; the address is before it. */
export const notPublic =
  'is not a public address; give a public one, or have its network allowed by CLIENT_PRIVATE_NETWORKS'

/**
 * Why an endpoint's URL can't be used; undefined if it can. The address of a host name is checked at each connection, because it may
 * change, also whether http may be used.
 */
export function endpointUrlIssue(
  text: string,
  allowedPrivateNetworks: readonly Network[],
): string | undefined {
  if (text.length > maxUrlLength) return `at most ${maxUrlLength} characters; give a shorter address`
  if (/[\s\p{Cc}]/u.test(text)) return 'contains white space; write it as %20, or leave it out'
  const url = /^https?:\/\/[^/]/i.test(text) ? parseUrl(text) : undefined
  if (!url) return 'has to be a URL, e.g. https://example.com/callbacks'
  if (url.username || url.password)
    return 'must not contain a user name or password; calls are authenticated by their signature'
  if (url.hash) return 'must not contain a fragment, which is never sent'
  if (!isClientPort(url.port)) return clientPortIssue
  const address = unreachableAddress(url, allowedPrivateNetworks)
  if (address) return `${address} ${notPublic}`
  return url.protocol === 'http:' ? plainIssue(url, allowedPrivateNetworks) : undefined
}

function plainIssue(url: URL, networks: readonly Network[]): string | undefined {
  const address = literalAddress(url.hostname)
  const mayBePrivate = address === undefined ? networks.length > 0 : isAllowedPrivate(address, networks)
  return mayBePrivate ? undefined : 'has to be https; http is only for addresses in CLIENT_PRIVATE_NETWORKS'
}
