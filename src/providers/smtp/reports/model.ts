/** A mail server's report about a mail that it took before. */
export interface MailReport {
  /** The sends that it may be about, the most reliable id first. */
  requestIds: string[]
  recipients: RecipientReport[]
  /** How many recipients it names without a readable action. */
  unreadable: number
}

export interface RecipientReport {
  /** The word of the report in lower case, such as `failed`; `auto-replied` for an automatic reply. */
  action: string
  /** The enhanced status code: `Status`, or that of `Diagnostic-Code` if it says more. */
  code: string | null
  /** The reply code of a mail server that refused the mail. */
  reply: number | null
  /** The mail server's words. They may repeat the address, so it isn't kept. */
  words: string
  /** In ISO 8601. */
  at: string | null
}
