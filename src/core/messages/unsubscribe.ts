import { createCipheriv, createDecipheriv, createHmac } from 'node:crypto'
import { parse as uuidBytes, stringify as uuidOf } from 'uuid'
import { oneClick } from './mail-headers.ts'
import type { Message } from './message.ts'

/** Who unsubscribes from what: the mail, the channel that sent it, and its contact. */
export interface Unsubscription {
  requestId: string
  channelId: string
  address: string
}

const nonceBytes = 12
const tagBytes = 16
const idBytes = 16

/** Derived from a secret that isn't rotated, since the address in a mail never expires. */
export const unsubscribeKey = (pepper: string): Buffer =>
  createHmac('sha256', pepper).update('unsubscribe').digest()

/**
 * The address by which the contact of a mail unsubscribes. Its token is all that the service needs, so it holds after the send is past
 * its retention. It is encrypted, since it names the contact; and equal for each attempt, since some vendors compare repeats.
 */
export function unsubscribeLink(publicBaseUrl: string, of: Unsubscription, key: Buffer): string {
  const plain = Buffer.concat([uuidBytes(of.requestId), uuidBytes(of.channelId), Buffer.from(of.address)])
  // Made from the plaintext, so that no nonce is used for two of them.
  const nonce = createHmac('sha256', key).update(plain).digest().subarray(0, nonceBytes)
  const cipher = createCipheriv('aes-256-gcm', key, nonce)
  const token = Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()])
  return `${publicBaseUrl.replace(/\/+$/, '')}/unsubscribe/${token.toString('base64url')}`
}

/** What a token says; undefined if this service didn't make it, or it was altered. */
export function readUnsubscribeToken(token: string, key: Buffer): Unsubscription | undefined {
  const bytes = Buffer.from(token, 'base64url')
  if (bytes.length <= nonceBytes + 2 * idBytes + tagBytes || bytes.toString('base64url') !== token)
    return undefined
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, nonceBytes), {
    authTagLength: tagBytes,
  }).setAuthTag(bytes.subarray(-tagBytes))
  try {
    const plain = Buffer.concat([decipher.update(bytes.subarray(nonceBytes, -tagBytes)), decipher.final()])
    return {
      requestId: uuidOf(plain.subarray(0, idBytes)),
      channelId: uuidOf(plain.subarray(idBytes, 2 * idBytes)),
      address: plain.subarray(2 * idBytes).toString(),
    }
  } catch {
    return undefined
  }
}

/** RFC 8058. */
export const oneClickHeaders = (link: string) => ({
  'List-Unsubscribe': `<${link}>`,
  'List-Unsubscribe-Post': oneClick,
})

const named = (name: string) => (header: [string, string]) => header[0].toLowerCase() === name

/** Adds the address to a mail. One that its client gave by HTTPS stays alone, since a mail has one; by mailto, it stays beside. */
export function withUnsubscribeLink(message: Message, link: string): Message {
  const given = Object.entries(message.email?.headers ?? {})
  const [, ofClient] = given.find(named('list-unsubscribe')) ?? []
  if (ofClient !== undefined && /<https:/i.test(ofClient)) return message
  const others = given.filter(([name]) => !/^list-unsubscribe(-post)?$/i.test(name))
  const ours = oneClickHeaders(link)
  const both = ofClient === undefined ? ours['List-Unsubscribe'] : `${ours['List-Unsubscribe']}, ${ofClient}`
  const headers = { ...Object.fromEntries(others), ...ours, 'List-Unsubscribe': both }
  return { ...message, email: { ...message.email, headers } }
}
