import { type HttpAnswer, type HttpClient, type HttpRequest, unanswered } from '../../../workers/http/http.ts'
import type { Delivery, Provider } from '../../../workers/providers/provider.ts'
import { byType, type Message } from '../../core/messages/message.ts'
import { wordOf } from '../../core/receipts/receipt-request.ts'
import type { AttemptOutcome, Failure, Outcome } from '../../core/sends/outcome.ts'
import { knownCode } from '../shared/code-table.ts'
import { reasonOf, wordsOnChannel } from '../shared/distinct-texts.ts'
import { jsonFieldsOf } from '../shared/http/json-fields.ts'
import { retryWaitMs } from '../shared/http/retry-wait.ts'
import { failureOfStatus, failureWithoutCode, isSuccess } from '../shared/http/status-failures.ts'
import { twilioCodes } from './codes.ts'
import { contentOf, isByWhatsApp, type TwilioConfig } from './config.ts'
import { twilioAuthorization } from './login.ts'

/**
 * Creates a message resource: https://www.twilio.com/docs/messaging/api/message-resource
 *
 * @param linkTo makes a link by which Twilio can fetch a send's media.
 * @param receiptsOf makes the link to which Twilio posts a send's receipts.
 */
export function twilio(
  http: HttpClient,
  linkTo: (requestId: string) => string,
  receiptsOf: (channelId: string, requestId: string) => string,
): Provider<TwilioConfig> {
  return {
    async send(delivery, signal): Promise<AttemptOutcome> {
      const { requestId, channelId, mediaContent, config } = delivery
      const links = {
        media: mediaContent && linkTo(requestId),
        receipts: config.statusCallback ? receiptsOf(channelId, requestId) : undefined,
      }
      const result = await http.post(requestFor(delivery, links), signal)
      return result.kind === 'answer' ? outcomeOf(result, delivery.config) : unanswered(result)
    },
  }
}

interface Links {
  media: string | undefined
  receipts: string | undefined
}

function requestFor(delivery: Delivery<TwilioConfig>, links: Links): HttpRequest {
  const { contact, message, config } = delivery
  const { accountSid, baseUrl } = config
  const fields = {
    To: (isByWhatsApp(config) ? 'whatsapp:' : '') + contact.value,
    From: config.from,
    MessagingServiceSid: config.messagingServiceSid,
    ...contentFields(message, links.media),
    StatusCallback: links.receipts,
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

function outcomeOf(answer: HttpAnswer, config: TwilioConfig): Outcome {
  const { status: providerStatus } = answer
  const { sid, code, message } = read(answer.body)
  if (isSuccess(providerStatus)) return { outcome: 'sent', providerMessageId: sid, providerStatus }
  const known = knownCode(twilioCodes, code)
  const details = { providerStatus, providerCode: code, retryAfterMs: retryWaitMs(answer, known?.wait) }
  const { authToken = '', apiKeySecret = '' } = config
  const wordsOn = (failure: Failure) => wordsOnChannel(failure, message, [authToken, apiKeySecret])
  if (known) {
    const { meaning, wait: _, ...failure } = known
    return { ...failure, reason: reasonOf('Twilio', [meaning, wordsOn(failure)]), ...details }
  }
  const failure = code ? failureOfStatus(answer) : failureWithoutCode(answer)
  const lead = `Twilio answered ${providerStatus}${code ? ` with its code ${code}` : ''}`
  return { ...failure, reason: reasonOf(lead, [wordsOn(failure)]), ...details }
}

/** Reads `{"sid":"SM…","status":"queued"}` or `{"code":20003,"message":"Authenticate","status":401}`. */
function read(body: string): { sid?: string; code?: string; message: string } {
  const { sid, code, message } = jsonFieldsOf(body)
  return {
    ...(typeof sid === 'string' && sid !== '' && { sid }),
    ...(/^\d{1,6}$/.test(wordOf(code)) && { code: wordOf(code) }),
    message: typeof message === 'string' ? message : '',
  }
}
