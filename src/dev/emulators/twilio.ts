import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { v4 as uuidv4 } from 'uuid'
import type { Emulator } from './emulator.ts'

export interface TwilioCall {
  method: string
  path: string
  headers: IncomingHttpHeaders
  body: string
  /** The fields of the body; of one that is there twice, the last. */
  form: Record<string, string>
}

/** What Twilio got when it asked for the media of a message that it had taken. */
export interface FetchedMedia {
  url: string
  method: 'HEAD' | 'GET'
  status: number
  contentType: string | null
  content: Buffer
}

export type TwilioAnswer =
  | { status: number; headers?: Record<string, string>; body?: object | string }
  | { delayMs: number }
  | 'drop_after_reading'
  | 'never_answer'

export interface TwilioEmulator extends Emulator<TwilioCall, TwilioAnswer> {
  fetched: FetchedMedia[]
}

type RefusedForm = {
  status: number
  body: { code: number; message: string; more_info: string; status: number }
}

/**
 * The body of an error: https://www.twilio.com/docs/usage/twilios-response#error-and-exception-handling
 * Each code has a page, which `more_info` names: https://www.twilio.com/docs/api/errors/21211
 */
export function twilioError(status: number, code: number, message: string): RefusedForm {
  const more_info = `https://www.twilio.com/docs/errors/${code}`
  return { status, body: { code, message, more_info, status } }
}

const accountSid = `AC${'0a'.repeat(16)}`
const authToken = '1b'.repeat(16)
const from = '+15550100100'
const authorization = `Basic ${Buffer.from(`${accountSid}:${authToken}`).toString('base64')}`

// What a message is created from: https://www.twilio.com/docs/messaging/api/message-resource#create-a-message-resource
const fields =
  'To StatusCallback ApplicationSid MaxPrice ProvideFeedback Attempt ValidityPeriod ForceDelivery ContentRetention ' +
  'AddressRetention SmartEncoded PersistentAction TrafficType ShortenUrls ScheduleType SendAt SendAsMms ' +
  'ContentVariables RiskCheck From MessagingServiceSid Body MediaUrl ContentSid'
const knownFields = new Set(fields.split(' '))

