import type { ErrorCode } from './codes.ts'

/** The headers by which a program recognises an error, and a person finds its page. Without a public address, the link is relative. */
export const headersOfCode = (code: ErrorCode, publicBaseUrl = '') => ({
  'Error-Code': code,
  Link: `<${publicBaseUrl.replace(/\/+$/, '')}/docs/errors#${code}>; rel="help"`,
})
