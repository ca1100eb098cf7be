import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'

/**
 * The effect of a call. `accepted`: the provider accepted the message and answered 2xx. `refused`: it refused it and said so.
 * `unknown`: it accepted the message without a readable answer.
 */
export type Effect = 'accepted' | 'refused' | 'unknown'

export interface ProviderCall {
  requestId: string
  /** The contact in the message. */
  contact: string
  /** The number of the call for its send, from 1. */
  number: number
  arrivedAt: number
  /** The name of what is changed. */
  treatment: string
  effect: Effect
  answeredAt: number | undefined
  /** When its answer was sent, or its connection closed. */
  closedAt: number | undefined
}

/** How the provider answers a call. It has its effect unless the caller has disconnected by then. */
export interface Treatment {
  name: string
  effect: Effect
  act(request: IncomingMessage, response: ServerResponse): unknown
}

/** The provider of one channel: the calls it got, in order, and how it treats them. */
export interface ProviderLedger {
  calls: ProviderCall[]
  treat(call: ProviderCall): Treatment | Promise<Treatment>
}

/** A webhook receiver that records every call in the ledger of its path. */
export interface RecordingProvider {
  urlOf(path: string): string
  ledgers: Map<string, ProviderLedger>
  stop(): void
}

export const accepts: Treatment = {
  name: '200',
  effect: 'accepted',
  act: (_request, response) => response.end('{}'),
}

export async function startProvider(): Promise<RecordingProvider> {
  const ledgers = new Map<string, ProviderLedger>()
  const server = createServer(async (request, response) => {
    const body = await text(request).catch(() => undefined)
    // The request was aborted: no call.
    if (body === undefined) return
    const ledger = ledgers.get(request.url ?? '')
    if (ledger) await take(ledger, { request, body, response })
    else response.writeHead(404).end()
  })
  // A killed caller resets its connections.
  server.on('connection', (socket) => socket.on('error', () => {}))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  return {
    urlOf: (path) => `http://127.0.0.1:${port}${path}`,
    ledgers,
    stop() {
      server.close()
      server.closeAllConnections()
    },
  }
}

interface Exchange {
  request: IncomingMessage
  body: string
  response: ServerResponse
}

async function take(ledger: ProviderLedger, { request, body, response }: Exchange) {
  const requestId = String(request.headers['webhook-id'])
  const call: ProviderCall = {
    requestId,
    contact: contactIn(body),
    number: ledger.calls.filter((earlier) => earlier.requestId === requestId).length + 1,
    arrivedAt: Date.now(),
    treatment: 'under way',
    effect: 'unknown',
    answeredAt: undefined,
    closedAt: undefined,
  }
  ledger.calls.push(call)
  response.once('close', () => {
    call.closedAt = Date.now()
  })
  const treatment = await ledger.treat(call)
  call.treatment = treatment.name
  if (request.socket.destroyed) return
  call.effect = treatment.effect
  call.answeredAt = Date.now()
  await treatment.act(request, response)
}

function contactIn(body: string): string {
  const { contact } = JSON.parse(body) as { contact?: { value?: string } }
  return String(contact?.value)
}
