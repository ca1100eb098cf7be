import type { IncomingHttpHeaders } from 'node:http'
import { v4 as uuidv4 } from 'uuid'
import { z } from 'zod'
import { maxKept } from '../../shared/dev/emulator.ts'
import { httpEmulator, jsonIn } from '../../shared/dev/http-emulator.ts'
import { type TakenMail, usualEvents } from './reports.ts'

export interface ResendCall {
  method: string
  path: string
  headers: IncomingHttpHeaders
  text: string
  /** The JSON of a mail. */
  mail?: Record<string, unknown> | undefined
}

/** The body of an error: https://resend.com/docs/api-reference/errors */
export function resendError(statusCode: number, name: string, message: string) {
  return { status: statusCode, body: { statusCode, name, message } }
}

const addresses = z.union([z.string(), z.array(z.string()).min(1).max(50)])
const tagText = z.string().regex(/^[A-Za-z0-9_-]{1,256}$/)

// https://github.com/resend/resend-openapi/blob/main/resend.yaml, SendEmailRequest and Attachment
const mail = z
  .strictObject({
    from: z.string().regex(/^([^<>]*<[^<>@\s]+@[^<>@\s]+>|[^<>@\s]+@[^<>@\s]+)$/),
    to: addresses,
    subject: z.string().min(1),
    bcc: addresses.optional(),
    cc: addresses.optional(),
    reply_to: addresses.optional(),
    html: z.string().optional(),
    text: z.string().optional(),
    headers: z.record(z.string(), z.string()).optional(),
    scheduled_at: z.string().optional(),
    attachments: z
      .array(
        z
          .strictObject({
            content: z.base64().min(1).optional(),
            filename: z.string().optional(),
            path: z.url().optional(),
            content_type: z.string().optional(),
            content_id: z.string().optional(),
          })
          .refine(({ content, path }) => (content === undefined) !== (path === undefined), {
            message: 'Attachment must have either a content or path',
          })
          // Some of those that Resend names: https://resend.com/docs/knowledge-base/what-attachment-types-are-not-supported
          .refine(
            ({ filename = '' }) => !/\.(exe|bat|cmd|com|js|lnk|mdb|msi|ps1|reg|url|vbs|xnk)$/i.test(filename),
            {
              message: 'Attachment has an unsupported type',
            },
          ),
      )
      .optional(),
    tags: z.array(z.strictObject({ name: tagText, value: tagText })).optional(),
    topic_id: z.string().optional(),
  })
  .refine(({ html, text }) => Boolean(html || text), { message: 'Missing `html` or `text` field' })

const maxBytes = 40 * 1024 * 1024
const apiKey = 're_emulator_1234567890'
const webhookSecret = `whsec_${Buffer.alloc(24, 'resend').toString('base64')}`

/** Starts an emulator of Resend with one API key. It takes mails from any domain. */
export function openResendEmulator() {
  const taken = new Map<string, { body: string; id: string }>()
  return httpEmulator<ResendCall>({
    config: (baseUrl) => ({
      apiKey,
      from: 'Outbound <outbound@example.org>',
      webhookSecret,
      baseUrl,
    }),
    read(call) {
      const { method, path, headers, body } = call
      return { method, path, headers, text: body.toString(), mail: jsonIn(call) }
    },
    answer: (call, { url, later }) =>
      answerTo(call, taken, (mail) => {
        if (url === undefined) return
        for (const { afterMs, report } of usualEvents(url, webhookSecret, mail)) later(afterMs, report)
      }),
  })
}

function answerTo(
  { method, path, headers, text, mail: given }: ResendCall,
  taken: Map<string, { body: string; id: string }>,
  report: (mail: TakenMail) => void,
) {
  if (path !== '/emails') return resendError(404, 'not_found', 'The requested endpoint does not exist')
  if (method !== 'POST') return resendError(405, 'method_not_allowed', 'Method is not allowed')
  if (!headers.authorization) return resendError(401, 'missing_api_key', 'Missing API key')
  if (headers.authorization !== `Bearer ${apiKey}`)
    return resendError(403, 'invalid_api_key', 'API key is invalid')
  const key = String(headers['idempotency-key'] ?? '')
  if (key.length > 256)
    return resendError(400, 'invalid_idempotency_key', 'The key must be between 1-256 chars')
  const issue = mailIssue(text, given)
  if (issue) return issue
  const earlier = taken.get(key)
  if (earlier && earlier.body !== text)
    return resendError(
      409,
      'invalid_idempotent_request',
      'Same idempotency key used with a different payload',
    )
  const { id } = earlier ?? { id: uuidv4() }
  if (!earlier) report({ id, mail: given ?? {} })
  if (key !== '') taken.set(key, { body: text, id })
  for (const oldest of taken.keys()) if (taken.size > maxKept) taken.delete(oldest)
  return { status: 200, body: { id } }
}

function mailIssue(text: string, given: object = {}) {
  const { error } = mail.safeParse(given)
  const [issue] = error?.issues ?? []
  if (issue?.code === 'invalid_type' && issue.message.endsWith('received undefined'))
    return resendError(422, 'missing_required_field', `Missing \`${issue.path.join('.')}\` field`)
  if (issue?.path[0] === 'attachments' && issue.code === 'custom')
    return resendError(422, 'invalid_attachment', issue.message)
  if (issue) return resendError(422, 'validation_error', `Invalid \`${issue.path.join('.')}\` field`)
  if (text.length > maxBytes) return resendError(422, 'validation_error', 'The mail is larger than 40MB')
  return undefined
}
