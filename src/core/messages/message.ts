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

/** A message without the bytes of its media, which have their own table and never get into Redis or a log. */
export type Message =
  | { type: 'text'; text: { value: string } }
  | { type: 'template'; template: TemplateMessage }
  | { type: 'media'; media: MediaDescription }
