import type { Context } from 'hono'
import type { AdminEnv } from '../context.ts'
import { PageError } from '../errors.tsx'

/** Nothing is loaded, and nothing runs: not from here either. Only our own pages may frame it. */
const policy = [
  "default-src 'none'",
  "style-src 'unsafe-inline'",
  'img-src data:',
  "form-action 'none'",
  "base-uri 'none'",
  "frame-ancestors 'self'; sandbox",
].join('; ')

/** Answers with the HTML of a mail, as it was sent, for the frame of a page; with `?as=source` as plain text. */
export function htmlOfMail(c: Context<AdminEnv>, html: string | undefined): Response {
  if (html === undefined) throw new PageError(404, 'There is no such HTML, or it is no longer kept.')
  const type = c.req.query('as') === 'source' ? 'text/plain' : 'text/html'
  return c.body(html, 200, {
    'Content-Type': `${type}; charset=utf-8`,
    'Content-Security-Policy': policy,
    'X-Frame-Options': 'SAMEORIGIN',
    'Referrer-Policy': 'no-referrer',
  })
}
