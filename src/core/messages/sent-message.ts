import { z } from 'zod'
import type { MailFields } from './mail.ts'
import { type Message, mediaTypes, messageTypes } from './message.ts'

const text = (what: string) => z.string().describe(what).optional()

/** The fields of a message as its account reads it: as it was sent, without the bytes of its media. */
export const sentMessageFields = {
  type: z.enum(messageTypes).describe('The type of the message; the object of that name has its content.'),
  text: z
    .object({ value: z.string().describe('The text.') })
    .describe('A text.')
    .optional(),
  template: z
    .object({
      name: z.string().describe('The name of the template.'),
      variables: z
        .array(z.object({ key: z.string().describe('Its key.'), value: z.string().describe('Its value.') }))
        .describe('Its variables.'),
    })
    .describe('A template.')
    .optional(),
  media: z
    .object({
      mediaType: z.enum(mediaTypes).describe('The kind of media.'),
      mimetype: text('The type of the content; if it was not given, as it was recognised.'),
      filename: text('The name of the file.'),
      caption: text('The text beside it.'),
      mediaUrl: text('Its address.'),
      sizeBytes: z.int().min(0).describe('The size of content that was sent as base64.').optional(),
    })
    .describe('A media, without its bytes.')
    .optional(),
}

const texts = (what: string) => z.record(z.string(), z.string()).describe(what).optional()

/** What was said of the mail, as its account reads it. */
export const sentMailFields = {
  subject: text('The subject.'),
  html: text('The message as HTML.'),
  fromName: text('The name of the sender.'),
  replyTo: text('The address that answers go to.'),
  headers: texts('Further headers.'),
  tags: texts('Tags for the statistics of the vendor.'),
  attachments: z
    .array(
      z.object({
        filename: z.string().describe('The name of the file.'),
        mimetype: text('The type of the content; if it was not given, as it was recognised.'),
        url: text('Its address.'),
        contentId: text('By which the HTML shows it.'),
        sizeBytes: z.int().min(0).describe('The size of content that was sent as base64.').optional(),
      }),
    )
    .describe('Files, without their bytes.')
    .optional(),
}

/** Leaves out the template's registration with the channel, which is the operator's. */
export function sentMessage({ email, ...message }: Message): { message: Message; email: MailFields | null } {
  return { message: withoutDefinition(message), email: email ?? null }
}

function withoutDefinition(message: Message): Message {
  if (message.type !== 'template') return message
  const { name, variables } = message.template
  return { type: 'template', template: { name, variables } }
}
