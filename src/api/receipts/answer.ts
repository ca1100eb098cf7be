import type { Context } from 'hono'
import type { ApiEnv } from '../context.ts'

/** The receipts are committed. */
export function answerReceived(c: Context<ApiEnv>): Response {
  return new Response(null, { status: 200, headers: { ...c.get('headers'), 'Content-Length': '0' } })
}

/** Answers a provider's check of the address. The challenge comes from the caller, so a browser must not run it. */
export function answerChallenge(c: Context<ApiEnv>, challenge: string): Response {
  return new Response(challenge, {
    status: 200,
    headers: {
      ...c.get('headers'),
      'Content-Type': 'text/plain; charset=utf-8',
      'X-Content-Type-Options': 'nosniff',
    },
  })
}
