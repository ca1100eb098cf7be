import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'

/** Stands between a service and a store, and can stop forwarding without closing anything. */
export interface TcpProxy {
  /** The store's URL, through the proxy. */
  url: string
  freeze(): void
  /** Goes on; what came meanwhile is delivered late, in order. */
  thaw(): void
  /** Freezes for a while as soon as a client sends bytes that hold `text`. */
  stallOnce(text: string, forMs: number): void
  /** How many bytes came from the store. */
  bytesFromStore(): number
  close(): Promise<void>
}

export async function startTcpProxy(storeUrl: string): Promise<TcpProxy> {
  const { hostname: host, port } = new URL(storeUrl)
  const sockets = new Set<Socket>()
  let frozen = false
  let bytesFromStore = 0
  let held: (() => void)[] = []
  let stall: { text: string; forMs: number } | undefined
  const deliver = (work: () => void) => {
    if (frozen) held.push(work)
    else work()
  }
  const freeze = () => {
    frozen = true
  }
  const thaw = () => {
    frozen = false
    for (const work of held.splice(0)) work()
  }
  const pipe = (from: Socket, to: Socket, onChunk: (chunk: Buffer) => void = () => {}) => {
    sockets.add(from)
    from.on('data', (chunk) => {
      onChunk(chunk)
      deliver(() => to.write(chunk))
    })
    from.on('end', () => deliver(() => to.end()))
    from.on('error', () => deliver(() => to.destroy()))
    from.on('close', () => sockets.delete(from))
  }
  const server = createServer({ allowHalfOpen: true }, (client) => {
    const upstream = connect({ port: Number(port), host, allowHalfOpen: true })
    pipe(client, upstream, (chunk) => {
      if (!stall || !chunk.includes(stall.text)) return
      setTimeout(thaw, stall.forMs)
      stall = undefined
      freeze()
    })
    pipe(upstream, client, (chunk) => {
      bytesFromStore += chunk.length
    })
  })
  const url = new URL(storeUrl)
  url.host = `127.0.0.1:${await listenAnywhere(server)}`
  return {
    url: url.href,
    freeze,
    thaw,
    bytesFromStore: () => bytesFromStore,
    stallOnce(text, forMs) {
      stall = { text, forMs }
    },
    async close() {
      held = []
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

/** Takes every connection and never says a word. */
export async function startSilentServer(): Promise<{
  port: number
  /** How many connections it was asked for. */
  asked(): number
  close(): Promise<void>
}> {
  const sockets: Socket[] = []
  const server = createServer((socket) => {
    socket.on('error', () => {})
    sockets.push(socket)
  })
  const port = await listenAnywhere(server)
  return {
    port,
    asked: () => sockets.length,
    async close() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

/** A port on which nobody listens. */
export async function closedPort(): Promise<number> {
  const server = createServer()
  const port = await listenAnywhere(server)
  server.close()
  await once(server, 'close')
  return port
}

async function listenAnywhere(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}
