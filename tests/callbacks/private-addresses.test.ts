import type { LookupAddress } from 'node:dns'
import { createServer as createHttpsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parseNetwork } from '../../src/core/requests/public-address.ts'
import { createHttpClient } from '../../workers/http/http.ts'
import { cert, key } from '../support/certificate.ts'

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
  const client = createHttpClient({
    allowedPrivateNetworks,
    givenBy: 'clients',
    requiresTls: true,
    resolve,
    connectMs: 500,
  })
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
  ['a public address', 'http://93.184.216.34', []],
  ['a private one', 'http://10.0.0.1', []],
  ['a name of a public one', 'http://example.com', ['93.184.216.34']],
  ['a name of a private one', 'http://example.com', ['10.0.0.1']],
  ['a name of none', 'http://example.com', []],
])(
  'the reason says that %s needs https, and nothing else of what the name leads to',
  async (_, origin, addresses) => {
    expect(await call(`${origin}:${port}/`, addresses)).toMatchObject({
      reason:
        'http is for networks that the operator allows; use https, at a public address that can be found',
    })
  },
)

test.each([
  ['an address', 'http://127.0.0.1', []],
  ['a name', 'http://example.com', ['127.0.0.1']],
])('without TLS, %s in CLIENT_PRIVATE_NETWORKS is connected to', async (_, origin, addresses) => {
  const before = connections
  expect(await call(`${origin}:${port}/`, addresses)).toMatchObject({ kind: 'maybe_sent' })
  expect(connections).toBe(before + 1)
})

test('an address is looked up for each connection: a name that became private is not connected to', async () => {
  const addresses = ['127.0.0.1', '10.0.0.1']
  const resolve = async () => [{ address: addresses.shift() ?? '', family: 4 }]
  const client = createHttpClient({ allowedPrivateNetworks: loopback, requiresTls: true, resolve })
  const url = `http://example.com:${port}/`
  const results = []
  for (let count = 0; count < 2; count++)
    results.push(await client.post({ ...request, url }, AbortSignal.timeout(2000)))
  await client.close()
  expect(results).toMatchObject([{ kind: 'maybe_sent' }, { kind: 'not_sent', isNotAllowed: true }])
})

test('a server with a certificate that nobody has signed is told nothing', async () => {
  let requests = 0
  const untrusted = createHttpsServer({ cert, key }, (_request, response) => {
    requests++
    response.end()
  })
  await new Promise<void>((resolve) => untrusted.listen(0, '127.0.0.1', resolve))
  const { port: portOfTls } = untrusted.address() as AddressInfo
  expect(await call(`https://127.0.0.1:${portOfTls}/`, [])).toMatchObject({
    kind: 'not_sent',
    reason: expect.stringMatching(/^no TLS connection \(/),
  })
  expect(requests).toBe(0)
  untrusted.close()
})
