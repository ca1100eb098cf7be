import type { MailFields } from '../../../core/messages/mail.ts'

/**
 * Headers that vendors of mail read as commands: which template, which pool of addresses, which further recipients. By their vendors' documents;
 * any of them may be behind a mail server (docs/decisions/0061-steering-headers.md).
 */
const steering: readonly RegExp[] = [
  /^x-smtpapi$/, // SendGrid
  /^x-sg-/, // SendGrid
  /^x-mc-/, // Mailchimp Transactional
  /^x-mailgun-/,
  /^x-pm-/, // Postmark
  /^x-ses-/, // Amazon SES
  /^x-msys-/, // SparkPost
  /^x-mj-/, // Mailjet
  /^x-mailjet-/,
  /^x-mailin-/, // Brevo
  /^x-sib-/, // Brevo
  /^x-apiheader/, // Netcore
  /^x-mt-/, // Mailtrap
  /^x-xs/, // SocketLabs
  /^x-postal-/,
]

/** Why a mail can't have one of its headers; undefined if it can have all. */
export function steeringHeaderIssue({ headers = {} }: MailFields): string | undefined {
  const name = Object.keys(headers).find((name) => steering.some((one) => one.test(name.toLowerCase())))
  return (
    name &&
    `email.headers.${name}: a mail vendor would read it as a command; leave it out, or use a name of your own`
  )
}
