import { z } from 'zod'
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

/** Leaves out the template's registration with the channel, which is the operator's. */
export const sentMessage = (message: Message): Message =>
  message.type === 'template'
    ? { type: 'template', template: { name: message.template.name, variables: message.template.variables } }
    : message
