import { createHmac } from 'node:crypto'
import { isSameSecret } from '../accounts/same-secret.ts'
import type { ReceiptRequest } from './receipt.ts'
import { headerOf } from './receipt-request.ts'

/** https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md#verifying-webhook-authenticity */
const toleranceMs = 5 * 60_000
/** A sender has one or two, while it changes its secret. Each costs time before it is known who sent them. */
const maxSignatures = 10

/**
 * Whether a request is signed with one of the secrets as Standard Webhooks describe it, and not long ago.
 *
 * @param prefix of its headers: Svix, which others send by, has its own.
 */
export function isSignedWebhook(
  request: ReceiptRequest,
  secrets: readonly string[],
  prefix: 'webhook-' | 'svix-' = 'webhook-',
): boolean {
  const id = headerOf(request, `${prefix}id`)
  const timestamp = headerOf(request, `${prefix}timestamp`)
  const isFresh =
    /^\d{1,12}$/.test(timestamp) && Math.abs(request.nowMs - Number(timestamp) * 1000) <= toleranceMs
  const given = headerOf(request, `${prefix}signature`).split(' ', maxSignatures)
  const expected = secrets.map((one) => {
    const key = Buffer.from(one.replace(/^whsec_/, ''), 'base64')
    return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.`).update(request.body).digest('base64')}`
  })
  // All are compared, so that the time shows nothing.
  const matches = expected.flatMap((one) => given.map((signature) => isSameSecret(signature, one)))
  return isFresh && id !== '' && matches.includes(true)
}
