import { factory, isOverTls } from '../context.ts'

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "font-src 'self'",
  "connect-src 'self'",
  "media-src 'self'",
  // The HTML of mails (page/html-of-mail.ts): a link in it must not lead the frame elsewhere.
  "frame-src 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join('; ')

const headers = {
  'Content-Security-Policy': policy,
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  // Under `no-referrer`, browsers send `Origin: null` with our own forms; without TLS those would be refused.
  'Referrer-Policy': 'same-origin',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Cache-Control': 'no-store',
}

/** For a year. Without `includeSubDomains`: other names of the domain may have no TLS. */
const overTls = { 'Strict-Transport-Security': 'max-age=31536000' }

/** Adds these headers to every response, errors too. A header that a route has set itself stays. */
export const securityHeaders = factory.createMiddleware(async (c, next) => {
  await next()
  for (const [name, value] of Object.entries({ ...headers, ...(isOverTls(c) && overTls) })) {
    if (!c.res.headers.has(name)) c.res.headers.set(name, value)
  }
})
