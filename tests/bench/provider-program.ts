import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { nowMs } from './clock.ts'

/** A call as the provider saw it. */
export interface ProviderCall {
  requestId: string
  path: string
  contact: string
  arrivedAt: number
  /** What it was answered; undefined while it isn't. */
  status: number | undefined
}

/**
 * A webhook receiver in a process of its own, which keeps every call in memory. A channel's URL says how it is treated:
 * `/accept/…`, `/hang/…`, `/after/MS/…`, or `/fail-once/SHARE/…`, which answers 503 to the first call of that share of
 * the sends. Whatever follows tells channels apart.
 *
 * It is asked by `GET /calls` and `GET /count`, of one `path` and but for one `exceptContact` where told so, and
 * forgets all at `DELETE /calls`.
 */
const calls: ProviderCall[] = []
const failed = new Set<string>()

const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
  if (request.method === 'POST') void take(request, response).catch(() => response.destroy())
  else answer(request, response)
})
// A worker that is killed resets its connections.
server.on('connection', (socket) => socket.on('error', () => {}))
server.listen(0, '127.0.0.1')
await once(server, 'listening')
console.log(JSON.stringify({ event: 'receiving', port: (server.address() as AddressInfo).port }))

async function take(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const arrivedAt = nowMs()
  const path = request.url ?? ''
  const { requestId, contact } = JSON.parse(await text(request))
  const call: ProviderCall = { requestId, path, contact: contact.value, arrivedAt, status: undefined }
  calls.push(call)
  const [, treatment, amount] = path.split('/')
  if (treatment === 'hang') return
  if (treatment === 'after') await sleep(Number(amount))
  call.status = treatment === 'fail-once' && failsNow(requestId, Number(amount)) ? 503 : 200
  response.writeHead(call.status).end('{}')
}

/** The last digits of a send's id are random: they decide whether it belongs to the share. */
function failsNow(requestId: string, share: number): boolean {
  const isChosen = Number.parseInt(requestId.slice(-4), 16) < share * 0x10000
  if (!isChosen || failed.has(requestId)) return false
  failed.add(requestId)
  return true
}

function answer(request: IncomingMessage, response: ServerResponse): void {
  const { pathname, searchParams } = new URL(request.url ?? '', 'http://provider')
  if (request.method === 'DELETE') {
    calls.length = 0
    failed.clear()
    response.end('{}')
    return
  }
  const path = searchParams.get('path')
  const exceptContact = searchParams.get('exceptContact')
  const chosen = calls.filter(
    (call) => (path === null || call.path === path) && call.contact !== exceptContact,
  )
  response.end(JSON.stringify(pathname === '/count' ? chosen.length : chosen))
}
process.once('SIGTERM', () => process.exit())
