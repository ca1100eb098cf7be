import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Emulator, keep, maxKept } from '../../shared/dev/emulator.ts'
import { createReports } from '../../shared/dev/reports.ts'
import { messageIssue, messageOf, type TwilioError, type TwilioForm, twilioError } from './message.ts'
import { usualCallbacks } from './reports.ts'

export interface TwilioCall {
  method: string
  path: string
  headers: IncomingHttpHeaders
  body: string
  /** The fields of the body; of a repeated one, the last. */
  form: TwilioForm
}

/** The result of fetching the media of an accepted message. */
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
  /** Another login, instead of the token. */
  apiKey: { apiKeySid: string; apiKeySecret: string }
  fetched: FetchedMedia[]
}

const accountSid = `AC${'0a'.repeat(16)}`
const authToken = '1b'.repeat(16)
const from = '+15550100100'
const apiKeySid = `SK${'2c'.repeat(16)}`
const apiKeySecret = '3d'.repeat(16)
/** The account's token, and a key that the account has made: https://www.twilio.com/docs/iam/api-keys */
const logins = [`${accountSid}:${authToken}`, `${apiKeySid}:${apiKeySecret}`].map(
  (login) => `Basic ${Buffer.from(login).toString('base64')}`,
)

/**
 * @param options.fetchesMedia whether it fetches the media of accepted messages, as Twilio does after its 201.
 * @param options.reports whether its channel asks for receipts.
 */
export async function startTwilioEmulator(
  options: { fetchesMedia?: boolean; reports?: boolean } = {},
): Promise<TwilioEmulator> {
  const calls: TwilioCall[] = []
  const answers: TwilioAnswer[] = []
  const fetched: FetchedMedia[] = []
  const messages = new Map<string, object>()
  const reports = createReports()

  const server = createServer(async (request, response) => {
    const call = await readCall(request).catch(() => undefined)
    if (!call) return
    keep(calls, call)
    const next = answers.shift()
    if (next === 'never_answer') return
    if (next === 'drop_after_reading') return void request.socket.resetAndDestroy()
    if (next && 'delayMs' in next) await sleep(next.delayMs)
    if (next && 'status' in next) return answer(response, next)
    const known = knownMessage(call, messages)
    if (known) return answer(response, known)
    const refused = refusalOf(call)
    const message = messageOf(call.form, accountSid)
    answer(response, refused ?? { status: 201, body: message })
    if (!refused) {
      remember(messages, message.sid, { ...message, status: 'delivered' })
      const all = usualCallbacks(call.form, { accountSid, authToken, sid: message.sid })
      for (const { afterMs, report } of all) reports.later(afterMs, report)
    }
    if (!refused && options.fetchesMedia && call.form.MediaUrl) {
      await fetchMedia(call.form.MediaUrl, fetched).catch(() => {})
    }
  })
  server.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as AddressInfo

  return {
    config: {
      accountSid,
      authToken,
      from,
      ...(options.reports && { statusCallback: true }),
      baseUrl: `http://127.0.0.1:${port}`,
    },
    apiKey: { apiKeySid, apiKeySecret },
    calls,
    fetched,
    answerNext: (...next) => void answers.push(...next),
    async stop() {
      reports.stop()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function readCall(request: IncomingMessage): Promise<TwilioCall> {
  const body = Buffer.concat(await request.toArray()).toString()
  const { method = '', url: path = '', headers } = request
  const isForm = headers['content-type']?.split(';')[0] === 'application/x-www-form-urlencoded'
  // A body of another type has no fields for Twilio.
  return { method, path, headers, body, form: Object.fromEntries(new URLSearchParams(isForm ? body : '')) }
}

function answer(
  response: ServerResponse,
  { status, headers, body = '' }: Exclude<TwilioAnswer, string | { delayMs: number }>,
) {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text)
}

/** `npm run dev` may run for weeks. */
function remember(messages: Map<string, object>, sid: string, message: object): void {
  messages.set(sid, message)
  const [oldest = ''] = messages.keys()
  if (messages.size > maxKept) messages.delete(oldest)
}

/** https://www.twilio.com/docs/messaging/api/message-resource#fetch-a-message-resource */
function knownMessage({ method, path, headers }: TwilioCall, messages: ReadonlyMap<string, object>) {
  const [, sid = ''] =
    new RegExp(`^/2010-04-01/Accounts/${accountSid}/Messages/([SM]M[0-9a-f]{32})\\.json$`).exec(path) ?? []
  if (method !== 'GET' || sid === '' || !logins.includes(headers.authorization ?? '')) return undefined
  const body = messages.get(sid)
  return body
    ? { status: 200, body }
    : twilioError(404, 20404, `The requested resource ${path} was not found`)
}

function refusalOf({ method, path, headers, form }: TwilioCall): TwilioError | undefined {
  // https://www.twilio.com/docs/api/errors/20003
  if (!logins.includes(headers.authorization ?? '')) return twilioError(401, 20003, 'Authenticate')
  // https://www.twilio.com/docs/api/errors/20404
  if (path !== `/2010-04-01/Accounts/${accountSid}/Messages.json`) {
    return twilioError(404, 20404, `The requested resource ${path} was not found`)
  }
  // https://www.twilio.com/docs/api/errors/20004
  if (method !== 'POST') return twilioError(405, 20004, 'Method not allowed')
  return messageIssue(form)
}

/** By HEAD and GET, for its Content-Type: https://www.twilio.com/docs/messaging/guides/accepted-mime-types */
async function fetchMedia(url: string, fetched: FetchedMedia[]): Promise<void> {
  for (const method of ['HEAD', 'GET'] as const) {
    const response = await fetch(url, { method })
    const content = Buffer.from(await response.arrayBuffer())
    const contentType = response.headers.get('content-type')
    keep(fetched, { url, method, status: response.status, contentType, content })
  }
}
