import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { portToKeep } from './port.ts'

/** Stands between a service and a store, and can stop forwarding without closing anything. */
export interface TcpProxy {
  /** The store's URL, through the proxy. */
  url: string
  freeze(): void
  /** Continues; bytes that came meanwhile are delivered late, in order. */
  thaw(): void
  /**
   * From now on swallows what the connections that are open carry, both ways, without closing them; new ones work. As where a
   * firewall forgets a connection.
   *
   * @returns how many it swallows.
   */
  swallowOpen(): number
  /** From now on new connections go to another store, as where an address moves. */
  moveTo(storeUrl: string): void
  /** From now on delays what it carries by this time, each way. */
  delay(ms: number): void
  /** Freezes for a while as soon as a client sends bytes that hold `text`. */
  stallOnce(text: string, forMs: number): void
  /** How many bytes came from the store. */
  bytesFromStore(): number
  close(): Promise<void>
}

export async function startTcpProxy(storeUrl: string): Promise<TcpProxy> {
  let store = new URL(storeUrl)
  const sockets = new Set<Socket>()
  const swallowed = new WeakSet<Socket>()
  let frozen = false
  let delayMs = 0
  let bytesFromStore = 0
  let held: (() => void)[] = []
  let stall: { text: string; forMs: number } | undefined
  const deliver = (from: Socket, work: () => void) => {
    // Timers of the same length fire in their order.
    // A timer may come a part of a millisecond early.
    if (delayMs > 0) setTimeout(deliverNow, delayMs + 1, from, work)
    else deliverNow(from, work)
  }
  const deliverNow = (from: Socket, work: () => void) => {
    if (swallowed.has(from)) return
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
      deliver(from, () => to.write(chunk))
    })
    from.on('end', () => deliver(from, () => to.end()))
    from.on('error', () => deliver(from, () => to.destroy()))
    from.on('close', () => sockets.delete(from))
  }
  const server = createServer({ allowHalfOpen: true }, (client) => {
    const upstream = connect({ port: Number(store.port), host: store.hostname, allowHalfOpen: true })
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
    swallowOpen() {
      for (const socket of sockets) swallowed.add(socket)
      return sockets.size / 2
    },
    moveTo(other) {
      store = new URL(other)
    },
    delay(ms) {
      delayMs = ms
    },
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

/** A port without a listener, outside of those that the system assigns: servers of other test files take these all the time. */
export const closedPort = () => portToKeep()

async function listenAnywhere(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}
