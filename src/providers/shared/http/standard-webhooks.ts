import { createHmac } from 'node:crypto'
import type { EncodedBody } from './http-body.ts'

/** The fields that a receiver verifies. */
export interface Signed {
  /** Equal for each repeat, so that the receiver can drop it. */
  id: string
  body: Buffer | EncodedBody
  /** Each signs. Two while a receiver changes from one to the other. */
  secrets: readonly string[]
  /** By PostgreSQL's clock, because receivers refuse a timestamp that is some minutes off. */
  nowMs: number
}

/** The headers of a request signed by Standard Webhooks. Each try has a new timestamp and signature. */
export function signatureHeaders({ id, body, secrets, nowMs }: Signed): Record<string, string> {
  const timestamp = Math.floor(nowMs / 1000)
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
    const signature = createHmac('sha256', key).update(`${id}.${timestamp}.`)
    for (const piece of Buffer.isBuffer(body) ? [body] : body.pieces()) signature.update(piece)
    return `v1,${signature.digest('base64')}`
  })
  return {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signatures.join(' '),
  }
}
