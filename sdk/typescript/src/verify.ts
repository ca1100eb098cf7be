import { VerificationError } from './errors.ts'
import type { Callback } from './generated/callback.ts'

/** Headers of a request, as `fetch`, Node.js or a framework has them. Names count in any case. */
export type CallbackHeaders = Pick<Headers, 'get'> | Record<string, string | readonly string[] | undefined>

const toleranceSeconds = 5 * 60

/**
 * Verifies a callback by Standard Webhooks, and parses it. It is asynchronous, because Web Crypto is.
 *
 * @param headers of the request: `webhook-id`, `webhook-timestamp`, `webhook-signature`.
 * @param body the bytes of the request, unchanged: parsed and written again, they have another signature.
 * @param secret of the endpoint, `whsec_…`; or several, while you change it: any of them counts.
 * @param now the time to compare with; callbacks of more than 5 minutes before or after it are refused.
 * @throws VerificationError if it isn't genuine, or too old.
 *
 * @example
 * const { type, data } = await verify(request.headers, await request.text(), process.env.CALLBACK_SECRET)
 */
export async function verify(
  headers: CallbackHeaders,
  body: string | Uint8Array,
  secret: string | readonly string[],
  now: Date = new Date(),
): Promise<Callback> {
  const id = headerOf(headers, 'webhook-id')
  const timestamp = headerOf(headers, 'webhook-timestamp')
  const signatures = headerOf(headers, 'webhook-signature')
  if (!/^\d{1,12}$/.test(timestamp)) throw new VerificationError('webhook-timestamp is not a time.')
  if (Math.abs(now.getTime() / 1000 - Number(timestamp)) > toleranceSeconds)
    throw new VerificationError(
      'The callback is more than 5 minutes from now. Check the clock of this machine.',
    )
  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body
  const signed = joined(new TextEncoder().encode(`${id}.${timestamp}.`), bytes)
  const keys = await Promise.all([secret].flat().map(importKey))
  const given = signatures.split(' ').flatMap(readSignature)
  // Each signature by each key, whatever an earlier one gave. Web Crypto compares in constant time.
  const results = await Promise.all(
    keys.flatMap((key) => given.map((signature) => crypto.subtle.verify('HMAC', key, signature, signed))),
  )
  if (!results.includes(true))
    throw new VerificationError('No signature is by this secret. Compare it with the secret of the endpoint.')
  return JSON.parse(new TextDecoder().decode(bytes))
}

function headerOf(headers: CallbackHeaders, name: string): string {
  const value =
    typeof headers.get === 'function'
      ? headers.get(name)
      : Object.entries(headers).find(([given]) => given.toLowerCase() === name)?.[1]
  if (typeof value !== 'string' || value === '') throw new VerificationError(`The header ${name} is missing.`)
  return value
}

function joined(one: Uint8Array, other: Uint8Array): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(one.length + other.length)
  all.set(one)
  all.set(other, one.length)
  return all
}

async function importKey(secret: string) {
  const bytes = bytesOf(secret.replace(/^whsec_/, ''))
  if (!bytes?.length)
    throw new TypeError('The secret is not one of an endpoint: pass it whole, from whsec_ on.')
  return await crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify'])
}

function readSignature(signature: string): Uint8Array<ArrayBuffer>[] {
  const [, base64] = /^v1,(.+)$/.exec(signature) ?? []
  const bytes = base64 === undefined ? undefined : bytesOf(base64)
  return bytes ? [bytes] : []
}

/** Undefined for what is no base64. */
function bytesOf(base64: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))
  } catch {
    return undefined
  }
}
