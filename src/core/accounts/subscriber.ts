import ipaddr from 'ipaddr.js'

/** The part of an address by which failures are counted: an IPv4 address, or the /64 network of an IPv6 subscriber. */
export function subscriber(address: string): string {
  if (!ipaddr.isValid(address)) return address
  const parsed = ipaddr.process(address)
  return parsed.kind() === 'ipv4'
    ? parsed.toString()
    : parsed.toNormalizedString().split(':').slice(0, 4).join(':')
}

/** The network that one provider or company usually has whole: the /24 of an IPv4 address, the /48 of an IPv6 one. */
export function networkOf(address: string): string {
  if (!ipaddr.isValid(address)) return address
  const parsed = ipaddr.process(address)
  return parsed.kind() === 'ipv4'
    ? parsed.toString().split('.').slice(0, 3).join('.')
    : parsed.toNormalizedString().split(':').slice(0, 3).join(':')
}
