import type { OwnShortage } from '../../core/sends/own-shortage.ts'

/** The step of a session at which the server refused. */
export type Step = 'connection' | 'tls' | 'login' | 'sender' | 'recipient' | 'content'

/**
 * The result for a mail. `refused`: by a reply of the server. `no_login`, `no_tls`: not offered as needed, or an invalid
 * certificate. `not_called`: this machine couldn't begin. `not_sent`: no byte of the content was sent. `maybe_sent`: content was sent, but no reply came.
 */
export type SmtpResult =
  | { kind: 'taken'; reply: string; messageId: string | undefined }
  | { kind: 'refused'; step: Step; reply: string }
  | { kind: 'too_large' }
  | { kind: 'no_login' | 'no_tls'; reason: string }
  | { kind: 'not_called'; shortage: OwnShortage }
  | { kind: 'not_sent' | 'maybe_sent'; reason: string }
