import type { Context } from 'hono'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import type { ApiEnv } from './context.ts'

/**
 * Answers with JSON, and with the headers that earlier steps have put into `headers`. `c.header` and `c.json` would build a
 * Headers object, which costs more than the rest of an answer.
 */
export function answerJson(
  c: Context<ApiEnv>,
  body: unknown,
  status: ContentfulStatusCode = 200,
  headers: Record<string, string> = {},
): Response {
  return new Response(JSON.stringify(body), {
    status,
    headers: { 'Content-Type': 'application/json', ...c.get('headers'), ...headers },
  })
}
