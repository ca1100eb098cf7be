import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Emulator, keep } from '../../shared/dev/emulator.ts'
import { createReports } from '../../shared/dev/reports.ts'
import { type GraphFault, type MediaForm, mediaFormOf, mediaIssue } from './media.ts'
import { messageIssue } from './message.ts'
import { type TakenMessage, usualReports } from './reports.ts'

// Based on these pages, below https://developers.facebook.com/documentation/business-messaging/whatsapp:
// /messages/send-messages, /business-phone-numbers/media, /templates/overview and /support/error-codes.
// The errors of paths, objects and tokens: https://developers.facebook.com/docs/graph-api/guides/error-handling

export interface WhatsAppCall {
  method: string | undefined
  path: string
  headers: IncomingHttpHeaders
  /** The JSON of a message. */
  message?: Record<string, unknown>
  /** The form of an upload. */
  media?: MediaForm
}

export interface GraphAnswer {
  status: number
  headers?: Record<string, string>
  /** An object is sent as JSON, a string unchanged. */
  body?: object | string
}

/** An answer; or a dropped connection after reading the call, no answer at all, or the usual answer after a delay. */
export type WhatsAppAnswer = GraphAnswer | 'drop' | 'never_answer' | { delayMs: number }

/** `{"error":{"message":"(#130429) Rate limit hit","type":"OAuthException","code":130429,"error_data":{…},…}}` */
export function graphError(
  status: number,
  code: number,
  message: string,
  {
    details,
    ...fields
  }: { details?: string; type?: string; error_subcode?: number; is_transient?: boolean } = {},
): GraphAnswer {
  const error_data = details === undefined ? {} : { error_data: { messaging_product: 'whatsapp', details } }
  const fbtrace_id = 'Az8or2yhqkZfEZ-_4Qn_Bam'
  return {
    status,
    body: { error: { message, type: 'OAuthException', code, ...fields, ...error_data, fbtrace_id } },
  }
}

/** Starts an emulator of Meta's Cloud API with one phone number and one access token. It accepts any template name. */
export async function openWhatsAppEmulator(): Promise<Emulator<WhatsAppCall, WhatsAppAnswer>> {
  const account = { phoneNumberId: '106540352242922', accessToken: 'EAAJB-emulator' }
  const webhook = { appSecret: '5f'.repeat(16), verifyToken: 'emulated-token' }
  const reports = createReports()
  let reportUrl: string | undefined
  const report = (message: TakenMessage) => {
    if (reportUrl === undefined) return
    const all = usualReports(reportUrl, { ...account, ...webhook }, message)
    for (const { afterMs, report } of all) reports.later(afterMs, report)
  }
  const calls: WhatsAppCall[] = []
  const next: WhatsAppAnswer[] = []
  const uploads = new Set<string>()

  const server = createServer(async (request, response) => {
    response.on('error', () => {})
    const body = await contentOf(request)
    if (!body) return
    const call = await callOf(request, body)
    keep(calls, call)
    const answer = next.shift() ?? { delayMs: 0 }
    if (answer === 'drop') request.socket.resetAndDestroy()
    else if (answer !== 'never_answer') {
      if ('delayMs' in answer) await sleep(answer.delayMs)
      write(response, 'status' in answer ? answer : answerTo(call, account, uploads, report))
    }
  })
  server.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as AddressInfo
  return {
    config: { ...account, ...webhook, baseUrl: `http://127.0.0.1:${port}` },
    calls,
    answerNext: (...answers) => void next.push(...answers),
    reportTo(url) {
      reportUrl = url
    },
    async stop() {
      reports.stop()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function contentOf(request: IncomingMessage): Promise<Buffer | undefined> {
  try {
    return Buffer.concat(await request.toArray())
  } catch {
    return undefined
  }
}

async function callOf(request: IncomingMessage, body: Buffer): Promise<WhatsAppCall> {
  const { method, url: path = '', headers } = request
  const contentType = headers['content-type'] ?? ''
  const call = { method, path, headers }
  if (/^multipart\/form-data;/.test(contentType)) {
    const media = await mediaFormOf(body, contentType)
    return media ? { ...call, media } : call
  }
  try {
    return contentType.startsWith('application/json')
      ? { ...call, message: JSON.parse(body.toString()) }
      : call
  } catch {
    return call
  }
}

function answerTo(
  call: WhatsAppCall,
  account: { phoneNumberId: string; accessToken: string },
  uploads: Set<string>,
  report: (message: TakenMessage) => void,
): GraphAnswer {
  const [, id = '', edge] = /^\/v\d+\.\d+\/([^/?]+)\/(messages|media)$/.exec(call.path) ?? []
  if (!edge) {
    const path = call.path.replace(/^\/(v\d+\.\d+\/)?/, '/')
    return graphError(400, 2500, `Unknown path components: ${path}`)
  }
  if (call.headers.authorization !== `Bearer ${account.accessToken}`) {
    return graphError(401, 190, 'Invalid OAuth access token - Cannot parse access token')
  }
  if (id !== account.phoneNumberId || call.method !== 'POST') {
    const what = `Unsupported ${call.method?.toLowerCase()} request. Object with ID '${id}' does not exist, cannot be loaded due to missing permissions, or does not support this operation`
    return graphError(400, 100, what, { type: 'GraphMethodException', error_subcode: 33 })
  }
  return edge === 'media' ? taken(call.media, uploads) : sent(call.message, uploads, report)
}

const refused = ({ code, title, details }: GraphFault) =>
  graphError(400, code, `(#${code}) ${title}`, details === undefined ? {} : { details })

function taken(media: MediaForm | undefined, uploads: Set<string>): GraphAnswer {
  const issue = mediaIssue(media)
  if (issue) return refused(issue)
  const id = String(1037543291543636 + uploads.size)
  uploads.add(id)
  return { status: 200, body: { id } }
}

function sent(
  message: Record<string, unknown> | undefined,
  uploads: Set<string>,
  report: (message: TakenMessage) => void,
): GraphAnswer {
  const issue = messageIssue(message, uploads)
  if (issue) return refused(issue)
  const to = String(message?.to)
  const wa_id = to.replace(/\D/g, '')
  const id = `wamid.${Buffer.from(`${wa_id}-${Math.random()}`).toString('base64')}`
  report({ id, to: wa_id, callbackData: message?.biz_opaque_callback_data })
  return {
    status: 200,
    body: { messaging_product: 'whatsapp', contacts: [{ input: to, wa_id }], messages: [{ id }] },
  }
}

function write(response: ServerResponse, { status, headers, body = '' }: GraphAnswer): void {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const type = typeof body === 'string' ? 'text/html' : 'application/json; charset=UTF-8'
  response.writeHead(status, { 'content-type': type, ...headers }).end(text)
}
