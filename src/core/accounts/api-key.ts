import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'

export const permissions = [
  'messages:send',
  'messages:read',
  'messages:content',
  'endpoints:manage',
  'suppressions:manage',
  'usage:read',
] as const
export type Permission = (typeof permissions)[number]

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const form = /^omk_[0-9A-Za-z]{49}$/
const secretLength = 43
const checksumLength = 6
const displayPrefixLength = 8

/** Creates a key of 256 random bits. It is shown once to its owner, and stored only as `hashApiKey` (docs/reference/api.md#keys). */
export function mintApiKey(pepper: string): { apiKey: string; displayPrefix: string; hash: Buffer } {
  const secret = base62(BigInt(`0x${randomBytes(32).toString('hex')}`), secretLength)
  const apiKey = `omk_${secret}${checksum(secret, pepper)}`
  return { apiKey, displayPrefix: apiKey.slice(0, displayPrefixLength), hash: hashApiKey(apiKey, pepper) }
}

/**
 * Whether this service minted the key, checked without a query. The checksum is keyed with the pepper, so that an attacker
 * can't make up keys that cost a query each (docs/decisions/0006-keyed-checksum.md).
 */
export function wasMintedHere(apiKey: string, pepper: string): boolean {
  if (!form.test(apiKey)) return false
  const secret = apiKey.slice(4, 4 + secretLength)
  return timingSafeEqual(Buffer.from(apiKey.slice(-checksumLength)), Buffer.from(checksum(secret, pepper)))
}

export function hashApiKey(apiKey: string, pepper: string): Buffer {
  return createHmac('sha256', pepper).update(`hash:${apiKey}`).digest()
}

function checksum(secret: string, pepper: string): string {
  const digest = createHmac('sha256', pepper).update(`checksum:${secret}`).digest()
  return base62(BigInt(digest.readUIntBE(0, 6)) % 62n ** BigInt(checksumLength), checksumLength)
}

function base62(value: bigint, length: number): string {
  let text = ''
  for (let rest = value; text.length < length; rest /= 62n) text = alphabet.charAt(Number(rest % 62n)) + text
  return text
}
