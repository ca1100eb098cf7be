import { maskedWords } from '../../src/core/masked-words.ts'
import type { Outcome } from '../../src/core/outcome.ts'
import { contentOf, type TwilioConfig } from '../../src/core/providers/twilio.ts'
import { twilioCodes } from '../../src/core/providers/twilio-codes.ts'
import type { Delivery, Provider } from '../provider.ts'
import { type HttpAnswer, type HttpClient, type HttpRequest, retryAfterMs, unanswered } from './http.ts'
import { fieldsOf } from './json-fields.ts'
import { handlingOfStatus, handlingWithoutCode, isSuccess } from './status-handling.ts'

/**
 * Creates a message resource: https://www.twilio.com/docs/messaging/api/message-resource
 *
 * @param linkTo a link by which Twilio can fetch a send's media; undefined where this service can't be reached.
 */
export function twilio(
  http: HttpClient,
  linkTo: (requestId: string) => string | undefined,
): Provider<TwilioConfig> {
  return {
    async send(delivery, signal): Promise<Outcome> {
      const mediaLink = delivery.mediaContent && linkTo(delivery.requestId)
      if (delivery.mediaContent && mediaLink === undefined) {
        return {
          outcome: 'retry_later',
          reason: "PUBLIC_BASE_URL is not set for the worker, so Twilio can't fetch the media",
        }
      }
      const result = await http.post(requestFor(delivery, mediaLink), signal)
      return result.kind === 'answer' ? outcomeOf(result, delivery.config) : unanswered(result)
    },
  }
}

function requestFor(delivery: Delivery<TwilioConfig>, mediaLink: string | undefined): HttpRequest {
  const { contact, message, config } = delivery
  const { accountSid, authToken, from, messagingServiceSid, baseUrl } = config
  const channelPrefix = from?.startsWith('whatsapp:') ? 'whatsapp:' : ''
  const fields = {
    To: channelPrefix + contact.value,
    From: from,
    MessagingServiceSid: messagingServiceSid,
    ...contentFields(message, mediaLink),
  }
  const given = Object.entries(fields).filter((field): field is [string, string] => Boolean(field[1]))
  return {
    url: `${baseUrl}/2010-04-01/Accounts/${accountSid}/Messages.json`,
    headers: {
      authorization: `Basic ${Buffer.from(`${accountSid}:${authToken}`).toString('base64')}`,
      'content-type': 'application/x-www-form-urlencoded',
      accept: 'application/json',
    },
    body: new URLSearchParams(given).toString(),
  }
}

function contentFields(message: Delivery<unknown>['message'], mediaLink: string | undefined) {
  switch (message.type) {
    case 'text':
      return { Body: message.text.value }
    case 'media':
      return { Body: message.media.caption, MediaUrl: mediaLink ?? message.media.mediaUrl }
    case 'template': {
      const { contentSid, variables } = contentOf(message.template)
      const hasVariables = Object.keys(variables).length > 0
      return {
        ContentSid: contentSid,
        ContentVariables: hasVariables ? JSON.stringify(variables) : undefined,
      }
    }
    default:
      return message satisfies never
  }
}

function outcomeOf(answer: HttpAnswer, { authToken }: TwilioConfig): Outcome {
  const { status: providerStatus } = answer
  const { sid, code, message } = read(answer.body)
  if (isSuccess(providerStatus)) return { outcome: 'sent', providerMessageId: sid, providerStatus }
  const known = code === undefined ? undefined : twilioCodes[code]
  const handling = known?.handling ?? (code ? handlingOfStatus(answer) : handlingWithoutCode(answer))
  const reason = known
    ? `Twilio: ${known.meaning}`
    : `Twilio answered ${providerStatus}${code ? ` with its code ${code}` : ''}`
  const told = { reason, providerStatus, providerCode: code }
  switch (handling) {
    case 'retry_later':
      return { outcome: handling, retryAfterMs: retryAfterMs(answer), ...told }
    case 'channel_refused': {
      const words = maskedWords(message ?? '', [authToken])
      return { outcome: handling, ...told, reason: words ? `${reason}: ${words}` : reason }
    }
    case 'rejected':
      return { outcome: handling, ...told }
    default:
      return handling satisfies never
  }
}

/** What of an answer matters: `{"sid":"SM…","status":"queued"}` or `{"code":20003,"message":"Authenticate","status":401}`. */
function read(body: string): { sid?: string; code?: string; message?: string } {
  const { sid, code, message } = fieldsOf(body)
  return {
    ...(typeof sid === 'string' && sid !== '' && { sid }),
    ...(/^\d{1,6}$/.test(String(code)) && { code: String(code) }),
    ...(typeof message === 'string' && { message }),
  }
}
