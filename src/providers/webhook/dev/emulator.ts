import { randomBytes } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { Webhook, WebhookVerificationError } from 'standardwebhooks'
import { z } from 'zod'
import { contactTypes } from '../../../core/contacts/contact.ts'
import { mediaTypes } from '../../../core/messages/message.ts'
import { type Emulator, maxKept } from '../../shared/dev/emulator.ts'
import { type EmulatedAnswer, type EmulatedResponse, httpEmulator } from '../../shared/dev/http-emulator.ts'
import type { Report } from '../../shared/dev/reports.ts'

export interface WebhookCall {
  method: string
  headers: IncomingHttpHeaders
  body: string
}

export interface WebhookEmulator extends Emulator<WebhookCall, EmulatedAnswer> {
  /** The accepted messages by webhook-id. A repeat is only in `calls`. */
  taken: Map<string, WebhookMessage>
}

/** The body as described in docs/reference/providers/webhook.md; other fields are refused. */
const message = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text'), text: z.strictObject({ value: z.string() }) }),
  z.strictObject({
    type: z.literal('template'),
    template: z.strictObject({
      name: z.string(),
      variables: z.array(z.strictObject({ key: z.string(), value: z.string() })),
      text: z.string().optional(),
    }),
  }),
  z.strictObject({
    type: z.literal('media'),
    media: z
      .strictObject({
        mediaType: z.enum(mediaTypes),
        mimetype: z.string().optional(),
        filename: z.string().optional(),
        caption: z.string().optional(),
        base64: z.base64().optional(),
        mediaUrl: z.url().optional(),
      })
      .refine(({ base64, mediaUrl }) => base64 !== undefined || mediaUrl !== undefined, 'no content'),
  }),
])
const texts = z.record(z.string(), z.string()).optional()
const email = z.strictObject({
  subject: z.string().optional(),
  html: z.string().optional(),
  fromName: z.string().optional(),
  replyTo: z.string().optional(),
  headers: texts,
  tags: texts,
  attachments: z
    .array(
      z.strictObject({
        filename: z.string(),
        mimetype: z.string().optional(),
        base64: z.base64().optional(),
        url: z.url().optional(),
        contentId: z.string().optional(),
      }),
    )
    .optional(),
})
const payload = z.strictObject({
  requestId: z.uuid(),
  channelId: z.uuid(),
  contact: z.strictObject({ type: z.enum(contactTypes), value: z.string(), name: z.string().optional() }),
  message,
  email: email.optional(),
  flowId: z.string().nullable(),
  conversationId: z.uuid(),
})
export type WebhookMessage = z.output<typeof payload>

/**
 * A receiver as the Standard Webhooks specification requires: it verifies signature and timestamp with the specification's own
 * library, and drops a repeat of a known webhook-id
 * (https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md#verifying-webhook-authenticity).
 */
export async function startWebhookEmulator(): Promise<WebhookEmulator> {
  const secret = `whsec_${randomBytes(32).toString('base64')}`
  const webhook = new Webhook(secret)
  const taken = new Map<string, WebhookMessage>()
  const emulator = await httpEmulator<WebhookCall>({
    config: (baseUrl) => ({ url: `${baseUrl}/messages`, secret }),
    read: ({ method, headers, body }) => ({ method, headers, body: body.toString() }),
    answer(call, { url, later }) {
      const refusal = take(webhook, call, taken)
      if (refusal) return refusal
      const requestId = String(call.headers['webhook-id'])
      if (url !== undefined) later(100, receiptReport(url, webhook, [{ requestId, status: 'delivered' }]))
      return { status: 200, body: { id: `received-${requestId}` } }
    },
  })
  return { ...emulator, taken }
}

/** Receipts in a request that the specification's own library signs. */
export function receiptReport(url: string, webhook: Webhook, receipts: object[]): Report {
  const id = `msg_${randomBytes(12).toString('hex')}`
  const at = new Date()
  const body = JSON.stringify(receipts)
  const headers = {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
    'webhook-signature': webhook.sign(id, at, body),
  }
  return { url, headers, body }
}

/** Records an acceptable message, once. @returns why the message is refused, if it is. */
function take(
  webhook: Webhook,
  { method, headers, body }: WebhookCall,
  taken: WebhookEmulator['taken'],
): EmulatedResponse | undefined {
  if (method !== 'POST') return { status: 405, body: { error: 'only POST' } }
  if (!/^application\/json(;|$)/.test(headers['content-type'] ?? '')) {
    return { status: 415, body: { error: 'only application/json' } }
  }
  const issue = signatureIssue(webhook, body, headers)
  if (issue) return { status: 401, body: { error: issue } }
  const parsed = payload.safeParse(parseJson(body))
  if (!parsed.success) return { status: 400, body: { error: z.prettifyError(parsed.error) } }
  const { requestId } = parsed.data
  if (requestId !== headers['webhook-id'])
    return { status: 400, body: { error: 'webhook-id is no requestId' } }
  if (!taken.has(requestId)) taken.set(requestId, parsed.data)
  const [first = ''] = taken.keys()
  if (taken.size > maxKept) taken.delete(first)
  return undefined
}

function signatureIssue(webhook: Webhook, body: string, headers: IncomingHttpHeaders): string | undefined {
  try {
    webhook.verify(body, headers as Record<string, string>, { jsonParse: false })
    return undefined
  } catch (error) {
    if (error instanceof WebhookVerificationError) return error.message
    throw error
  }
}

/** Undefined if the body is no JSON; the schema refuses that. */
function parseJson(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}
