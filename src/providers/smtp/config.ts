import { NIL } from 'uuid'
import { z } from 'zod'
import { parseEmail } from '../../core/contacts/email.ts'
import { parseMailbox } from '../../core/contacts/mailbox.ts'
import { besideOtherIssues, optional, singleLine, string } from '../../core/requests/fields.ts'
import { literalAddress } from '../../core/requests/public-address.ts'
import { mailbox, mailHeaders, mailSubject, maxFieldLength } from '../shared/mail/mail-fields.ts'

const host = singleLine(1, maxFieldLength).refine(
  (value) => /^[A-Za-z0-9_]([A-Za-z0-9._-]*[A-Za-z0-9_.])?$/.test(value) || literalAddress(value) === value,
  'has to be a host name or an IP address, without protocol and port',
)

const requestIdPlace = '{requestId}'

/** The address to which mail servers send their reports. */
const returnPath = singleLine(1, maxFieldLength).refine(
  (value) => parseEmail(value.replace(requestIdPlace, NIL)) !== undefined,
  `has to be an address, which may hold ${requestIdPlace} once`,
)

/** The envelope's sender of one mail. */
export const returnPathOf = ({ returnPath, from }: SmtpConfig, requestId: string): string | undefined =>
  returnPath?.replace(requestIdPlace, requestId) ?? parseMailbox(from)?.address

const [ipv4, ipv6] = [z.ipv4(), z.ipv6()]
const label = '[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?'
const hostName = new RegExp(`^(${label}\\.)*${label}$`)

/** The client's name in EHLO (RFC 5321, 4.1.3); an IP address needs brackets. */
const name = singleLine(1, maxFieldLength).refine((value) => {
  const [, inBrackets] = /^\[([\d.]+)\]$/.exec(value) ?? []
  const [, taggedInBrackets] = /^\[IPv6:([^\]]+)\]$/i.exec(value) ?? []
  if (inBrackets !== undefined) return ipv4.safeParse(inBrackets).success
  if (taggedInBrackets !== undefined) return ipv6.safeParse(taggedInBrackets).success
  return hostName.test(value) && !ipv4.safeParse(value).success
}, 'has to be a host name, or an address in brackets such as [192.0.2.1] or [IPv6:2001:db8::1]')

const port = z.number().int('has to be a whole number').min(1, 'at least 1').max(65_535, 'at most 65535')

export const config = z
  .strictObject({
    host: host.describe('host name or IP address of the server, without protocol and port'),
    port: optional(port).describe('default: 587, or 465 with secure'),
    secure: optional(z.boolean())
      .transform((value) => value ?? false)
      .describe('TLS from the first byte, as on port 465; default: no, then STARTTLS'),
    /** Default: true, unless the server is on this machine or in an allowed network (workers/providers/smtp-session.ts). */
    requireTls: optional(z.boolean()).describe(
      'whether nothing is sent without TLS; default: yes, unless the server is on this machine or in an allowed network',
    ),
    user: optional(singleLine(1, maxFieldLength)).describe('of the login; beside pass'),
    pass: optional(singleLine(1, 4096)).describe('of the login; beside user'),
    from: mailbox.describe('the sender: an address, or Name <address>'),
    name: optional(name).describe('the name in the greeting (EHLO); default: the domain of from'),
    returnPath: optional(returnPath).describe(
      'the address that bounces go to, such as bounce+{requestId}@example.org; default: that of from',
    ),
    bounceToken: optional(
      string.regex(/^[!-~]{8,256}$/, 'has to be 8 to 256 characters, on one line and without spaces'),
    ).describe('8 to 256 characters without spaces: turns receipts on'),
    subject: mailSubject,
    replyTo: optional(mailbox).describe('where answers go: an address, or Name <address>'),
    headers: mailHeaders,
  })
  .superRefine((fields: { user?: unknown; pass?: unknown }, context) => {
    const user = fields.user ?? undefined
    const pass = fields.pass ?? undefined
    if ((user === undefined) === (pass === undefined)) return
    const [missing, given] = user === undefined ? ['user', 'pass'] : ['pass', 'user']
    context.addIssue({
      code: 'custom',
      path: [missing],
      message: `required beside ${given}; give both or neither`,
    })
  }, besideOtherIssues)
  // The output is sealed and stored. A default for a field that the previous release doesn't know would make that release fail.
  .transform((given) => ({ ...given, port: given.port ?? (given.secure ? 465 : 587) }))

export type SmtpConfig = z.output<typeof config>
