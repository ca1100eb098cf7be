import ipaddr from 'ipaddr.js'

const [globalIpv6, globalIpv6Bits] = ipaddr.parseCIDR('2000::/3')

/**
 * NAT64 (RFC 6052, RFC 8215): the last four bytes are the IPv4 address that a gateway calls. Elsewhere in the local prefix they may
 * be others, so no address there counts as public.
 */
const nat64 = ['64:ff9b::/96', '64:ff9b:1::/96'].map((cidr) => ipaddr.parseCIDR(cidr))

/** Where clouds serve credentials to their machines; some are public addresses by their range. */
const metadata = [
  '169.254.0.0/16',
  '100.100.100.200/32',
  '168.63.129.16/32',
  '192.0.0.192/32',
  'fd00:ec2::/32',
  'fd20:ce::254/128',
  'fd00:c1::a9fe:a9fe/128',
  'fd00:42::42/128',
].map(parseNetwork)

export type Network = [ipaddr.IPv4 | ipaddr.IPv6, number]

/** @throws if the text is no CIDR, such as `10.0.0.0/8` or `fd00::/8`. */
export function parseNetwork(cidr: string): Network {
  return ipaddr.parseCIDR(cidr)
}

export function isInNetworks(address: string, networks: readonly Network[]): boolean {
  const parsed = ipaddr.process(address)
  return networks.some(([base, bits]) => parsed.kind() === base.kind() && parsed.match(base, bits))
}

const widest = { ipv4: 8, ipv6: 7 }
/** A private network around a metadata address may be allowed: the address in it is refused at each call. */
const ownNetwork = { ipv4: 16, ipv6: 32 }

/** Whether a network is all of the internet, or so much of it that nobody can own it. */
export function isEverybody([base, bits]: Network): boolean {
  return bits < widest[base.kind()]
}

/** Why nobody would want to allow this network as a private one; undefined if somebody may. */
export function networkIssue(network: Network): string | undefined {
  if (isEverybody(network)) return 'is all of the internet, or much of it'
  if (nat64.some((one) => overlap(one, network))) return 'leads to every IPv4 address, by NAT64'
  const [base, bits] = network
  if (bits >= ownNetwork[base.kind()] && metadata.some((one) => overlap(one, network)))
    return "is where clouds serve their machines' credentials"
  return undefined
}

function overlap([base, bits]: Network, [other, otherBits]: Network): boolean {
  return base.kind() === other.kind() && base.match(other, Math.min(bits, otherBits))
}

/** Whether an address may be called: a public one, or one in the networks that the operator allows. */
export function isReachable(address: string, allowedPrivateNetworks: readonly Network[]): boolean {
  return isPublic(address) || isAllowedPrivate(address, allowedPrivateNetworks)
}

/** Whether the operator allows the address by its network. No network allows a cloud's metadata. */
export function isAllowedPrivate(address: string, allowedPrivateNetworks: readonly Network[]): boolean {
  const called = calledAddress(address)
  return isInNetworks(called, allowedPrivateNetworks) && !isInNetworks(called, metadata)
}

function isPublic(address: string): boolean {
  const parsed = ipaddr.process(calledAddress(address))
  if (parsed.range() !== 'unicast' || isInNetworks(parsed.toString(), metadata)) return false
  // The library calls every other address unicast, but only this part of IPv6 is allocated.
  return parsed.kind() === 'ipv4' || parsed.match(globalIpv6, globalIpv6Bits)
}

/** The address that is called in the end: the IPv4 address in one by NAT64, else the same. */
function calledAddress(address: string): string {
  if (!isInNetworks(address, nat64)) return address
  return ipaddr.fromByteArray(ipaddr.parse(address).toByteArray().slice(-4)).toString()
}

/** The IP address of a host that is written as one. The URL parser has converted hex, octal and short forms already. */
export function literalAddress(hostname: string): string | undefined {
  const bare = hostname.replace(/^\[|\]$/g, '')
  return ipaddr.isValid(bare) ? bare : undefined
}

/** The address that a URL leads to, if its host is an IP address that may not be called; else undefined. */
export function unreachableAddress(url: URL, allowedPrivateNetworks: readonly Network[]): string | undefined {
  const address = literalAddress(url.hostname)
  return address && !isReachable(address, allowedPrivateNetworks) ? calledAddress(address) : undefined
}

/** Whether a host in a URL or a setting is loopback. */
export function isLoopback(host: string): boolean {
  if (/^([^.]+\.)*localhost$/i.test(host)) return true
  const address = literalAddress(host)
  return address !== undefined && ipaddr.process(address).range() === 'loopback'
}
