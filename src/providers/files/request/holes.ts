import type { ContactType } from '../../../core/contacts/contact.ts'
import { parseMailbox } from '../../../core/contacts/mailbox.ts'
import type { TemplateVariable } from '../../../core/messages/message.ts'
import { renderText } from '../../../core/messages/text-template.ts'
import { attachedAs } from '../../shared/mail/attachment-name.ts'
import { headersOfMail } from '../../shared/mail/mail-fields.ts'
import { subjectOf } from '../../shared/mail/mail-subject.ts'
import { renderMail } from '../../shared/mail/mail-template.ts'

import type { Facts, FileConfig, Value } from './facts.ts'
import { valueOfItem } from './items.ts'

export type { Facts, FileConfig }

/** Subject and bodies of a message that is sent as a mail; of any other message, only the text. */
function textsOf({ delivery }: Facts): {
  subject?: string
  text?: string | undefined
  html?: string | undefined
} {
  const { message, contact } = delivery
  if (message.type === 'text') return { text: message.text.value }
  if (message.type === 'media') {
    const { caption } = message.media
    return { text: caption || (contact.type === 'email' ? attachedAs(message.media).filename : undefined) }
  }
  const { definition, variables } = message.template
  return definition ? textsOfTemplate(contact.type, definition, variables) : {}
}

/** What a registered template becomes: a mail, or a text. */
export const textsOfTemplate = (
  contactType: ContactType,
  definition: object,
  variables: readonly TemplateVariable[],
) =>
  contactType === 'email' ? renderMail(definition, variables) : { text: renderText(definition, variables) }

const media = ({ delivery: { message } }: Facts) => (message.type === 'media' ? message.media : undefined)
const attached = (facts: Facts) => {
  const given = media(facts)
  return given && attachedAs(given)
}

/** As RFC 5322 quotes a name, so that it can't begin another address. */
const quoted = (name: string) => `"${name.replace(/["\\]/g, '\\$&')}"`

/** The values of one message that holes are filled from, by their names. */
export const sources = {
  requestId: ({ delivery }: Facts) => delivery.requestId,
  channelId: ({ delivery }: Facts) => delivery.channelId,
  reference: ({ delivery }: Facts) => delivery.reference ?? undefined,
  'contact.value': ({ delivery }: Facts) => delivery.contact.value,
  'contact.name': ({ delivery }: Facts) => delivery.contact.name,
  'message.type': ({ delivery }: Facts) => delivery.message.type,
  text: (facts: Facts) => textsOf(facts).text,
  html: (facts: Facts) => facts.delivery.message.email?.html ?? textsOf(facts).html,
  from: (facts: Facts) => {
    const { fromName } = facts.delivery.message.email ?? {}
    const { from = '' } = facts.delivery.config
    const mailbox = parseMailbox(from)
    return fromName === undefined || !mailbox ? from : `${quoted(fromName)} <${mailbox.address}>`
  },
  fromName: ({ delivery: { message, config } }: Facts) =>
    message.email?.fromName ?? parseMailbox(config.from ?? '')?.name,
  replyTo: ({ delivery: { message } }: Facts) => message.email?.replyTo,
  tags: ({ delivery: { message } }: Facts) =>
    Object.entries(message.email?.tags ?? {})
      .map((tag) => tag.join(':'))
      .join(', '),
  subject: (facts: Facts) =>
    facts.delivery.message.email?.subject ||
    textsOf(facts).subject ||
    subjectOf({ ...facts.delivery, config: { subject: facts.delivery.config.subject ?? '' } }),
  'media.type': (facts: Facts) => media(facts)?.mediaType,
  'media.url': (facts: Facts) => {
    const { mediaContent, requestId } = facts.delivery
    return mediaContent ? facts.context.mediaLink(requestId) : media(facts)?.mediaUrl
  },
  'media.base64': ({ delivery: { mediaContent }, encode }: Facts) => mediaContent && encode(mediaContent),
  'media.filename': (facts: Facts) => attached(facts)?.filename,
  'media.mimetype': (facts: Facts) => attached(facts)?.contentType,
  receiptsUrl: ({ receiptsUrl }: Facts) => receiptsUrl,
  'now.seconds': ({ context }: Facts) => Math.floor(context.nowMs() / 1000),
  'now.iso': ({ context }: Facts) => new Date(context.nowMs()).toISOString(),
  expiresInSeconds: ({ delivery: { expiresInMs } }: Facts) =>
    expiresInMs === null ? undefined : Math.max(1, Math.floor(expiresInMs / 1000)),
} satisfies Record<string, (facts: Facts) => Value>

export type SourceName = keyof typeof sources | `config.${string}`

/** The values that may come from a client: no such value gets into a header or an address. */
const isOfConfig = (source: string) => source.startsWith('config.')
export const isFromClient = (source: string) =>
  !isOfConfig(source) &&
  !['requestId', 'channelId', 'receiptsUrl', 'now.seconds', 'now.iso', 'expiresInSeconds'].includes(source)

/** The field of the config that a source reads, and the part of a mailbox that it takes. */
export function configPartOf(source: string): { field: string; part?: string | undefined } | undefined {
  if (!isOfConfig(source)) return undefined
  const [, field = '', part] = source.split('.')
  return { field, part }
}

/** The headers of a mail: what its client says, and that it is automatic. */
export const headersOf = ({ delivery: { message, requestId } }: Facts): Record<string, string> =>
  headersOfMail({}, requestId, message.email?.headers)

/** The value for a hole. An empty text counts as none. */
export function valueFor(source: string, facts: Facts): Value {
  const ofConfig = configPartOf(source)
  const value = ofConfig
    ? partOf(facts.delivery.config[ofConfig.field], ofConfig.part)
    : Object.hasOwn(sources, source)
      ? sources[source as keyof typeof sources](facts)
      : valueOfItem(source, facts)
  return value === '' ? undefined : value
}

function partOf(value: string | undefined, part: string | undefined): Value {
  if (part === undefined || value === undefined) return value
  const mailbox = parseMailbox(value)
  return part === 'name' ? mailbox?.name : mailbox?.address
}

export const formats = {
  /** A number without its plus. */
  digits: (value: string | number) => String(value).replace(/^\+/, ''),
  /** A number of JSON. */
  integer: Number,
  list: (value: string | number) => [value],
} satisfies Record<string, (value: string | number) => unknown>
export type Format = keyof typeof formats
