import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

const tickMs = 20

/** A TCP proxy to a port of this machine. It forwards this many bytes a second, and answers without delay. */
export async function openSlowLine(toPort: number, bytesPerSecond: number) {
  const sockets = new Set<Socket>()
  const server = createServer({ highWaterMark: 1024 * 1024 }, (from) => {
    const to = connect(toPort, '127.0.0.1')
    let carried = performance.now()
    const carry = () => {
      const now = performance.now()
      const most = Math.floor((bytesPerSecond * (now - carried)) / 1000)
      carried = now
      const piece: Buffer | null = from.read(Math.min(most, from.readableLength))
      if (piece) to.write(piece)
    }
    const timer = setInterval(carry, tickMs)
    // Read by the timer only: what it leaves stays in the network.
    from.on('readable', () => {})
    to.on('data', (answer) => from.write(answer))
    for (const socket of [from, to]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        clearInterval(timer)
        sockets.delete(socket)
        from.destroy()
        to.destroy()
      })
    }
    from.on('end', () => to.end())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    async stop() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
