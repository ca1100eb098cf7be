/** What a client may say of a mail besides its message (docs/reference/api.md#mail). It is stored within the message. */
export interface MailFields {
  subject?: string | undefined
  /** The part beside the plain one, which is the text of the message. */
  html?: string | undefined
  fromName?: string | undefined
  replyTo?: string | undefined
  headers?: Readonly<Record<string, string>> | undefined
  tags?: Readonly<Record<string, string>> | undefined
  attachments?: readonly Attachment[] | undefined
}

/** A file of a mail, without its bytes: they are stored as those of media are (stored-content.ts). */
export interface Attachment {
  filename: string
  mimetype?: string | undefined
  url?: string | undefined
  /** The id by which the HTML shows the file in its place. */
  contentId?: string | undefined
  /** Size of content sent as base64; absent if it is a link. */
  sizeBytes?: number | undefined
}
