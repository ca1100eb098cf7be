import { parseUrl } from './parse-url.ts'
import { type Network, unreachableAddress } from './public-address.ts'

/** The fields of providers' configs that contain an address to call. */
const urlFields = ['url', 'baseUrl']

/**
 * Why workers would not call an address in a provider's config: it is an IP address that is not public. The address of a host
 * name is checked only when it is called.
 */
export function addressIssue(config: object, allowedPrivateNetworks: readonly Network[]): string | undefined {
  for (const [field, value] of Object.entries(config)) {
    const url = urlFields.includes(field) && typeof value === 'string' ? parseUrl(value) : undefined
    const address = url && unreachableAddress(url, allowedPrivateNetworks)
    if (address)
      return `${field}: ${address} is not a public address; to call it, allow its network by ALLOWED_PRIVATE_NETWORKS`
  }
  return undefined
}
