import ipaddr from 'ipaddr.js'

const [globalIpv6, globalIpv6Bits] = ipaddr.parseCIDR('2000::/3')

export type Network = [ipaddr.IPv4 | ipaddr.IPv6, number]

/** @throws where the text is no CIDR, e.g. `10.0.0.0/8` or `fd00::/8`. */
export function parseNetwork(cidr: string): Network {
  return ipaddr.parseCIDR(cidr)
}

export function isInNetworks(address: string, networks: readonly Network[]): boolean {
  const parsed = ipaddr.process(address)
  return networks.some(([base, bits]) => parsed.kind() === base.kind() && parsed.match(base, bits))
}

/** Whether an address may be reached on a client's word: a public one, or one in the networks the operator allows. */
export function isReachable(address: string, allowedPrivateNetworks: readonly Network[]): boolean {
  return isPublic(address) || isInNetworks(address, allowedPrivateNetworks)
}

function isPublic(address: string): boolean {
  const parsed = ipaddr.process(address)
  if (parsed.range() !== 'unicast') return false
  // The library calls unicast whatever has no other name; of IPv6 only this part is given out.
  return parsed.kind() === 'ipv4' || parsed.match(globalIpv6, globalIpv6Bits)
}

/** The address that a URL's host is written as (the URL parser has turned hex, octal and short forms into dotted ones). */
export function literalAddress(hostname: string): string | undefined {
  const bare = hostname.replace(/^\[|\]$/g, '')
  return ipaddr.isValid(bare) ? bare : undefined
}

/** The address that a URL names as its host and that may not be reached; undefined where it is a name, or may be. */
export function unreachableAddress(url: URL, allowedPrivateNetworks: readonly Network[]): string | undefined {
  const address = literalAddress(url.hostname)
  return address && !isReachable(address, allowedPrivateNetworks) ? address : undefined
}

/** Whether a host, as a URL or a setting writes it, is this machine alone. */
export function isLoopback(host: string): boolean {
  if (/^([^.]+\.)*localhost$/i.test(host)) return true
  const address = literalAddress(host)
  return address !== undefined && ipaddr.process(address).range() === 'loopback'
}
