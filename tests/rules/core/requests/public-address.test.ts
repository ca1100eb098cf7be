import { describe, expect, test } from 'vitest'
import {
  isInNetworks,
  isReachable,
  literalAddress,
  parseNetwork,
  unreachableAddress,
} from '../../../../src/core/requests/public-address.ts'

describe('without networks that are allowed', () => {
  test.each([
    '93.184.216.34',
    '1.1.1.1',
    '8.8.8.8',
    '11.0.0.1',
    '172.15.255.255',
    '172.32.0.0',
    '192.167.255.255',
    '192.169.0.0',
    '100.63.255.255',
    '100.128.0.0',
    '169.253.255.255',
    '223.255.255.255',
    '2606:2800:220:1:248:1893:25c8:1946',
    '2a00:1450:4001:81b::200e',
    '::ffff:93.184.216.34',
    '64:ff9b::93.184.216.34',
    '64:ff9b::5db8:d822',
    '64:ff9b:1::93.184.216.34',
  ])('%s may be reached', (address) => {
    expect(isReachable(address, [])).toBe(true)
  })

  test.each([
    ['0.0.0.0', 'this host'],
    ['0.1.2.3', 'this network'],
    ['10.0.0.0', 'private'],
    ['10.255.255.255', 'private'],
    ['100.64.0.0', 'carrier-grade NAT'],
    ['100.127.255.255', 'carrier-grade NAT'],
    ['127.0.0.1', 'loopback'],
    ['127.255.255.255', 'loopback'],
    ['169.254.169.254', 'link-local, cloud metadata'],
    ['172.16.0.0', 'private'],
    ['172.31.255.255', 'private'],
    ['192.0.0.1', 'protocol assignments'],
    ['192.0.2.1', 'documentation'],
    ['192.88.99.1', '6to4 relay'],
    ['192.168.0.0', 'private'],
    ['192.168.255.255', 'private'],
    ['198.18.0.1', 'benchmarking'],
    ['198.51.100.1', 'documentation'],
    ['203.0.113.1', 'documentation'],
    ['224.0.0.1', 'multicast'],
    ['239.255.255.255', 'multicast'],
    ['240.0.0.1', 'reserved'],
    ['255.255.255.255', 'broadcast'],
    ['::', 'this host'],
    ['::1', 'loopback'],
    ['::127.0.0.1', 'IPv4 in IPv6, the old form'],
    ['::7f00:1', 'IPv4 in IPv6, the old form'],
    ['::ffff:127.0.0.1', 'IPv4 in IPv6'],
    ['::ffff:7f00:1', 'IPv4 in IPv6'],
    ['::ffff:169.254.169.254', 'IPv4 in IPv6'],
    ['::ffff:0:10.0.0.1', 'IPv4 translated'],
    ['64:ff9b::10.0.0.1', 'NAT64'],
    ['64:ff9b::7f00:1', 'NAT64'],
    ['64:ff9b::a83f:8110', "NAT64 of a cloud's metadata"],
    ['64:ff9b:1::7f00:1', 'NAT64, local'],
    ['64:ff9b:1:a00:0:100::1', 'NAT64, local, with the IPv4 address elsewhere'],
    ['168.63.129.16', 'cloud metadata'],
    ['::ffff:168.63.129.16', 'cloud metadata'],
    ['100::1', 'discard'],
    ['2001::1', 'Teredo'],
    ['2001:db8::1', 'documentation'],
    ['2002:7f00:1::', '6to4'],
    ['3fff::1', 'documentation'],
    ['4000::1', 'not assigned to anyone'],
    ['5f00::1', 'segment routing'],
    ['fc00::1', 'unique local'],
    ['fd00::1', 'unique local'],
    ['fdff:ffff::1', 'unique local'],
    ['fe80::1', 'link-local'],
    ['fe80::1%eth0', 'link-local with a zone'],
    ['fec0::1', 'site-local'],
    ['ff02::1', 'multicast'],
  ])('%s may not: %s', (address) => {
    expect(isReachable(address, [])).toBe(false)
  })
})

