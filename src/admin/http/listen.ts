import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { endConnections, trackExchanges } from '../../platform/http/exchanges.ts'
import { listenAt } from '../../platform/http/listen-at.ts'
import { oneByOne } from '../../platform/http/one-by-one.ts'
import { closeUnread } from '../../platform/http/unread-answers.ts'
import type { AdminApp } from '../context.ts'

const headersTimeoutMs = 10_000
const requestTimeoutMs = 30_000
/** How long a response in progress may take at shutdown; the rest of the process's drain time is for closing its clients. */
const finishMs = 3000

/** Stands in for the Host header, which a request by HTTP/1.0 may lack. Not a loopback name: see `checkHost`. */
const noHost = 'host.invalid'

export interface AdminServer {
  port: number
  /** Takes no new connections, and resolves when all requests are answered. */
  stop(): Promise<void>
}

export async function listen(app: AdminApp, at: { host: string; port: number }): Promise<AdminServer> {
  const server = createServer(
    { headersTimeout: headersTimeoutMs, requestTimeout: requestTimeoutMs },
    oneByOne(getRequestListener(app.fetch, { hostname: noHost })),
  )
  trackExchanges(server)
  closeUnread(server)
  await listenAt(server, { ...at, settings: { host: 'ADMIN_HOST', port: 'ADMIN_PORT' } })
  return {
    port: (server.address() as AddressInfo).port,
    async stop() {
      endConnections(server)
      const closed = once(server, 'close')
      server.close()
      // Includes connections on which a browser hasn't sent a request yet: Node.js doesn't close those by itself.
      const force = setTimeout(() => server.closeAllConnections(), finishMs)
      await closed
      clearTimeout(force)
    },
  }
}
