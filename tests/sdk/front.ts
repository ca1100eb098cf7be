import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

/** What a front does with a request in place of passing it on. */
export interface Fault {
  /** Loses the connection: before the service has the request, after it accepted it, amid its answer; or never answers. */
  cut?: 'before' | 'after' | 'amid' | 'never'
  /** Answers with this status. */
  status?: number
  code?: string
  retryAfter?: string
  location?: string
  text?: string
  /** Whether the service has the request first. */
  forwarded?: boolean
}

export interface Front {
  url: string
  /** The Idempotency-Keys of the requests, in their order. */
  keys: (string | undefined)[]
  close(): void
}

/** Stands between a client and the service, and does what a bad network does. */
export async function startFront(serviceUrl: string, nextFault: () => Fault | undefined): Promise<Front> {
  const keys: Front['keys'] = []
  const server = createServer(async (incoming, response) => {
    const { authorization = '', 'idempotency-key': key, 'content-type': type } = incoming.headers
    keys.push(key as string | undefined)
    const fault = nextFault()
    if (fault?.cut === 'before') return incoming.socket.destroy()
    const body = Buffer.concat(await incoming.toArray())
    const isForwarded = !fault?.status || fault.forwarded
    const answer = isForwarded
      ? await fetch(serviceUrl + incoming.url, {
          method: incoming.method ?? '',
          headers: {
            authorization,
            ...(key !== undefined && { 'idempotency-key': String(key) }),
            ...(type !== undefined && { 'content-type': type }),
          },
          ...(body.length > 0 && { body }),
        })
      : undefined
    const text = (await answer?.text()) ?? ''
    if (fault?.cut === 'after') return incoming.socket.destroy()
    if (fault?.cut === 'never') return
    if (fault?.status) return answerWith(fault, response)
    for (const [name, value] of answer?.headers ?? [])
      if (!/^(content-length|transfer-encoding|connection|keep-alive)$/.test(name))
        response.setHeader(name, value)
    response.statusCode = answer?.status ?? 500
    if (fault?.cut !== 'amid') return response.end(text)
    response.setHeader('Content-Length', text.length)
    response.write(text.slice(0, text.length / 2))
    await sleep(1)
    incoming.socket.destroy()
  })
  server.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    keys,
    close: () => {
      server.close()
      server.closeAllConnections()
    },
  }
}

function answerWith({ status = 500, code, retryAfter, location, text }: Fault, response: ServerResponse) {
  response.writeHead(status, {
    ...(code !== undefined && { 'Error-Code': code }),
    ...(retryAfter !== undefined && { 'Retry-After': retryAfter }),
    ...(location !== undefined && { Location: location }),
  })
  response.end(
    text ??
      JSON.stringify({ statusCode: status, error: 'Error', message: 'As asked', requestId: 'of the front' }),
  )
}
