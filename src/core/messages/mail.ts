/** What a client may say of a mail besides its message (docs/reference/api.md#mail). It is stored within the message. */
export interface MailFields {
  subject?: string | undefined
  /** Beside the text, which is the plain part. */
  html?: string | undefined
  fromName?: string | undefined
  replyTo?: string | undefined
  headers?: Readonly<Record<string, string>> | undefined
  tags?: Readonly<Record<string, string>> | undefined
}
