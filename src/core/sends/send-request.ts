import { z } from 'zod'
import {
  type Contact,
  type ContactType,
  contactKinds,
  contactTypes,
  defaultContactType,
} from '../contacts/contact.ts'
import { attachedBytes, mailFields, mailOf } from '../messages/mail-body.ts'
import type { Message } from '../messages/message.ts'
import { contentOf, maxMediaBytes, messageSchema } from '../messages/message-body.ts'
import { entries } from '../requests/entries.ts'
import { besideOtherIssues, characters, optional, singleLine, string } from '../requests/fields.ts'
import type { Network } from '../requests/public-address.ts'
import { defaultPriority, type Priority, priorities } from './priority.ts'
import { parseMoment, sendAtWanted } from './send-at.ts'

/** Limit of the messages of a batch. */
export const maxMessages = 100

/** A request for a send: validated and normalised, with decoded media. */
export interface SendRequest {
  /** Only if the channel is in the body. */
  channelId?: string | undefined
  contact: Contact
  message: Message
  mediaContent: Buffer | undefined
  flowId: string | undefined
  closeConversation: boolean
  /** What goes first among the sends of its channel; default `normal`. */
  priority?: Priority | undefined
  /** Not to be sent before this time. */
  sendAt?: Date | undefined
  /** The client's own id of the send. */
  reference?: string | undefined
  /** How long after its accept, or after `sendAt`, it may be called; undefined if only its channel limits that. */
  expiresInSeconds?: number | undefined
  /** The client's own notes on the send. */
  metadata?: Metadata | undefined
}

export type Metadata = Record<string, string>

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

const otherKinds = contactTypes.filter((type) => type !== defaultContactType)

export const contact = z
  .strictObject({
    value: string.describe(
      'A phone number with its country code, of a length that numbers of that country have: spaces, dots, dashes, parentheses and direction marks are dropped, and so is a trunk zero, as in `+49 (0)151`, where the country drops it. `+` or `00` in front is optional, but better. ' +
        otherKinds.map((type) => `Or, with the type \`${type}\`, ${contactKinds[type].called}.`).join(' '),
    ),
    type: optional(
      z.enum(contactTypes).describe(`The kind of \`value\`. Default: \`${defaultContactType}\`.`),
    ),
    name: optional(singleLine(0, 256).describe('The name of the contact.')),
  })
  .superRefine(({ value, type = defaultContactType }, context) => {
    const hasIssue = context.issues.some(({ path }) => path?.[0] === 'value' || path?.[0] === 'type')
    if (hasIssue || contactKinds[type].parse(value) !== undefined) return
    const message = [contactKinds[type].issue(value), ...otherKind(type, value)].join('; ')
    context.addIssue({ code: 'custom', path: ['value'], message })
  }, besideOtherIssues)
  .transform(
    ({ value, type = defaultContactType, name }): Contact => ({ type, value: normalised(type, value), name }),
  )
  .describe('The recipient of the message.')

const channelId = string.describe('The channel that sends the message.')

export const priority = z
  .enum(priorities)
  .describe(
    `What goes first among the messages of its channel that may go: urgent ones, such as a login code, then normal ones, then bulk ones, such as a campaign. An urgent one doesn't wait for earlier ones of its contact that aren't. Default: \`${defaultPriority}\`.`,
  )

export const sendAt = z
  .string()
  .meta({
    format: 'date-time',
    description:
      'When to send it: a time with an offset, as in RFC 3339. It is never sent earlier. At most 60 s ago, which means now. Default: now.',
  })
  .transform((text, context) => {
    const moment = parseMoment(text)
    if (moment) return moment
    context.addIssue({ code: 'custom', message: sendAtWanted })
    return z.NEVER
  })

export const reference = singleLine(1, 256).describe(
  'An id of your own, such as that of an order. It is returned with the send, and found by `GET /v1/messages`. Any number of sends may have the same.',
)

const longestExpirySeconds = 7 * 24 * 3600

const expiresInSeconds = z
  .int('has to be a whole number')
  .min(1, 'at least 1')
  .max(longestExpirySeconds, `at most ${longestExpirySeconds}`)
  .describe(
    'How long the send may wait, counted from its accept or from `sendAt`. If the provider has not been called by then, it fails with the reason `expired`. The channel may have a shorter limit of its own.',
  )

const metadata = entries({
  most: 20,
  names: /^(?!__proto__$)[A-Za-z0-9_.-]{1,64}$/,
  namesAre: '1 to 64 of letters, digits, _, . and -',
  values: characters(0, 500),
  description:
    'Notes of your own. They are returned with the send and its callbacks, and can not be searched. Up to 20 entries.',
})

