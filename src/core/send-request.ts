import { z } from 'zod'
import { type Contact, type ContactType, contactKinds, contactTypes, defaultContactType } from './contact.ts'
import { besideOtherFaults, optional, singleLine, string } from './fields.ts'
import type { Message } from './message.ts'
import { contentOf, messageSchema } from './message-body.ts'
import type { Network } from './public-address.ts'

/** A send as a client asked for it: validated, normalised, media decoded. */
export interface SendRequest {
  /** Only where the channel is named in the body. */
  channelId?: string | undefined
  contact: Contact
  message: Message
  mediaContent: Buffer | undefined
  flowId: string | undefined
  closeConversation: boolean
}

/** Fields that are accepted beside the message and inside it (docs/reference/api.md#flow-and-conversation). */
const association = { flowId: optional(string), closeConversation: optional(z.boolean()) }
const associationNames = ['flowId', 'closeConversation'] as const

const contact = z
  .strictObject({ value: string, type: optional(z.enum(contactTypes)), name: optional(singleLine(0, 256)) })
  .superRefine(({ value, type = defaultContactType }, context) => {
    const isFaulty = context.issues.some(({ path }) => path?.[0] === 'value' || path?.[0] === 'type')
    if (isFaulty || contactKinds[type].parse(value) !== undefined) return
    const message = `has to be ${contactKinds[type].wanted}`
    context.addIssue({ code: 'custom', path: ['value'], message })
  }, besideOtherFaults)
  .transform(
    ({ value, type = defaultContactType, name }): Contact => ({ type, value: normalised(type, value), name }),
  )

/**
 * The two bodies of a send (docs/reference/api.md#send): with the channel in the body, and with the channel in the path. They
 * differ in nothing else.
 *
 * @param allowedPrivateNetworks what a `mediaUrl` written as an address may name although it isn't public.
 */
export function sendRequestSchemas(allowedPrivateNetworks: readonly Network[]) {
  const fields = { contact, message: messageSchema(allowedPrivateNetworks, association), ...association }
  return {
    channelInBody: z
      .strictObject({ channelId: string, ...fields })
      .superRefine(sameInBothPlaces, besideOtherFaults)
      .transform(({ channelId, ...body }): SendRequest => ({ channelId, ...toSendRequest(body) })),
    channelInPath: z
      .strictObject(fields)
      .superRefine(sameInBothPlaces, besideOtherFaults)
      .transform((body): SendRequest => toSendRequest(body)),
  }
}

interface Association {
  flowId?: string | undefined
  closeConversation?: boolean | undefined
}

type Body = Association & { contact: Contact; message: Parameters<typeof contentOf>[0] & Association }

function toSendRequest({ contact, message, flowId, closeConversation }: Body): SendRequest {
  return {
    contact,
    ...contentOf(message),
    flowId: flowId ?? message.flowId,
    closeConversation: closeConversation ?? message.closeConversation ?? false,
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
