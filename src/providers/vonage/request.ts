import { type HttpAnswer, type HttpClient, type HttpRequest, unanswered } from '../../../workers/http/http.ts'
import type { Delivery, Provider } from '../../../workers/providers/provider.ts'
import { byType, type Message } from '../../core/messages/message.ts'
import type { AttemptOutcome, Failure, Outcome } from '../../core/sends/outcome.ts'
import { knownCode } from '../shared/code-table.ts'
import { reasonOf, wordsOnChannel } from '../shared/distinct-texts.ts'
import { jsonFieldsOf } from '../shared/http/json-fields.ts'
import { retryWaitMs } from '../shared/http/retry-wait.ts'
import { failureOfStatus, failureWithoutCode, isSuccess } from '../shared/http/status-failures.ts'
import { vonageCodeOf, vonageCodes } from './codes.ts'
import { parametersOf, type VonageConfig } from './config.ts'
import { createTokenOf } from './token.ts'

/**
 * Sends a message: https://developer.vonage.com/en/api/messages
 *
 * @param linkTo makes a link by which Vonage can fetch a send's media.
 */
export function vonage(
  http: HttpClient,
  linkTo: (requestId: string) => string,
  nowMs: () => number = Date.now,
): Provider<VonageConfig> {
  const tokenOf = createTokenOf(nowMs)
  const loginOf = (config: VonageConfig) => {
    if (config.applicationId !== undefined) return `Bearer ${tokenOf(config)}`
    return `Basic ${Buffer.from(`${config.apiKey}:${config.apiSecret}`).toString('base64')}`
  }
  return {
    async send(delivery, signal): Promise<AttemptOutcome> {
      const { requestId, mediaContent, config } = delivery
      const body = messageOf(delivery, mediaContent && linkTo(requestId))
      const result = await http.post(requestTo(config, loginOf(config), body), signal)
      return result.kind === 'answer' ? outcomeOf(result, config) : unanswered(result)
    },
  }
}

function requestTo({ baseUrl }: VonageConfig, authorization: string, body: object): HttpRequest {
  return {
    url: `${baseUrl}/v1/messages`,
    headers: { authorization, 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify(body),
  }
}

function messageOf(delivery: Delivery<VonageConfig>, mediaLink: string | undefined) {
  const { requestId, contact, message, config } = delivery
  return {
    channel: config.via,
    // Numbers are without their plus.
    to: contact.value.replace('+', ''),
    from: config.from.replace(/^\+/, ''),
    client_ref: requestId,
    ...contentOf(message, mediaLink),
  }
}

const contentOf = (message: Message, mediaLink: string | undefined) =>
  byType(message, {
    text: ({ value }) => ({ message_type: 'text', text: value }),
    template(template) {
      const { locale, parameters } = parametersOf(template)
      return {
        message_type: 'template',
        template: { name: template.name, parameters },
        whatsapp: { policy: 'deterministic', locale },
      }
    },
    media({ mediaType, mediaUrl, caption, filename }) {
      const type = mediaType === 'document' ? 'file' : mediaType
      const url = mediaLink ?? mediaUrl
      const named = type === 'file' && { name: filename }
      return { message_type: type, [type]: { url, caption: caption || undefined, ...named } }
    },
  })

/** "Payment required": the account has no credit. */
const own = {
  402: { outcome: 'channel_refused', fault: 'sender' },
  403: { outcome: 'channel_refused', fault: 'sender' },
} as const

function outcomeOf(answer: HttpAnswer, config: VonageConfig): Outcome {
  const { status: providerStatus } = answer
  const { id, code, title } = read(answer.body)
  if (isSuccess(providerStatus)) return { outcome: 'sent', providerMessageId: id, providerStatus }
  const known = knownCode(vonageCodes, code)
  const details = { providerStatus, providerCode: code, retryAfterMs: retryWaitMs(answer, known?.wait) }
  const { apiKey = '', apiSecret = '' } = config
  const wordsOn = (failure: Failure) => wordsOnChannel(failure, title, [apiKey, apiSecret])
  if (known) {
    const { meaning, wait: _, ...failure } = known
    return { ...failure, reason: reasonOf('Vonage', [meaning, wordsOn(failure)]), ...details }
  }
  const failure = code ? failureOfStatus(answer, own) : failureWithoutCode(answer, own)
  const lead = `Vonage answered ${providerStatus}${code ? ` with its code ${code}` : ''}`
  return { ...failure, reason: reasonOf(lead, [wordsOn(failure)]), ...details }
}

/** Reads `{"message_uuid":"aaaa…"}` or `{"type":"https://developer.vonage.com/api-errors/messages#1120","title":"…",…}`. */
function read(body: string): { id?: string; code?: string; title: string } {
  const { message_uuid: id, type, title } = jsonFieldsOf(body)
  const code = vonageCodeOf({ type, title })
  return {
    ...(typeof id === 'string' && id !== '' && { id }),
    ...(code !== undefined && { code }),
    title: typeof title === 'string' ? title : '',
  }
}
