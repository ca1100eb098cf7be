import { type EncodedBody, withBase64 } from '../../../workers/http/body-pieces.ts'
import { type HttpAnswer, type HttpClient, type HttpRequest, unanswered } from '../../../workers/http/http.ts'
import type { Delivery, Provider } from '../../../workers/providers/provider.ts'
import { byType } from '../../core/messages/message.ts'
import type { AttemptOutcome, Failure, Outcome } from '../../core/sends/outcome.ts'
import { knownCode } from '../shared/code-table.ts'
import { reasonOf, wordsOnChannel } from '../shared/distinct-texts.ts'
import { jsonFieldsOf } from '../shared/http/json-fields.ts'
import { retryWaitMs } from '../shared/http/retry-wait.ts'
import { failureOfStatus, failureWithoutCode, isSuccess } from '../shared/http/status-failures.ts'
import { attachedAs } from '../shared/mail/attachment-name.ts'
import { headersOfMail } from '../shared/mail/mail-fields.ts'
import { subjectOf } from '../shared/mail/mail-subject.ts'
import { renderMail } from '../shared/mail/mail-template.ts'
import { resendCodes } from './codes.ts'
import { filenameIssue, type ResendConfig } from './config.ts'

type ResendDelivery = Delivery<ResendConfig>

/** Sends a mail: https://resend.com/docs/api-reference/emails/send-email */
export function resend(http: HttpClient): Provider<ResendConfig> {
  return {
    async send(delivery, signal, moved): Promise<AttemptOutcome> {
      const result = await http.post(requestFor(delivery), signal, moved)
      return result.kind === 'answer' ? outcomeOf(result, delivery.config) : unanswered(result)
    },
  }
}

/** Equal for each attempt, since Resend compares the bodies of one Idempotency-Key. */
function requestFor(delivery: ResendDelivery): HttpRequest {
  const { requestId, config } = delivery
  return {
    url: `${config.baseUrl}/emails`,
    headers: {
      authorization: `Bearer ${config.apiKey}`,
      'content-type': 'application/json',
      'idempotency-key': requestId,
    },
    body: bodyOf(delivery),
  }
}

const noContent = '"attachments":[{"content":""'

function bodyOf(delivery: ResendDelivery): string | EncodedBody {
  const json = JSON.stringify(mailOf(delivery))
  if (!delivery.mediaContent) return json
  // Within a text of the mail, its quotes would be escaped.
  const at = json.indexOf(noContent) + noContent.length - 1
  return withBase64(json.slice(0, at), delivery.mediaContent, json.slice(at))
}

function mailOf(delivery: ResendDelivery) {
  const { requestId, contact, config } = delivery
  const { subject, ...content } = contentOf(delivery)
  return {
    from: config.from,
    to: [contact.value],
    // A template's subject may be empty after filling in the variables.
    subject: subject?.trim() || subjectOf(delivery),
    reply_to: config.replyTo,
    headers: headersOfMail(config.headers, requestId),
    tags: [{ name: 'requestId', value: requestId }],
    ...content,
  }
}

interface Content {
  subject?: string
  text?: string | undefined
  html?: string | undefined
  attachments?: object[]
}

const contentOf = ({ message, mediaContent }: ResendDelivery): Content =>
  byType(message, {
    text: ({ value }): Content => ({ text: value }),
    template: ({ definition = {}, variables }): Content => renderMail(definition, variables),
    media(media): Content {
      const { contentType, filename: name } = attachedAs(media)
      // Without a filename, the name is made from the type.
      const filename = filenameIssue(name) ? `${media.mediaType}.bin` : name
      const source = mediaContent ? { content: '' } : { path: media.mediaUrl }
      const type = media.mimetype !== undefined && { content_type: contentType }
      // A mail without a text would be refused.
      return { text: media.caption || filename, attachments: [{ ...source, filename, ...type }] }
    },
  })

/** The same Idempotency-Key with another body: what an earlier attempt sent has got through. */
const otherContent = 'invalid_idempotent_request'

function outcomeOf(answer: HttpAnswer, config: ResendConfig): Outcome {
  const { status: providerStatus } = answer
  const { id, name, message } = read(answer.body)
  if (isSuccess(providerStatus)) return { outcome: 'sent', providerMessageId: id, providerStatus }
  const known = knownCode(resendCodes, name)
  const details = { providerStatus, providerCode: name, retryAfterMs: retryWaitMs(answer, known?.wait) }
  const wordsOn = (failure: Failure) => wordsOnChannel(failure, message, [config.apiKey])
  if (known) {
    const { meaning, wait: _, ...failure } = known
    const reason = reasonOf('Resend', [meaning, wordsOn(failure)])
    if (name === otherContent) return { outcome: 'uncertain', fault: 'message', reason, ...details }
    return { ...failure, reason, ...details }
  }
  const own = { 403: { outcome: 'channel_refused', fault: 'sender' } } as const
  const failure = name ? failureOfStatus(answer, own) : failureWithoutCode(answer, own)
  const lead = `Resend answered ${providerStatus}${name ? ` (${name})` : ''}`
  return { ...failure, reason: reasonOf(lead, [wordsOn(failure)]), ...details }
}

/** Reads `{"id":"49a3…"}` or `{"statusCode":403,"name":"invalid_api_key","message":"API key is invalid"}`. */
function read(body: string): { id?: string; name?: string; message: string } {
  const { id, name, message } = jsonFieldsOf(body)
  return {
    ...(typeof id === 'string' && id !== '' && { id }),
    ...(typeof name === 'string' && /^[a-z_]{1,64}$/.test(name) && { name }),
    message: typeof message === 'string' ? message : '',
  }
}