/** The fields that the two bodies of a send have in common. */
const bodyFields = (allowedPrivateNetworks: readonly Network[]) => ({
  contact,
  message: messageSchema(allowedPrivateNetworks, associationInside),
  email: optional(mailFields(allowedPrivateNetworks)),
  ...association,
  priority: optional(priority),
  sendAt: optional(sendAt),
  reference: optional(reference),
  expiresInSeconds: optional(expiresInSeconds),
  metadata: optional(metadata),
})

type Body = z.output<z.ZodObject<ReturnType<typeof bodyFields>>>

/**
 * The schemas of the two bodies of a send (docs/reference/api.md#send), with the channel in the body, or in the path, which is
 * their only difference; and of a batch (docs/reference/api.md#batch).
 *
 * @param allowedPrivateNetworks networks that a `mediaUrl` with an IP address may use although they aren't public.
 */
export function sendRequestSchemas(allowedPrivateNetworks: readonly Network[]) {
  const fields = bodyFields(allowedPrivateNetworks)
  const channelInBody = z
    .strictObject({ channelId, ...fields })
    .superRefine(checkTogether, besideOtherIssues)
    .transform(toSendRequest)
  return {
    channelInBody,
    channelInPath: z
      .strictObject(fields)
      .superRefine(checkTogether, besideOtherIssues)
      .transform(toSendRequest),
    /** Several bodies with the channel in each. They are counted before they are parsed, because a hostile list may be long. */
    batch: z
      .strictObject({
        messages: z
          .array(z.unknown())
          .min(1, 'is empty')
          .max(maxMessages)
          .pipe(z.array(channelInBody))
          .describe('The messages. To one contact on one channel, they are sent in this order.'),
      })
      .transform(({ messages }) => messages),
  }
}

interface Association {
  flowId?: string | undefined
  closeConversation?: boolean | undefined
}

const noContent = Buffer.alloc(0)

function toSendRequest(body: Body & { channelId?: string }): SendRequest {
  const { message: given, email, flowId, closeConversation, ...others } = body
  const { message, mediaContent } = contentOf(given)
  const mail = email && mailOf(email)
  return {
    message: mail ? { ...message, email: mail.email } : message,
    mediaContent: mail?.contents.length
      ? Buffer.concat([mediaContent ?? noContent, ...mail.contents])
      : mediaContent,
    flowId: flowId ?? given.flowId,
    closeConversation: closeConversation ?? given.closeConversation ?? false,
    ...others,
  }
}

/** The fields of a body that are checked together. They may be missing, or have issues of their own. */
type GivenTogether = Association & {
  message?: Association & { type?: unknown }
  email?: { html?: unknown; attachments?: unknown } | null | undefined
}

function checkTogether(body: GivenTogether, context: z.RefinementCtx): void {
  if ((body.email?.html ?? undefined) !== undefined && body.message?.type !== 'text')
    context.addIssue({
      code: 'custom',
      path: ['email', 'html'],
      message: 'only beside a message of the type text',
    })
  // Only a valid list has sizes.
  if (Array.isArray(body.email?.attachments) && context.issues.length === 0) checkSize(body as Body, context)
  for (const name of associationNames) {
    const outside = body[name] ?? undefined
    const inside = body.message?.[name] ?? undefined
    if (outside !== undefined && inside !== undefined && outside !== inside) {
      context.addIssue({ code: 'custom', path: [name], message: `differs from message.${name}` })
    }
  }
}

/** What a send stores, and what a worker holds of it in memory, has one limit. */
function checkSize({ email, message }: Body, context: z.RefinementCtx): void {
  const bytes = (message.media?.content?.length ?? 0) + (email ? attachedBytes(email) : 0)
  if (bytes > maxMediaBytes)
    context.addIssue({
      code: 'custom',
      path: ['email', 'attachments'],
      message: `more than ${maxMediaBytes} bytes together${message.media ? ', the media included' : ''}`,
    })
}

/** The advice for a value that looks like one of another kind. */
function otherKind(type: ContactType, value: string): string[] {
  const other = contactTypes.find((kind) => kind !== type && contactKinds[kind].looksLike(value))
  return other ? [`for ${contactKinds[other].called}, set contact.type to "${other}"`] : []
}

function normalised(type: ContactType, value: string): string {
  const parsed = contactKinds[type].parse(value)
  if (parsed === undefined) throw new Error('A contact without a value passed its schema')
  return parsed
}
