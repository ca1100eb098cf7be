import type { IncomingHttpHeaders } from 'node:http'
import { type EmulatedResponse, httpEmulator, jsonIn } from '../../shared/dev/http-emulator.ts'
import { type GraphFault, type MediaForm, mediaFormOf, mediaIssue } from './media.ts'
import { messageIssue } from './message.ts'
import { type TakenMessage, usualReports } from './reports.ts'

// Based on these pages, below https://developers.facebook.com/documentation/business-messaging/whatsapp:
// /messages/send-messages, /business-phone-numbers/media, /templates/overview and /support/error-codes.
// The errors of paths, objects and tokens: https://developers.facebook.com/docs/graph-api/guides/error-handling

export interface WhatsAppCall {
  method: string
  path: string
  headers: IncomingHttpHeaders
  /** The JSON of a message. */
  message?: Record<string, unknown> | undefined
  /** The form of an upload. */
  media?: MediaForm | undefined
}

/** `{"error":{"message":"(#130429) Rate limit hit","type":"OAuthException","code":130429,"error_data":{…},…}}` */
export function graphError(
  status: number,
  code: number,
  message: string,
  {
    details,
    ...fields
  }: { details?: string; type?: string; error_subcode?: number; is_transient?: boolean } = {},
): EmulatedResponse {
  const error_data = details === undefined ? {} : { error_data: { messaging_product: 'whatsapp', details } }
  const fbtrace_id = 'Az8or2yhqkZfEZ-_4Qn_Bam'
  return {
    status,
    body: { error: { message, type: 'OAuthException', code, ...fields, ...error_data, fbtrace_id } },
  }
}

/** Starts an emulator of Meta's Cloud API with one phone number and one access token. It accepts any template name. */
export function openWhatsAppEmulator() {
  const account = { phoneNumberId: '106540352242922', accessToken: 'EAAJB-emulator' }
  const webhook = { appSecret: '5f'.repeat(16), verifyToken: 'emulated-token' }
  const uploads = new Set<string>()
  return httpEmulator<WhatsAppCall>({
    config: (baseUrl) => ({ ...account, ...webhook, baseUrl }),
    async read(call) {
      const { method, path, headers, body } = call
      const contentType = headers['content-type'] ?? ''
      const media = /^multipart\/form-data;/.test(contentType)
        ? await mediaFormOf(body, contentType)
        : undefined
      return { method, path, headers, message: jsonIn(call), media }
    },
    answer: (call, { url, later }) =>
      answerTo(call, account, uploads, (message) => {
        if (url === undefined) return
        const all = usualReports(url, { ...account, ...webhook }, message)
        for (const { afterMs, report } of all) later(afterMs, report)
      }),
  })
}

function answerTo(
  call: WhatsAppCall,
  account: { phoneNumberId: string; accessToken: string },
  uploads: Set<string>,
  report: (message: TakenMessage) => void,
): EmulatedResponse {
  const [, id = '', edge] = /^\/v\d+\.\d+\/([^/?]+)\/(messages|media)$/.exec(call.path) ?? []
  if (!edge) {
    const path = call.path.replace(/^\/(v\d+\.\d+\/)?/, '/')
    return graphError(400, 2500, `Unknown path components: ${path}`)
  }
  if (call.headers.authorization !== `Bearer ${account.accessToken}`) {
    return graphError(401, 190, 'Invalid OAuth access token - Cannot parse access token')
  }
  if (id !== account.phoneNumberId || call.method !== 'POST') {
    const what = `Unsupported ${call.method.toLowerCase()} request. Object with ID '${id}' does not exist, cannot be loaded due to missing permissions, or does not support this operation`
    return graphError(400, 100, what, { type: 'GraphMethodException', error_subcode: 33 })
  }
  return edge === 'media' ? taken(call.media, uploads) : sent(call.message, uploads, report)
}

const refused = ({ code, title, details }: GraphFault) =>
  graphError(400, code, `(#${code}) ${title}`, details === undefined ? {} : { details })

function taken(media: MediaForm | undefined, uploads: Set<string>): EmulatedResponse {
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
): EmulatedResponse {
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
