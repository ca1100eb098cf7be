import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { nowMs } from './clock.ts'
import { openMailServer } from './mail-server.ts'

/** A call that the provider received. */
export interface ProviderCall {
  requestId: string
  path: string
  contact: string
  arrivedAt: number
  /** The status of the answer; undefined until then. */
  status: number | undefined
}

/**
 * A webhook receiver in a separate process, which keeps every call in memory. A channel's URL determines the answers:
 * `/accept/…`, `/discard/…`, which drops the body unread, `/hang/…`, `/after/MS/…`, `/between/MS/MS/…`, `/fail-once/SHARE/…`, which answers 503 to the
 * first call of that share of the sends, or `/limit-contacts/PREFIX/…`, a WhatsApp API that has had too many messages for contacts
 * with this prefix. The rest of the path distinguishes channels. Media at `/media/unavailable` answers 503, at `/media/hang`
 * never. It is also a mail server.
 *
 * `GET /calls` and `GET /count` return the calls, optionally of one `path` and without one `exceptContact`. `GET /take` also
 * removes them; `DELETE /calls` forgets as well which sends have failed.
 */
const calls: ProviderCall[] = []
const failed = new Set<string>()

const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
  if (request.method === 'POST') void take(request, response).catch(() => response.destroy())
  else answer(request, response)
})
// A killed worker resets its connections.
server.on('connection', (socket) => socket.on('error', () => {}))
server.listen(0, '127.0.0.1')
await once(server, 'listening')
const mailPort = await openMailServer((mail) => calls.push({ ...mail, path: 'mail', status: 250 }))
console.log(JSON.stringify({ event: 'receiving', port: (server.address() as AddressInfo).port, mailPort }))

/** Too many messages from this number to this contact. */
const pairRateLimit = JSON.stringify({ error: { message: 'Pair rate limit hit', code: 131056 } })

async function take(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const arrivedAt = nowMs()
  const path = request.url ?? ''
  if (path.startsWith('/discard/')) return discard(request, response, { arrivedAt, path })
  const body = JSON.parse(await text(request))
  const contact: string = body.contact?.value ?? body.to ?? ''
  // The last one is of a callback.
  const requestId: string = body.requestId ?? body.biz_opaque_callback_data ?? body.data?.requestId
  const call: ProviderCall = { requestId, path, contact, arrivedAt, status: undefined }
  calls.push(call)
  const [, treatment, amount, most] = path.split('/')
  if (treatment === 'hang') return
  if (treatment === 'after') await sleep(Number(amount))
  if (treatment === 'between') await sleep(randomInt(Number(amount), Number(most)))
  if (treatment === 'limit-contacts' && contact.startsWith(String(amount))) {
    call.status = 400
    response.writeHead(call.status).end(pairRateLimit)
    return
  }
  call.status = treatment === 'fail-once' && failsNow(requestId, Number(amount)) ? 503 : 200
  response.writeHead(call.status).end('{}')
}

/** Large media would take the provider longer than the worker. */
function discard(
  request: IncomingMessage,
  response: ServerResponse,
  { arrivedAt, path }: Pick<ProviderCall, 'arrivedAt' | 'path'>,
): void {
  request.resume()
  request.on('end', () => {
    const requestId = String(request.headers['webhook-id'])
    calls.push({ requestId, path, contact: '', arrivedAt, status: 200 })
    response.end('{}')
  })
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
  if (pathname === '/media/hang') return
  if (pathname === '/media/unavailable') {
    response.writeHead(503).end()
    return
  }
  if (request.method === 'DELETE') {
    calls.length = 0
    failed.clear()
    response.end('{}')
    return
  }
  if (pathname === '/take') {
    response.end(JSON.stringify(calls.splice(0)))
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
