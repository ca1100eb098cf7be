import type { IncomingMessage } from 'node:http'
import { expect, test } from 'vitest'
import { parseNetwork } from '../../../../src/core/requests/public-address.ts'
import { createReadClientAddress } from '../../../../src/platform/http/client-address.ts'

const read = createReadClientAddress({ settings: { TRUST_PROXY: [parseNetwork('10.0.0.0/8')] } })

test.each([
  ['192.0.2.1', undefined, '192.0.2.1'],
  ['::ffff:192.0.2.1', undefined, '192.0.2.1'],
  ['2001:db8::1', undefined, '2001:db8::1'],
  ['::ffff:10.0.0.1', '198.51.100.7', '198.51.100.7'],
  ['10.0.0.1', '::FFFF:198.51.100.7', '198.51.100.7'],
  ['10.0.0.1', '[::ffff:198.51.100.7]:4711', '198.51.100.7'],
])('a connection from %s with X-Forwarded-For %s is of %s', (remoteAddress, forwarded, address) => {
  const headers = forwarded === undefined ? {} : { 'x-forwarded-for': forwarded }
  expect(read({ socket: { remoteAddress }, headers } as unknown as IncomingMessage)).toBe(address)
})
