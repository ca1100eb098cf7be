import { z } from 'zod'
import { optional, string } from '../requests/fields.ts'
import { parsePastMoment, pastMomentWanted } from '../requests/past-moment.ts'
import type { Network } from '../requests/public-address.ts'
import { parsedText } from '../requests/query.ts'
import { ceilingType, eventTypes, maxEndpointsOfAccount } from './callback.ts'
import { endpointUrlIssue, maxUrlLength, notPublic } from './endpoint-url.ts'

/* What a client or an operator may ask of endpoints: the API and the CLI check it alike, with the same words. */

const events = z
  .array(z.enum(eventTypes))
  .min(1, 'name one at least; null is for all about sends')
  .transform((types) => [...new Set(types)])
  .nullable()
  .describe(
    `The types of callbacks that it gets. Null for all about sends, also those of later releases; \`${ceilingType}\` comes only if it is named.`,
  )

/** The bodies of `POST` and `PATCH /v1/endpoints`, and the options of `endpoint create` and `update`. */
export function endpointSchemas(allowedPrivateNetworks: readonly Network[]) {
  const url = string
    .superRefine((text, context) => {
      const issue = endpointUrlIssue(text, allowedPrivateNetworks)
      if (!issue) return
      const reason = issue.endsWith(notPublic) ? notPublic : issue
      context.addIssue({ code: 'custom', message: issue, params: { reason } })
    })
    .meta({
      maxLength: maxUrlLength,
      description: `\`https\`, to a public address; at most ${maxUrlLength} characters, without user, password and fragment. \`http\` and private addresses only as far as the operator allows it.`,
    })
  return {
    create: z
      .strictObject({ url, events: events.optional().transform((types) => types ?? null) })
      .describe('An endpoint to create.'),
    update: z
      .strictObject({ url: optional(url), events: events.optional() })
      .refine(
        (fields) => fields.url !== undefined || fields.events !== undefined,
        'give url or events, or both',
      )
      .meta({ minProperties: 1, description: 'At least one field to change.' }),
  }
}

const overlap = { byDefault: 86_400, max: 7 * 86_400 }
const overlapWanted = `has to be a whole number of seconds from 0 to ${overlap.max}, which are 7 days`

export const rotationSchema = z
  .strictObject({
    overlapSeconds: z
      .int(overlapWanted)
      .min(0, overlapWanted)
      .max(overlap.max, overlapWanted)
      .nullish()
      .meta({
        default: overlap.byDefault,
        description: 'How long calls are signed with the former secret, too.',
      })
      .transform((seconds) => seconds ?? overlap.byDefault),
  })
  .describe('How to replace the secret.')

export const resendSchema = z
  .strictObject({
    since: parsedText(parsePastMoment, `has to be ${pastMomentWanted}`).describe(
      `Changes since then: ${pastMomentWanted}.`,
    ),
    only: optional(z.enum(['given-up']).describe('`given-up`: only callbacks that were given up.')),
  })
  .describe('Which callbacks to send again.')

/** The body of a request that takes none. */
export const noFields = z.strictObject({}).describe('Nothing.')

export const disabledByClient = 'by its account'

/** @param why in the operator's words. */
export const disabledByOperator = (why?: string) =>
  why === undefined ? 'by an operator' : `by an operator: ${why}`

export const tooManyEndpoints = `The account already has the maximum of ${maxEndpointsOfAccount} endpoints. Delete one first.`

export const endpointDisabled = (reason: string | null) =>
  `The endpoint is disabled (${reason}): enable it first`

export const notCalledYet = 'No worker has called the endpoint yet'
