import { parseUrl } from '../requests/parse-url.ts'
import {
  isAllowedPrivate,
  isLoopback,
  literalAddress,
  type Network,
  unreachableAddress,
} from '../requests/public-address.ts'

/** The fields of providers' configs that contain an address to call. */
const urlFields = ['url', 'baseUrl', 'tokenUrl']

/**
 * Why workers would not call an address in a provider's config, an IP address that is not public, or would call it in plain text. The
 * address of a host name is checked only when it is called.
 */
export function addressIssue(config: object, allowedPrivateNetworks: readonly Network[]): string | undefined {
  for (const [field, value] of Object.entries(config)) {
    const url = urlFields.includes(field) && typeof value === 'string' ? parseUrl(value) : undefined
    const address = url && unreachableAddress(url, allowedPrivateNetworks)
    if (address)
      return `${field}: ${address} is not a public address; to call it, allow its network by ALLOWED_PRIVATE_NETWORKS`
    if (url?.protocol === 'http:' && !mayBePlain(url, allowedPrivateNetworks))
      return `${field}: http would send credentials and contacts in plain text; use https, or allow the host's network by ALLOWED_PRIVATE_NETWORKS`
  }
  return undefined
}

/** Whether a host is this machine or in an allowed network, or a name that may lead to one. */
function mayBePlain({ hostname }: URL, networks: readonly Network[]): boolean {
  const address = literalAddress(hostname)
  if (isLoopback(hostname)) return true
  return address === undefined ? networks.length > 0 : isAllowedPrivate(address, networks)
}
