import { maskedWords } from '../../src/core/masked-words.ts'
import type { Outcome } from '../../src/core/outcome.ts'
import { contentOf, type TwilioConfig } from '../../src/core/providers/twilio.ts'
import type { Delivery, Provider } from '../provider.ts'
import { type HttpAnswer, type HttpClient, type HttpRequest, retryAfterMs, unanswered } from './http.ts'
import { fieldsOf } from './json-fields.ts'
import { type Handling, handlingOfStatus, handlingWithoutCode, isSuccess } from './status-handling.ts'

/** In our own words: Twilio's repeat the number. Each code has a page: https://www.twilio.com/docs/api/errors/<code> */
const errors: Record<string, { handling: Handling; reason: string }> = {
  14107: { handling: 'retry_later', reason: 'Twilio takes no more messages now' },
  20003: { handling: 'channel_refused', reason: "Twilio refuses the channel's credentials" },
  20429: { handling: 'retry_later', reason: 'Twilio takes no more requests now' },
  21211: { handling: 'rejected', reason: 'Twilio: the contact has no valid phone number' },
  21408: { handling: 'rejected', reason: "Twilio: the account may not send to the contact's country" },
  21606: { handling: 'rejected', reason: "Twilio: the channel's sender can't send messages to this contact" },
  21610: { handling: 'rejected', reason: 'Twilio: the contact has unsubscribed from this sender' },
  21611: { handling: 'retry_later', reason: "Twilio: the queue of the channel's sender is full" },
  21612: { handling: 'rejected', reason: "Twilio: the channel's sender can't reach this contact" },
  21614: { handling: 'rejected', reason: "Twilio: the contact's number is not a mobile number" },
  21617: { handling: 'rejected', reason: 'Twilio: the text is too long' },
  21620: { handling: 'rejected', reason: 'Twilio: the link to the media is not valid' },
  63016: {
    handling: 'rejected',
    reason: 'Twilio: outside the time in which free text may be sent; send a template',
  },
  63018: {
    handling: 'retry_later',
    reason: 'Twilio: the channel behind the sender takes no more messages now',
  },
}

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
  const known = code === undefined ? undefined : errors[code]
  const handling = known?.handling ?? (code ? handlingOfStatus(answer) : handlingWithoutCode(answer))
  const reason = known?.reason ?? `Twilio answered ${providerStatus}${code ? ` with its code ${code}` : ''}`
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
