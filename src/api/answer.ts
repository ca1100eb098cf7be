import type { Context } from 'hono'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import type { ApiEnv } from './context.ts'

/**
 * Answers hold messages and contacts: no cache may keep them, and no browser take them for anything but JSON. The three are written
 * out in a literal: an object that begins with a spread constant takes V8 ten times as long.
 */
const withJsonHeaders = (headers: Record<string, string> | undefined): Record<string, string> => ({
  'Content-Type': 'application/json',
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
  ...headers,
})

export const jsonHeaders = withJsonHeaders(undefined)

/**
 * Answers with JSON, and with the headers that earlier steps have put into `headers`. `c.header` and `c.json` would build a
 * Headers object, which costs more than the rest of an answer.
 */
export function answerJson(
  c: Context<ApiEnv>,
  body: unknown,
  status: ContentfulStatusCode = 200,
  headers?: Record<string, string>,
): Response {
  const all = withJsonHeaders(c.get('headers'))
  return new Response(JSON.stringify(body), { status, headers: headers ? { ...all, ...headers } : all })
}
