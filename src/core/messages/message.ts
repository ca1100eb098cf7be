import type { MailFields } from './mail.ts'

export const messageTypes = ['text', 'template', 'media'] as const
export type MessageType = (typeof messageTypes)[number]

export const mediaTypes = ['image', 'video', 'document', 'audio'] as const
export type MediaType = (typeof mediaTypes)[number]

export interface TemplateVariable {
  key: string
  value: string
}

export interface MediaDescription {
  mediaType: MediaType
  mimetype?: string | undefined
  filename?: string | undefined
  caption?: string | undefined
  mediaUrl?: string | undefined
  /** Size of content sent as base64; absent if the media is a link. */
  sizeBytes?: number | undefined
}

export interface TemplateMessage {
  name: string
  variables: TemplateVariable[]
  /** The template's registration with the channel at the time of accepting. */
  definition?: object | undefined
}

/** The content of a message of each type, without the bytes of its media: they have their own table, and never get into Redis or a log. */
interface MessageContents {
  text: { value: string }
  template: TemplateMessage
  media: MediaDescription
}

export type Message = {
  [Type in MessageType]: { type: Type; email?: MailFields | undefined } & Pick<MessageContents, Type>
}[MessageType]

/** Calls the function for the type of the message with its content: the compiler wants one for each type. */
export function byType<Text, Template, Media>(
  message: Message,
  cases: {
    text(content: MessageContents['text']): Text
    template(content: MessageContents['template']): Template
    media(content: MessageContents['media']): Media
  },
): Text | Template | Media {
  switch (message.type) {
    case 'text':
      return cases.text(message.text)
    case 'template':
      return cases.template(message.template)
    case 'media':
      return cases.media(message.media)
    default:
      return message satisfies never
  }
}
