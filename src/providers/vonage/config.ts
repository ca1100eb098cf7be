import { createPrivateKey } from 'node:crypto'
import { z } from 'zod'
import { baseUrl } from '../../core/channels/base-url.ts'
import { besideOtherIssues, optional, string } from '../../core/requests/fields.ts'

const secret = string.regex(/^[!-~]{1,256}$/, 'has to be on one line and without spaces')

const privateKey = string.refine(
  isRsaKey,
  'has to be the private key of the application: PEM, from its first line to its last',
)

const fromForms = {
  sms: /^(\+?[1-9]\d{2,14}|(?=.*[A-Za-z])[A-Za-z0-9 ]{1,11})$/,
  whatsapp: /^\+?[1-9]\d{6,14}$/,
}

export const config = z
  .strictObject({
    via: z.enum(['sms', 'whatsapp'], 'has to be sms or whatsapp').describe('how it sends'),
    from: string.describe(
      'a number such as +15550100100; by SMS also a short code, or a sender name of at most 11 letters and digits',
    ),
    apiKey: optional(secret).describe('of the account: one login with apiSecret'),
    apiSecret: optional(secret).describe('of the account, beside apiKey'),
    applicationId: optional(z.guid('has to be the id of the application')).describe(
      'of an application: the other login, with privateKey',
    ),
    privateKey: optional(privateKey).meta({
      description: 'of the application, as PEM from its first line to its last',
      contentMediaType: 'application/x-pem-file',
    }),
    signatureSecret: optional(secret).describe('of the account: turns receipts on'),
    baseUrl: baseUrl('https://api.nexmo.com'),
  })
  .superRefine((given: Record<string, unknown>, context) => {
    const issue = (path: string, message: string) =>
      context.addIssue({ code: 'custom', path: [path], message })
    const has = (name: string) => given[name] !== undefined && given[name] !== null
    const missing = (of: string, beside: string) => {
      if (has(beside) && !has(of)) issue(of, `required beside ${beside}`)
    }
    missing('apiSecret', 'apiKey')
    missing('apiKey', 'apiSecret')
    missing('privateKey', 'applicationId')
    missing('applicationId', 'privateKey')
    const logins = ['apiKey', 'apiSecret', 'applicationId', 'privateKey'].filter(has)
    if (logins.length === 0) issue('apiKey', 'required with apiSecret, or give applicationId and privateKey')
    if (has('apiKey') && has('applicationId')) issue('apiKey', 'not beside applicationId; give one login')
    const form = fromForms[given.via as 'sms' | 'whatsapp']
    if (form && typeof given.from === 'string' && !form.test(given.from)) {
      const orName = given.via === 'sms' ? ', or a sender name of at most 11 letters and digits' : ''
      issue('from', `has to be a number such as +15550100100${orName}`)
    }
  }, besideOtherIssues)

export type VonageConfig = z.output<typeof config>

function isRsaKey(pem: string): boolean {
  try {
    return createPrivateKey(pem).asymmetricKeyType === 'rsa'
  } catch {
    return false
  }
}
