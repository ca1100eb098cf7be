import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Emulator, keep } from './emulator.ts'
import { createReports, type Report } from './reports.ts'

/** A call as it came. */
export interface ReceivedCall {
  method: string
  path: string
  headers: IncomingHttpHeaders
  body: Buffer
}

export interface EmulatedResponse {
  status: number
  headers?: Record<string, string>
  /** An object is sent as JSON, a string unchanged. */
  body?: object | string | undefined
  delayMs?: number
}

/** An answer; the usual one after a delay; none, as the connection is lost after the message was taken; or none at all. */
export type EmulatedAnswer = EmulatedResponse | { delayMs: number } | 'drop' | 'never_answer'

/** Sends receipts of messages that were taken. */
export interface ReportSender {
  /** Undefined if the channel takes no receipts. */
  url: string | undefined
  later(afterMs: number, report: Report): void
}

const noReports: ReportSender = { url: undefined, later() {} }

/** The parts of a provider's emulator. */
export interface HttpEmulation<Call> {
  /** Config of a channel that reaches it, with valid credentials. */
  config(baseUrl: string): Record<string, unknown>
  /** The recorded fields of a call. */
  read(call: ReceivedCall): Call | Promise<Call>
  /** The usual answer, after a check of all that the provider checks. */
  answer(call: Call, reports: ReportSender): EmulatedResponse | Promise<EmulatedResponse>
  /** Follows the usual answer. */
  afterwards?(call: Call, response: EmulatedResponse): Promise<void>
}

/** Starts a server of a provider that is called by HTTP. */
export async function httpEmulator<Call>(of: HttpEmulation<Call>): Promise<Emulator<Call, EmulatedAnswer>> {
  const calls: Call[] = []
  const next: EmulatedAnswer[] = []
  const { later, stop } = createReports()
  const reports: ReportSender = { url: undefined, later }

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on('error', () => {})
    const { method = '', url: path = '', headers } = request
    const call = await of.read({ method, path, headers, body: Buffer.concat(await request.toArray()) })
    keep(calls, call)
    const answer = next.shift() ?? { delayMs: 0 }
    if (answer === 'never_answer') return
    if (typeof answer === 'object' && answer.delayMs) await sleep(answer.delayMs)
    if (typeof answer === 'object' && 'status' in answer) return write(response, answer)
    if (answer === 'drop') {
      await of.answer(call, noReports)
      return void request.socket.resetAndDestroy()
    }
    const usual = await of.answer(call, reports)
    write(response, usual)
    await of.afterwards?.(call, usual)
  }
  // A client that hangs up while it writes ends its call only.
  const server = createServer((request, response) => void handle(request, response).catch(() => {}))
  server.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as AddressInfo
  return {
    config: of.config(`http://127.0.0.1:${port}`),
    calls,
    answerNext: (...answers) => void next.push(...answers),
    reportTo(url) {
      reports.url = url
    },
    async stop() {
      stop()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function write(response: ServerResponse, { status, headers, body = '' }: EmulatedResponse): void {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const type = typeof body === 'string' ? 'text/html' : 'application/json'
  response.writeHead(status, { 'content-type': type, ...headers }).end(text)
}

/** The JSON of a body; undefined if it is none, or its type says otherwise. */
export function jsonIn({ headers, body }: ReceivedCall): Record<string, unknown> | undefined {
  if (!headers['content-type']?.startsWith('application/json')) return undefined
  try {
    return JSON.parse(body.toString())
  } catch {
    return undefined
  }
}