describe('networks that are allowed', () => {
  const networks = ['127.0.0.0/8', '10.1.2.0/24', 'fd00::/64', '::1/128'].map(parseNetwork)

  test.each([
    '127.0.0.1',
    '127.255.255.255',
    '::ffff:127.0.0.1',
    '10.1.2.0',
    '10.1.2.255',
    'fd00::1',
    'fd00::ffff:ffff:ffff:ffff',
    '::1',
    '93.184.216.34',
  ])('%s may be reached', (address) => {
    expect(isReachable(address, networks)).toBe(true)
  })

  test.each([
    '10.1.1.255',
    '10.1.3.0',
    '169.254.169.254',
    '::ffff:10.1.3.0',
    'fd00:0:0:1::1',
    '::2',
    'fe80::1',
  ])('%s still may not', (address) => {
    expect(isReachable(address, networks)).toBe(false)
  })

  test('an address by NAT64 is allowed as the IPv4 address in it, and by no network of NAT64', () => {
    const allows = (...cidrs: string[]) => isReachable('64:ff9b::10.1.2.3', cidrs.map(parseNetwork))
    expect(allows('10.1.2.0/24')).toBe(true)
    expect(allows('64:ff9b::/96', '::/0')).toBe(false)
  })

  test.each([
    '169.254.169.254',
    '64:ff9b::169.254.169.254',
    '::ffff:169.254.169.254',
    '169.254.170.2',
    '100.100.100.200',
    '168.63.129.16',
    '192.0.0.192',
    'fd00:ec2::254',
    'fd00:ec2::23',
    'fd20:ce::254',
  ])("a cloud's metadata is reached by no network: %s", (address) => {
    const widest = ['0.0.0.0/0', '::/0', '100.64.0.0/10', 'fd00::/8', '169.254.169.254/32']
    expect(isReachable(address, widest.map(parseNetwork))).toBe(false)
  })

  test('the host of a URL by NAT64 is named by its IPv4 address, so that nobody allows the prefix', () => {
    expect(unreachableAddress(new URL('https://[64:ff9b::a01:203]/'), [])).toBe('10.1.2.3')
  })

  test('allowing all of IPv4 does not allow IPv6, nor the other way round', () => {
    expect(isInNetworks('fd00::1', [parseNetwork('0.0.0.0/0')])).toBe(false)
    expect(isInNetworks('10.0.0.1', [parseNetwork('::/0')])).toBe(false)
  })
})

test.each(['', '10.0.0.0', '10.0.0.0/33', 'fd00::/129', '10.0.0/8x', 'localhost/8', '10.0.0.0/-1'])(
  '%j is no network',
  (cidr) => {
    expect(() => parseNetwork(cidr)).toThrow()
  },
)

describe('the host of a URL', () => {
  const address = (host: string) => literalAddress(new URL(`http://${host}/`).hostname)

  test.each([
    ['127.0.0.1', '127.0.0.1'],
    ['127.1', '127.0.0.1'],
    ['0x7f000001', '127.0.0.1'],
    ['0x7f.0.0.1', '127.0.0.1'],
    ['2130706433', '127.0.0.1'],
    ['0177.0.0.1', '127.0.0.1'],
    ['127.0.0.1.', '127.0.0.1'],
    ['１２７。0。0。1', '127.0.0.1'],
    ['0', '0.0.0.0'],
    ['[::1]', '::1'],
    ['[::ffff:169.254.169.254]', '::ffff:a9fe:a9fe'],
    ['[fd00::1]', 'fd00::1'],
  ])('%s is the address %s', (host, written) => {
    expect(address(host)).toBe(written)
  })

  test.each(['localhost', 'example.com', '127.0.0.1.nip.io', 'a.127.0.0.1.example', 'xn--bcher-kva.example'])(
    '%s is a name',
    (host) => {
      expect(address(host)).toBeUndefined()
    },
  )
})