/** @param options.fetchesMedia whether it fetches the media of messages that it takes, as Twilio does after its 201. */
export async function startTwilioEmulator(options: { fetchesMedia?: boolean } = {}): Promise<TwilioEmulator> {
  const calls: TwilioCall[] = []
  const answers: TwilioAnswer[] = []
  const fetched: FetchedMedia[] = []

  const server = createServer(async (request, response) => {
    const call = await readCall(request).catch(() => undefined)
    if (!call) return
    calls.push(call)
    const next = answers.shift()
    if (next === 'never_answer') return
    if (next === 'drop_after_reading') return void request.socket.resetAndDestroy()
    if (next && 'delayMs' in next) await sleep(next.delayMs)
    if (next && 'status' in next) return answer(response, next)
    const refused = refusalOf(call)
    answer(response, refused ?? { status: 201, body: messageOf(call.form) })
    if (!refused && options.fetchesMedia && call.form.MediaUrl) {
      await fetchMedia(call.form.MediaUrl, fetched).catch(() => {})
    }
  })
  server.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as AddressInfo

  return {
    config: { accountSid, authToken, from, baseUrl: `http://127.0.0.1:${port}` },
    calls,
    fetched,
    answerNext: (...next) => void answers.push(...next),
    async stop() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function readCall(request: IncomingMessage): Promise<TwilioCall> {
  const body = Buffer.concat(await request.toArray()).toString()
  const { method = '', url: path = '', headers } = request
  const isForm = headers['content-type']?.split(';')[0] === 'application/x-www-form-urlencoded'
  // A body of another type has no fields to it.
  return { method, path, headers, body, form: Object.fromEntries(new URLSearchParams(isForm ? body : '')) }
}

function answer(
  response: ServerResponse,
  { status, headers, body = '' }: Exclude<TwilioAnswer, string | { delayMs: number }>,
) {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text)
}

function refusalOf({ method, path, headers, form }: TwilioCall): RefusedForm | undefined {
  // https://www.twilio.com/docs/api/errors/20003
  if (headers.authorization !== authorization) return twilioError(401, 20003, 'Authenticate')
  // https://www.twilio.com/docs/api/errors/20404
  if (path !== `/2010-04-01/Accounts/${accountSid}/Messages.json`) {
    return twilioError(404, 20404, `The requested resource ${path} was not found`)
  }
  // https://www.twilio.com/docs/api/errors/20004
  if (method !== 'POST') return twilioError(405, 20004, 'Method not allowed')
  const unknown = Object.keys(form).find((name) => !knownFields.has(name))
  // https://www.twilio.com/docs/api/errors/20001
  if (unknown !== undefined) return twilioError(400, 20001, `Unknown parameter ${unknown}`)
  return addressRefusal(form) ?? contentRefusal(form)
}

function addressRefusal({ To, From, MessagingServiceSid }: TwilioCall['form']): RefusedForm | undefined {
  // https://www.twilio.com/docs/api/errors/21604
  if (!To) return twilioError(400, 21604, "A 'To' phone number is required.")
  // https://www.twilio.com/docs/api/errors/21211
  if (!/^(whatsapp:)?\+[1-9]\d{6,14}$/.test(To)) {
    return twilioError(400, 21211, `The 'To' number ${To} is not a valid phone number.`)
  }
  // https://www.twilio.com/docs/api/errors/21603
  if (!From && !MessagingServiceSid) return twilioError(400, 21603, "A 'From' phone number is required.")
  // https://www.twilio.com/docs/api/errors/21910
  if (From && From.startsWith('whatsapp:') !== To.startsWith('whatsapp:')) {
    return twilioError(
      400,
      21910,
      "Invalid 'From' and 'To' pair. 'From' and 'To' should be of the same channel",
    )
  }
  return undefined
}

function contentRefusal(form: TwilioCall['form']): RefusedForm | undefined {
  const { Body = '', MediaUrl, ContentSid, ContentVariables } = form
  // https://www.twilio.com/docs/api/errors/21619
  if (!Body && !MediaUrl && !ContentSid) {
    return twilioError(400, 21619, 'A text message body or media urls must be specified.')
  }
  // https://www.twilio.com/docs/api/errors/21617
  if ([...Body].length > 1600) {
    return twilioError(400, 21617, 'The concatenated message body exceeds the 1600 character limit')
  }
  // https://www.twilio.com/docs/api/errors/21620
  if (MediaUrl && !/^https?:\/\/\S+$/.test(MediaUrl)) return twilioError(400, 21620, 'Invalid media URL(s)')
  // https://www.twilio.com/docs/api/errors/21655
  if (ContentSid && !/^HX[0-9a-fA-F]{32}$/.test(ContentSid)) {
    return twilioError(400, 21655, 'The ContentSid is Invalid')
  }
  // https://www.twilio.com/docs/api/errors/21656
  if (ContentVariables && !areContentVariables(ContentVariables)) {
    return twilioError(400, 21656, 'The ContentVariables Parameter is invalid')
  }
  return undefined
}

function areContentVariables(json: string): boolean {
  try {
    const variables = JSON.parse(json)
    if (typeof variables !== 'object' || variables === null || Array.isArray(variables)) return false
    return Object.values(variables).every((value) => typeof value === 'string' && value !== '')
  } catch {
    return false
  }
}

// https://www.twilio.com/docs/messaging/api/message-resource#message-properties
function messageOf({ To, From, MessagingServiceSid, Body, MediaUrl }: TwilioCall['form']) {
  const sid = `${MediaUrl ? 'MM' : 'SM'}${uuidv4().replaceAll('-', '')}`
  return {
    account_sid: accountSid,
    api_version: '2010-04-01',
    body: Body ?? '',
    date_created: new Date().toUTCString(),
    direction: 'outbound-api',
    error_code: null,
    error_message: null,
    from: From ?? null,
    messaging_service_sid: MessagingServiceSid ?? null,
    num_media: MediaUrl ? '1' : '0',
    num_segments: '1',
    sid,
    status: MessagingServiceSid ? 'accepted' : 'queued',
    to: To,
    uri: `/2010-04-01/Accounts/${accountSid}/Messages/${sid}.json`,
  }
}

/** By HEAD and GET, for its Content-Type: https://www.twilio.com/docs/messaging/guides/accepted-mime-types */
async function fetchMedia(url: string, fetched: FetchedMedia[]): Promise<void> {
  for (const method of ['HEAD', 'GET'] as const) {
    const response = await fetch(url, { method })
    const content = Buffer.from(await response.arrayBuffer())
    fetched.push({
      url,
      method,
      status: response.status,
      contentType: response.headers.get('content-type'),
      content,
    })
  }
}
