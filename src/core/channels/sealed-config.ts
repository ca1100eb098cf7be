import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto'

const tagBytes = 16

/**
 * Encrypts a channel's config with AES-256-GCM: `v1.<key id>.<nonce>.<ciphertext and tag>`, base64url. It is bound to the
 * channel's id, so that a config copied into another channel's row can't be opened.
 */
export function sealConfig(config: unknown, channelId: string, key: Buffer): string {
  const nonce = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(channelId))
  const sealed = [cipher.update(JSON.stringify(config), 'utf8'), cipher.final(), cipher.getAuthTag()]
  return ['v1', keyId(key), nonce.toString('base64url'), Buffer.concat(sealed).toString('base64url')].join(
    '.',
  )
}

/**
 * @param keys the keys that may have sealed it.
 * @throws if none of them has, or the text was altered; the message contains no part of the config.
 */
export function openConfig(sealed: string, channelId: string, keys: readonly Buffer[]): unknown {
  const [version, sealedWith, nonce = '', payload = ''] = sealed.split('.')
  const key = keys.find((known) => keyId(known) === sealedWith)
  if (version !== 'v1' || !key) {
    throw new Error(
      `The config of channel ${channelId} was sealed with another key (${sealedWith}); set CREDENTIALS_KEY to that key, or CREDENTIALS_KEY_PREVIOUS until outbound credentials rotate has finished.`,
    )
  }
  const bytes = Buffer.from(payload, 'base64url')
  const decipher = createDecipheriv('aes-256-gcm', key, Buffer.from(nonce, 'base64url'), {
    authTagLength: tagBytes,
  })
  decipher.setAAD(Buffer.from(channelId)).setAuthTag(bytes.subarray(-tagBytes))
  return JSON.parse(
    Buffer.concat([decipher.update(bytes.subarray(0, -tagBytes)), decipher.final()]).toString('utf8'),
  )
}

/** Whether the config names this key as the one that sealed it. */
export function isSealedWith(sealed: string, key: Buffer): boolean {
  return sealed.startsWith(`v1.${keyId(key)}.`)
}

/** Identifies a key without revealing anything about it. */
function keyId(key: Buffer): string {
  return createHash('sha256').update('key-id:').update(key).digest('base64url').slice(0, 8)
}
