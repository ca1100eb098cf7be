import { z } from 'zod'
import { type Contact, type ContactType, contactKinds, contactTypes, defaultContactType } from './contact.ts'
import { besideOtherIssues, optional, singleLine, string } from './fields.ts'
import type { Message } from './message.ts'
import { contentOf, messageSchema } from './message-body.ts'
import type { Network } from './public-address.ts'

/** A request for a send: validated and normalised, with decoded media. */
export interface SendRequest {
  /** Only if the channel is in the body. */
  channelId?: string | undefined
  contact: Contact
  message: Message
  mediaContent: Buffer | undefined
  flowId: string | undefined
  closeConversation: boolean
}

/** Fields that are accepted both next to the message and inside it (docs/reference/api.md#flow-and-conversation). */
const association = {
  flowId: optional(string.describe('A flow of the account that the send belongs to.')),
  closeConversation: optional(
    z
      .boolean()
      .describe(
        "Whether the contact's open conversation is closed before the first attempt. Default: false.",
      ),
  ),
}
const associationNames = ['flowId', 'closeConversation'] as const
const sameAs = (name: string) =>
  `The same as the top-level \`${name}\`. If both are given, they have to be equal.`
const associationInside = {
  flowId: association.flowId.describe(sameAs('flowId')),
  closeConversation: association.closeConversation.describe(sameAs('closeConversation')),
}

const contact = z
  .strictObject({
    value: string.describe(
      'A phone number with its country code: spaces, dots, dashes and parentheses are dropped, `+` or `00` in front is optional. Or, with the type `email`, an e-mail address.',
    ),
    type: optional(
      z.enum(contactTypes).describe(`The kind of \`value\`. Default: \`${defaultContactType}\`.`),
    ),
    name: optional(singleLine(0, 256).describe('The name of the contact.')),
  })
  .superRefine(({ value, type = defaultContactType }, context) => {
    const hasIssue = context.issues.some(({ path }) => path?.[0] === 'value' || path?.[0] === 'type')
    if (hasIssue || contactKinds[type].parse(value) !== undefined) return
    const message = `has to be ${contactKinds[type].wanted}`
    context.addIssue({ code: 'custom', path: ['value'], message })
  }, besideOtherIssues)
  .transform(
    ({ value, type = defaultContactType, name }): Contact => ({ type, value: normalised(type, value), name }),
  )
  .describe('The recipient of the message.')

const channelId = string.describe('The channel that sends the message.')

/** The fields that the two bodies of a send have in common. */
const bodyFields = (allowedPrivateNetworks: readonly Network[]) => ({
  contact,
  message: messageSchema(allowedPrivateNetworks, associationInside),
  ...association,
})

type Body = z.output<z.ZodObject<ReturnType<typeof bodyFields>>>

/**
 * The schemas of the two bodies of a send (docs/reference/api.md#send): with the channel in the body, or in the path. They
 * have no other difference.
 *
 * @param allowedPrivateNetworks networks that a `mediaUrl` with an IP address may use although they aren't public.
 */
export function sendRequestSchemas(allowedPrivateNetworks: readonly Network[]) {
  const fields = bodyFields(allowedPrivateNetworks)
  return {
    channelInBody: z
      .strictObject({ channelId, ...fields })
      .superRefine(sameInBothPlaces, besideOtherIssues)
      .transform(toSendRequest),
    channelInPath: z
      .strictObject(fields)
      .superRefine(sameInBothPlaces, besideOtherIssues)
      .transform(toSendRequest),
  }
}

interface Association {
  flowId?: string | undefined
  closeConversation?: boolean | undefined
}

function toSendRequest(body: Body & { channelId?: string }): SendRequest {
  const { message: given, flowId, closeConversation, ...others } = body
  const { message, mediaContent } = contentOf(given)
  return {
    message,
    mediaContent,
    flowId: flowId ?? given.flowId,
    closeConversation: closeConversation ?? given.closeConversation ?? false,
    ...others,
  }
}

function sameInBothPlaces(body: Association & { message?: Association }, context: z.RefinementCtx): void {
  for (const name of associationNames) {
    const outside = body[name] ?? undefined
    const inside = body.message?.[name] ?? undefined
    if (outside !== undefined && inside !== undefined && outside !== inside) {
      context.addIssue({ code: 'custom', path: [name], message: `differs from message.${name}` })
    }
  }
}

function normalised(type: ContactType, value: string): string {
  const parsed = contactKinds[type].parse(value)
  if (parsed === undefined) throw new Error('A contact without a value passed its schema')
  return parsed
}
