import type { Message } from '../../core/messages/message.ts'
import { byType } from '../../core/messages/message.ts'
import type { Delivery } from '../delivery.ts'
import type { CallContext, HttpRequest } from '../shared/http/http-call.ts'
import { isByWhatsApp, type TwilioConfig, twilioAuthorization } from './config.ts'
import { overrides } from './receipts.ts'
import { contentOf } from './template.ts'

/** Creates a message resource: https://www.twilio.com/docs/messaging/api/message-resource */
export function requestFor(delivery: Delivery<TwilioConfig>, context: CallContext): HttpRequest {
  const { requestId, channelId, contact, message, mediaContent, config } = delivery
  const { accountSid, baseUrl } = config
  const fields = {
    To: (isByWhatsApp(config) ? 'whatsapp:' : '') + contact.value,
    From: config.from,
    MessagingServiceSid: config.messagingServiceSid,
    ...contentFields(message, mediaContent && context.mediaLink(requestId)),
    StatusCallback: config.statusCallback
      ? context.receiptsLink(channelId, requestId) + overrides
      : undefined,
    ValidityPeriod: validityPeriod(delivery.expiresInMs),
  }
  const given = Object.entries(fields).filter((field): field is [string, string] => Boolean(field[1]))
  return {
    url: `${baseUrl}/2010-04-01/Accounts/${accountSid}/Messages.json`,
    headers: {
      authorization: twilioAuthorization(config),
      'content-type': 'application/x-www-form-urlencoded',
      accept: 'application/json',
    },
    body: new URLSearchParams(given).toString(),
  }
}

// https://www.twilio.com/docs/api/errors/90007
const longestValiditySeconds = 36_000

/** How long Twilio may keep the message in its queue: at most until the send expires. */
function validityPeriod(expiresInMs: number | null): string | undefined {
  if (expiresInMs === null) return undefined
  const seconds = Math.max(1, Math.floor(expiresInMs / 1000))
  return seconds < longestValiditySeconds ? String(seconds) : undefined
}

const contentFields = (message: Message, mediaLink: string | undefined) =>
  byType(message, {
    text: ({ value }) => ({ Body: value }),
    media: ({ caption, mediaUrl }) => ({ Body: caption, MediaUrl: mediaLink ?? mediaUrl }),
    template(template) {
      const { contentSid, variables } = contentOf(template)
      const hasVariables = Object.keys(variables).length > 0
      return {
        ContentSid: contentSid,
        ContentVariables: hasVariables ? JSON.stringify(variables) : undefined,
      }
    },
  })
