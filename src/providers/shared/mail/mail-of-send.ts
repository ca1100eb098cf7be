import { domainOf, parseMailbox } from '../../../core/contacts/mailbox.ts'
import { byType } from '../../../core/messages/message.ts'
import type { Delivery } from '../../delivery.ts'
import { headersOfMail } from './mail-fields.ts'
import { subjectOf } from './mail-subject.ts'
import { renderMail } from './mail-template.ts'

/** The fields of a config that a mail needs, whatever carries it. */
interface MailConfig {
  from: string
  subject: string
  replyTo?: string | undefined
  headers?: Record<string, string> | undefined
}

/** The mail of a send, without its attachments: what its client says of it, else what its channel does. */
export function mailOfSend({ message, contact, requestId, reference, config }: Delivery<MailConfig>) {
  const { email = {} } = message
  const from = parseMailbox(config.from)
  const { subject, text, html } = byType(message, {
    text: ({ value }): Texts => ({ text: value }),
    media: ({ caption }): Texts => ({ text: caption }),
    template: ({ definition = {}, variables }): Texts => renderMail(definition, variables),
  })
  return {
    from: from && { ...from, name: email.fromName ?? from.name },
    /** Equal for each attempt. */
    messageId: from && `<${requestId}@${domainOf(from.address)}>`,
    // A template's subject may be empty after filling in the variables.
    subject: email.subject ?? (subject?.trim() || subjectOf({ contact, reference, config })),
    replyTo: email.replyTo ?? config.replyTo,
    headers: headersOfMail(config.headers, requestId, email.headers),
    tags: email.tags,
    text,
    html: email.html ?? html,
  }
}

interface Texts {
  subject?: string | undefined
  text?: string | undefined
  html?: string | undefined
}
