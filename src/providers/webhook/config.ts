import { z } from 'zod'
import { optional, string } from '../../core/requests/fields.ts'
import { parseUrl } from '../../core/requests/parse-url.ts'

const maxUrlLength = 2048
const secretBytes = { min: 24, max: 64 }
const makeOne = 'make one with: echo "whsec_$(openssl rand -base64 32)"'

const checked = (faultOf: (value: string) => string | undefined) =>
  string.superRefine((value, context) => {
    const message = faultOf(value)
    if (message) context.addIssue({ code: 'custom', message })
  })

const oneSecret = checked(secretIssue)

/** Two secrets are for a receiver that changes from one to the other: each message is signed with both. */
const secret = z.union([oneSecret, z.array(oneSecret).refine(isOneOrTwo, 'has to contain 1 or 2 secrets')], {
  error: ({ input }) => (input === undefined ? 'required' : 'has to be a secret, or a list of 1 or 2'),
})

const longestDelaySeconds = 7 * 24 * 3600
const maxDelays = 20

/** A receiver of the operator's own may be away for longer than a provider of messages. */
const retryDelays = z
  .array(
    z
      .number()
      .int('has to be a whole number')
      .min(1, 'at least 1')
      .max(longestDelaySeconds, `at most ${longestDelaySeconds}`),
  )
  .min(1, 'is empty')
  .max(maxDelays, `at most ${maxDelays}`)

export const config = z.strictObject({
  url: checked(urlIssue).describe('where each message is posted to'),
  secret: secret.describe(
    'signs each message: whsec_ and base64; a JSON list of two while the receiver changes from one to the other',
  ),
  retryDelaysSeconds: optional(retryDelays).describe(
    'waits before further attempts, as a JSON list of seconds such as [5, 60, 600]; default: those of the service',
  ),
})

export type WebhookConfig = z.output<typeof config>

function isOneOrTwo({ length }: readonly unknown[]): boolean {
  return length === 1 || length === 2
}

/** Checks the form only. The address is checked at each call, because a name may resolve to another one later. */
function urlIssue(value: string): string | undefined {
  if (value.length > maxUrlLength) return `at most ${maxUrlLength} characters; give a shorter address`
  // Checked here because the URL parser would drop white space and add a missing slash, but the given text is stored.
  if (/[\s\p{Cc}]/u.test(value)) return 'contains white space; write it as %20, or leave it out'
  if (!/^https?:\/\/[^/]/i.test(value)) return 'has to start with http:// or https:// and name a host'
  const url = parseUrl(value)
  if (!url) return 'has to be a URL, e.g. https://example.com/messages'
  if (url.username || url.password) {
    return 'must not contain a user name or password; the receiver authenticates us by the signature'
  }
  return undefined
}

function secretIssue(value: string): string | undefined {
  if (!value.startsWith('whsec_')) return `has to start with whsec_; ${makeOne}`
  const encoded = value.slice('whsec_'.length)
  const key = Buffer.from(encoded, 'base64')
  // Strict, because a receiver's library may refuse base64 that Node.js would read leniently.
  if (key.toString('base64') !== encoded) return `has to be standard base64 after whsec_; ${makeOne}`
  if (key.length < secretBytes.min) return `has to be at least ${secretBytes.min} bytes; ${makeOne}`
  if (key.length > secretBytes.max) return `has to be at most ${secretBytes.max} bytes; ${makeOne}`
  return undefined
}
