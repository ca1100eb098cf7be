import type { IncomingHttpHeaders } from 'node:http'
import { type Emulator, keep, maxKept } from '../../shared/dev/emulator.ts'
import { type EmulatedAnswer, httpEmulator } from '../../shared/dev/http-emulator.ts'
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

export interface TwilioEmulator extends Emulator<TwilioCall, EmulatedAnswer> {
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
  const fetched: FetchedMedia[] = []
  const messages = new Map<string, object>()
  const emulator = await httpEmulator<TwilioCall>({
    config: (baseUrl) => ({
      accountSid,
      authToken,
      from,
      ...(options.reports && { statusCallback: true }),
      baseUrl,
    }),
    read({ method, path, headers, body }) {
      const isForm = headers['content-type']?.split(';')[0] === 'application/x-www-form-urlencoded'
      const text = body.toString()
      // A body of another type has no fields for Twilio.
      const form = Object.fromEntries(new URLSearchParams(isForm ? text : ''))
      return { method, path, headers, body: text, form }
    },
    answer(call, { later }) {
      const other = knownMessage(call, messages) ?? refusalOf(call)
      if (other) return other
      const message = messageOf(call.form, accountSid)
      remember(messages, message.sid, { ...message, status: 'delivered' })
      const all = usualCallbacks(call.form, { accountSid, authToken, sid: message.sid })
      for (const { afterMs, report } of all) later(afterMs, report)
      return { status: 201, body: message }
    },
    async afterwards({ form }, { status }) {
      if (status === 201 && options.fetchesMedia && form.MediaUrl) await fetchMedia(form.MediaUrl, fetched)
    },
  })
  return { ...emulator, apiKey: { apiKeySid, apiKeySecret }, fetched }
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
