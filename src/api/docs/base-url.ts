import type { Context } from 'hono'
import type { ApiEnv } from '../context.ts'

/** Stands for the address of the service in pages and document, until one is served. */
export const basePlaceholder = 'https://address.invalid'

/** A host with its port, and nothing that would need to be escaped in HTML, JSON or a shell's quotes. */
const host = /^[\w.-]{1,253}(?::\d{1,5})?$|^\[[\da-f:.]{2,45}\](?::\d{1,5})?$/i
const plainUrl = /^https?:\/\/[\w.:[\]/~-]+$/i

/**
 * The address by which the client reached the service, for links and examples. It is `PUBLIC_BASE_URL` for a request to its
 * host, since a proxy may have ended TLS and removed a path. A client's words about its own address are shown to that client only.
 */
export function baseUrlOf(c: Context<ApiEnv>, publicBaseUrl: string | undefined): string {
  const given = c.req.header('Host') ?? ''
  const publicUrl = publicBaseUrl === undefined ? undefined : new URL(publicBaseUrl)
  if (publicUrl && publicBaseUrl && publicUrl.host === given && plainUrl.test(publicBaseUrl))
    return publicBaseUrl.replace(/\/+$/, '')
  const scheme = c.req.header('X-Forwarded-Proto') === 'https' ? 'https' : 'http'
  return `${scheme}://${host.test(given) ? given : 'localhost'}`
}
