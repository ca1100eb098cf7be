import ipaddr from 'ipaddr.js'

const [globalIpv6, globalIpv6Bits] = ipaddr.parseCIDR('2000::/3')

export type Network = [ipaddr.IPv4 | ipaddr.IPv6, number]

/** @throws if the text is no CIDR, such as `10.0.0.0/8` or `fd00::/8`. */
export function parseNetwork(cidr: string): Network {
  return ipaddr.parseCIDR(cidr)
}

export function isInNetworks(address: string, networks: readonly Network[]): boolean {
  const parsed = ipaddr.process(address)
  return networks.some(([base, bits]) => parsed.kind() === base.kind() && parsed.match(base, bits))
}

/** Whether an address given by a client may be called: a public one, or one in the networks that the operator allows. */
export function isReachable(address: string, allowedPrivateNetworks: readonly Network[]): boolean {
  return isPublic(address) || isInNetworks(address, allowedPrivateNetworks)
}

function isPublic(address: string): boolean {
  const parsed = ipaddr.process(address)
  if (parsed.range() !== 'unicast') return false
  // The library calls every other address unicast, but only this part of IPv6 is allocated.
  return parsed.kind() === 'ipv4' || parsed.match(globalIpv6, globalIpv6Bits)
}

/** The IP address of a host that is written as one. The URL parser has converted hex, octal and short forms already. */
export function literalAddress(hostname: string): string | undefined {
  const bare = hostname.replace(/^\[|\]$/g, '')
  return ipaddr.isValid(bare) ? bare : undefined
}

/** The host of a URL, if it is an IP address that may not be called; else undefined. */
export function unreachableAddress(url: URL, allowedPrivateNetworks: readonly Network[]): string | undefined {
  const address = literalAddress(url.hostname)
  return address && !isReachable(address, allowedPrivateNetworks) ? address : undefined
}

/** Whether a host in a URL or a setting is loopback. */
export function isLoopback(host: string): boolean {
  if (/^([^.]+\.)*localhost$/i.test(host)) return true
  const address = literalAddress(host)
  return address !== undefined && ipaddr.process(address).range() === 'loopback'
}
