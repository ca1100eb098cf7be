import { once } from 'node:events'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { TLSSocket } from 'node:tls'
import { key, cert as trusted } from './certificate.ts'

/** Takes TLS as PostgreSQL does, with this certificate, and answers nothing after that. Its URL trusts the certificate. */
export async function startTlsPostgres(cert: string, host = '0.0.0.0') {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    // The client asks for TLS first: `S` says yes.
    socket.once('data', () => {
      socket.write('S')
      new TLSSocket(socket, { isServer: true, key, cert }).on('error', () => {})
    })
  }).listen(0, '0.0.0.0')
  await once(server, 'listening')
  const caFile = join(await mkdtemp(join(tmpdir(), 'ca-')), 'ca.pem')
  await writeFile(caFile, cert === trusted ? cert : `${cert}${trusted}`)
  const { port } = server.address() as AddressInfo
  return {
    url: `postgres://postgres@${host}:${port}/none?sslmode=verify-full&sslrootcert=${caFile}`,
    /** Which trusts none but the machine's CAs. */
    untrustingUrl: `postgres://postgres@${host}:${port}/none?sslmode=verify-full`,
    close: () => server.close(),
  }
}
