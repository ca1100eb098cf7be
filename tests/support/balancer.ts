import { once } from 'node:events'
import {
  type Agent,
  createServer,
  Agent as HttpAgent,
  type IncomingMessage,
  request,
  type Server,
} from 'node:http'

/** A small balancer: asks `/readyz` of its upstreams, and sends each request to the next one that is ready. */
export interface Balancer {
  url: string
  add(upstream: string): Promise<void>
  remove(upstream: string): void
  stop(): void
}

const askEveryMs = 250

export async function startBalancer(): Promise<Balancer> {
  const ready = new Map<string, boolean>()
  const agent: Agent = new HttpAgent({ keepAlive: true })
  let turn = 0
  const server: Server = createServer((incoming, response) => {
    const upstreams = [...ready].filter(([, isReady]) => isReady).map(([upstream]) => upstream)
    const upstream = upstreams[turn++ % upstreams.length]
    if (upstream === undefined) return response.writeHead(502).end('no upstream')
    const { method, url: path, headers } = incoming
    const outgoing = request(upstream + path, { method, headers, agent }, (answer: IncomingMessage) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
      answer.once('close', () => answer.complete || response.destroy())
    })
    outgoing.on('error', (error) => response.writeHead(502).end(error.message))
    return incoming.pipe(outgoing)
  })
  const ask = async (upstream: string) => {
    const isReady = await fetch(`${upstream}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    )
    if (ready.has(upstream)) ready.set(upstream, isReady)
  }
  const asking = setInterval(() => {
    for (const upstream of ready.keys()) void ask(upstream)
  }, askEveryMs)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as { port: number }).port}`,
    async add(upstream) {
      ready.set(upstream, false)
      await ask(upstream)
    },
    remove: (upstream) => ready.delete(upstream),
    stop() {
      clearInterval(asking)
      server.close()
      server.closeAllConnections()
      agent.destroy()
    },
  }
}
