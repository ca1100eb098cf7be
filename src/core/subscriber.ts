import ipaddr from 'ipaddr.js'

/** Who is counted as one: an IPv4 address, or the IPv6 network of 64 bits that a single subscriber is given. */
export function subscriber(address: string): string {
  if (!ipaddr.isValid(address)) return address
  const parsed = ipaddr.process(address)
  return parsed.kind() === 'ipv4'
    ? parsed.toString()
    : parsed.toNormalizedString().split(':').slice(0, 4).join(':')
}
