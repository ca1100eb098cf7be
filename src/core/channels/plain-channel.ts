import {
  isAllowedPrivate,
  isLoopback,
  isReachable,
  literalAddress,
  type Network,
} from '../requests/public-address.ts'
import type { ShownConfig } from './shown-config.ts'

/**
 * The warning about a channel whose config lets it call in plain text, from before such configs were refused; undefined if there is none.
 *
 * @param networks the allowed ones, where the process knows them. A host name may lead to one of them.
 */
export function plainWarning(
  shown: ShownConfig | null,
  networks: readonly Network[] = [],
): string | undefined {
  if (!shown) return undefined
  for (const field of ['url', 'baseUrl']) {
    const text = String(shown[field] ?? '')
    if (text.startsWith('http:') && mayBePublic(new URL(text).hostname, networks))
      return `${field} is plain http, which workers call only inside allowed networks: use https`
  }
  return shown.requireTls === false && shown.secure !== true && mayBePublic(String(shown.host), networks)
    ? 'requireTls is false, so that mails may cross the internet in plain text: remove it from the config'
    : undefined
}

function mayBePublic(host: string, networks: readonly Network[]): boolean {
  if (isLoopback(host)) return false
  const address = literalAddress(host)
  if (address === undefined) return networks.length === 0
  return isReachable(address, []) && !isAllowedPrivate(address, networks)
}
