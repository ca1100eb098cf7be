import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { Webhook } from 'standardwebhooks'

export const webhookSecret = `whsec_${Buffer.alloc(32, 'secret').toString('base64')}`

/** A request that came whole. */
export interface WebhookCall {
  path: string
  /** When it came, by `performance.now()`. */
  at: number
  headers: IncomingHttpHeaders
  body: string
  /** Whether the standardwebhooks package accepts the signature. */
  isVerified: boolean
  /** Port at the caller's end of the connection. */
  connection: number | undefined
}

/** The receiver's answer to a request. */
export type Behaviour = (request: IncomingMessage, response: ServerResponse) => unknown

export type WebhookReceiver = Awaited<ReturnType<typeof openWebhookReceiver>>

/** A receiver of webhooks on a socket of its own, which records every call; each path has its own behaviour. */
export async function openWebhookReceiver() {
  const behaviours: Behaviour[] = []
  const calls: WebhookCall[] = []
  const open = new Set<Socket>()
  const faults: unknown[] = []
  let connections = 0

  const server = createServer({ keepAliveTimeout: 60_000 }, async (request, response) => {
    request.on('error', () => {})
    response.on('error', () => {})
    const behave = behaviours[Number(request.url?.match(/^\/hooks\/(\d+)/)?.[1])] ?? answer(404)
    const call = behave === resetBeforeReading ? undefined : await record(request).catch(() => undefined)
    if (call) calls.push(call)
    try {
      await behave(request, response)
    } catch (error) {
      faults.push(error)
      if (!response.headersSent) response.writeHead(500)
      response.end()
    }
  })
  server.on('connection', (socket) => {
    connections++
    open.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => open.delete(socket))
  })
  server.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as AddressInfo

  return {
    port,
    calls,
    /** The sockets that are open now. */
    open,
    get connections() {
      return connections
    },
    /** @returns the URL at which it behaves like that. */
    at(behaviour: Behaviour): string {
      return `http://127.0.0.1:${port}/hooks/${behaviours.push(behaviour) - 1}`
    },
    callsOf: (requestId: string) => calls.filter(({ headers }) => headers['webhook-id'] === requestId),
    /** @throws what a behaviour threw: it was answered with 500. */
    async stop() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      if (faults.length > 0) throw faults[0]
    },
  }
}

async function record(request: IncomingMessage): Promise<WebhookCall> {
  const at = performance.now()
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  const body = Buffer.concat(chunks).toString()
  const { headers, url = '', socket } = request
  return {
    path: url,
    at,
    headers,
    body,
    isVerified: isVerified(headers, body),
    connection: socket.remotePort,
  }
}

function isVerified(headers: IncomingHttpHeaders, body: string): boolean {
  try {
    new Webhook(webhookSecret).verify(body, headers as Record<string, string>)
    return true
  } catch {
    return false
  }
}

export const accept: Behaviour = (_request, response) =>
  response.setHeader('content-type', 'application/json').end('{"id":"received-1"}')

export const answer =
  (status: number, headers: Record<string, string> = {}, body = ''): Behaviour =>
  (_request, response) =>
    response.writeHead(status, headers).end(body)

/** Answers byte for byte what it is given, and leaves the connection open. */
export const answerRaw =
  (bytes: string): Behaviour =>
  ({ socket }) =>
    socket.write(bytes)

/** The same, and ends the connection. */
export const answerRawAndClose =
  (bytes: string): Behaviour =>
  ({ socket }) =>
    socket.end(bytes)

export const delay =
  (ms: number, then: Behaviour): Behaviour =>
  async (request, response) => {
    await sleep(ms)
    await then(request, response)
  }

/** Answers each send's first call with 503, and accepts those after it. */
export function failingOnce(): Behaviour {
  const seen = new Set<unknown>()
  return (request, response) => {
    const id = request.headers['webhook-id']
    if (seen.has(id)) return accept(request, response)
    seen.add(id)
    return answer(503)(request, response)
  }
}

/** Behaves differently at the very first call. */
export function firstly(first: Behaviour, then: Behaviour): Behaviour {
  let calls = 0
  return (request, response) => (calls++ === 0 ? first : then)(request, response)
}

/** Answers no call until it is opened, then all. */
export function gate(then: Behaviour = accept) {
  const waiting = new Set<() => void>()
  let isOpen = false
  const behaviour: Behaviour = async (request, response) => {
    if (!isOpen) await new Promise<void>((resolve) => waiting.add(resolve))
    await then(request, response)
  }
  return {
    behaviour,
    /** How many wait before it. */
    get waiting() {
      return waiting.size
    },
    open() {
      isOpen = true
      for (const pass of waiting) pass()
      waiting.clear()
    },
  }
}

export const neverAnswer: Behaviour = () => {}

export const resetBeforeReading: Behaviour = ({ socket }) => socket.resetAndDestroy()
export const resetAfterReading: Behaviour = ({ socket }) => socket.resetAndDestroy()
export const closeAfterReading: Behaviour = ({ socket }) => socket.destroy()

/** Answers, then closes the connection although it had said that it would keep it. */
export const acceptAndClose: Behaviour = async (request, response) => {
  accept(request, response)
  await sleep(50)
  request.socket.destroy()
}

/** Sends some text at once, and the rest one byte every 20 ms. */
export const trickle =
  (atOnce: string, bytes: string): Behaviour =>
  async ({ socket }) => {
    socket.write(atOnce)
    for (const byte of bytes) {
      if (socket.destroyed) return
      socket.write(byte)
      await sleep(20)
    }
  }

/** Sends without an end. */
export const flood: Behaviour = async (_request, response) => {
  response.writeHead(200)
  while (!response.destroyed) {
    response.write('x'.repeat(16_384))
    await sleep(1)
  }
}
