import type { LookupAddress } from 'node:dns'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parseNetwork } from '../../src/core/public-address.ts'
import { createHttpClient } from '../../workers/providers/http.ts'

let connections = 0
const server = createServer((socket) => {
  connections++
  socket.destroy()
})
let port = 0

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  port = (server.address() as AddressInfo).port
})
afterAll(() => void server.close())

const loopback = [parseNetwork('127.0.0.0/8')]
const request = { headers: {}, body: Buffer.from('{}') }

/** Calls as workers call endpoints. */
async function call(url: string, addresses: string[], allowedPrivateNetworks = loopback) {
  const resolve = async (): Promise<LookupAddress[]> => addresses.map((address) => ({ address, family: 4 }))
  const client = createHttpClient({ allowedPrivateNetworks, requiresTls: true, resolve, connectMs: 500 })
  const result = await client.post({ ...request, url }, AbortSignal.timeout(2000))
  await client.close()
  return result
}

test.each([
  ['a private address', 'https://127.0.0.1', [], []],
  ['a link-local one', 'https://169.254.169.254', [], []],
  ['a mapped one', 'https://[::ffff:127.0.0.1]', [], []],
  ['one behind NAT64', 'https://[64:ff9b::7f00:1]', [], []],
  ['a name of a private one', 'https://example.com', ['127.0.0.1'], []],
  ['a name of a public and a private one', 'https://example.com', ['93.184.216.34', '127.0.0.1'], []],
  ['a public one without TLS', 'http://93.184.216.34', [], loopback],
  ['a name of a public one without TLS', 'http://example.com', ['93.184.216.34'], loopback],
])('%s is never connected to', async (_, origin, addresses, networks) => {
  const before = connections
  expect(await call(`${origin}:${port}/`, addresses, networks)).toMatchObject({
    kind: 'not_sent',
    isNotAllowed: true,
  })
  expect(connections).toBe(before)
})

test.each([
  ['an address', 'http://127.0.0.1', []],
  ['a name', 'http://example.com', ['127.0.0.1']],
])('without TLS, %s in ALLOWED_PRIVATE_NETWORKS is connected to', async (_, origin, addresses) => {
  const before = connections
  expect(await call(`${origin}:${port}/`, addresses)).toMatchObject({ kind: 'maybe_sent' })
  expect(connections).toBe(before + 1)
})
