import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { v4 as uuidv4 } from 'uuid'
import { z } from 'zod'
import { type Emulator, keep, maxKept } from '../../shared/dev/emulator.ts'
import { createReports } from '../../shared/dev/reports.ts'
import { type TakenMail, usualEvents } from './reports.ts'

export interface ResendCall {
  method: string | undefined
  path: string
  headers: IncomingHttpHeaders
  /** The JSON of a mail. */
  mail?: Record<string, unknown>
}

export type ResendAnswer =
  | { status: number; headers?: Record<string, string>; body?: object | string }
  | { delayMs: number }
  | 'drop'
  | 'never_answer'

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
export async function openResendEmulator(): Promise<Emulator<ResendCall, ResendAnswer>> {
  const calls: ResendCall[] = []
  const next: ResendAnswer[] = []
  const taken = new Map<string, { body: string; id: string }>()
  const reports = createReports()
  let reportUrl: string | undefined
  const report = (mail: TakenMail) => {
    if (reportUrl === undefined) return
    for (const { afterMs, report } of usualEvents(reportUrl, webhookSecret, mail))
      reports.later(afterMs, report)
  }

  const server = createServer(async (request, response) => {
    response.on('error', () => {})
    const body = await contentOf(request)
    if (body === undefined) return
    const { method, url: path = '', headers } = request
    keep(calls, { method, path, headers, ...parsed(body) })
    const answer = next.shift() ?? { delayMs: 0 }
    if (answer === 'drop') return void request.socket.resetAndDestroy()
    if (answer === 'never_answer') return
    if ('delayMs' in answer) await sleep(answer.delayMs)
    write(response, 'status' in answer ? answer : answerTo(request, body, taken, report))
  })
  server.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as AddressInfo
  return {
    config: {
      apiKey,
      from: 'Outbound <outbound@example.org>',
      webhookSecret,
      baseUrl: `http://127.0.0.1:${port}`,
    },
    calls,
    answerNext: (...answers) => void next.push(...answers),
    reportTo(url) {
      reportUrl = url
    },
    async stop() {
      reports.stop()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function contentOf(request: IncomingMessage): Promise<string | undefined> {
  try {
    return Buffer.concat(await request.toArray()).toString()
  } catch {
    return undefined
  }
}

function parsed(body: string): Pick<ResendCall, 'mail'> {
  try {
    return { mail: JSON.parse(body) }
  } catch {
    return {}
  }
}

function answerTo(
  { method, url, headers }: IncomingMessage,
  body: string,
  taken: Map<string, { body: string; id: string }>,
  report: (mail: TakenMail) => void,
) {
  if (url !== '/emails') return resendError(404, 'not_found', 'The requested endpoint does not exist')
  if (method !== 'POST') return resendError(405, 'method_not_allowed', 'Method is not allowed')
  if (!headers.authorization) return resendError(401, 'missing_api_key', 'Missing API key')
  if (headers.authorization !== `Bearer ${apiKey}`)
    return resendError(403, 'invalid_api_key', 'API key is invalid')
  const key = String(headers['idempotency-key'] ?? '')
  if (key.length > 256)
    return resendError(400, 'invalid_idempotency_key', 'The key must be between 1-256 chars')
  const issue = mailIssue(headers, body)
  if (issue) return issue
  const earlier = taken.get(key)
  if (earlier && earlier.body !== body)
    return resendError(
      409,
      'invalid_idempotent_request',
      'Same idempotency key used with a different payload',
    )
  const { id } = earlier ?? { id: uuidv4() }
  if (!earlier) report({ id, mail: parsed(body).mail ?? {} })
  if (key !== '') taken.set(key, { body, id })
  for (const oldest of taken.keys()) if (taken.size > maxKept) taken.delete(oldest)
  return { status: 200, body: { id } }
}

function mailIssue(headers: IncomingHttpHeaders, body: string) {
  const isJson = headers['content-type']?.startsWith('application/json')
  const { error } = mail.safeParse(isJson ? (parsed(body).mail ?? {}) : {})
  const [issue] = error?.issues ?? []
  if (issue?.code === 'invalid_type' && issue.message.endsWith('received undefined'))
    return resendError(422, 'missing_required_field', `Missing \`${issue.path.join('.')}\` field`)
  if (issue?.path[0] === 'attachments' && issue.code === 'custom')
    return resendError(422, 'invalid_attachment', issue.message)
  if (issue) return resendError(422, 'validation_error', `Invalid \`${issue.path.join('.')}\` field`)
  if (body.length > maxBytes) return resendError(422, 'validation_error', 'The mail is larger than 40MB')
  return undefined
}

function write(
  response: ServerResponse,
  { status, headers, body = '' }: Exclude<ResendAnswer, string | { delayMs: number }>,
): void {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text)
}
