import { z } from 'zod'
import { baseUrl } from '../../core/channels/base-url.ts'
import type { MailFields } from '../../core/messages/mail.ts'
import { optional, string } from '../../core/requests/fields.ts'
import { mailbox, mailHeaders, mailSubject } from '../shared/mail/mail-fields.ts'
import { steeringHeaderIssue } from '../shared/mail/steering-headers.ts'

export const config = z.strictObject({
  apiKey: string
    .regex(/^[!-~]{1,256}$/, 'has to be the API key (re_…), on one line and without spaces')
    .describe('the API key, re_…'),
  from: mailbox.describe('the sender: an address of a verified domain, or Name <address>'),
  subject: mailSubject,
  replyTo: optional(mailbox).describe('where answers go: an address, or Name <address>'),
  headers: mailHeaders,
  webhookSecret: optional(
    string.regex(
      /^whsec_[A-Za-z0-9+/]{32,88}={0,2}$/,
      'has to be the signing secret of the webhook: whsec_, then base64',
    ),
  ).describe('the signing secret of the webhook, whsec_…: turns receipts on'),
  baseUrl: baseUrl('https://api.resend.com'),
})

// https://resend.com/docs/knowledge-base/what-attachment-types-are-not-supported
const refusedExtensions = new Set(
  (
    'adp app asp bas bat cer chm cmd com cpl crt csh der exe fxp gadget hlp hta inf ins isp its js jse ksh lib lnk mad maf mag ' +
    'mam maq mar mas mat mau mav maw mda mdb mde mdt mdw mdz msc msh msh1 msh2 mshxml msh1xml msh2xml msi msp mst ops pcd pif ' +
    'plg prf prg reg scf scr sct shb shs sys ps1 ps1xml ps2 ps2xml psc1 psc2 tmp url vb vbe vbs vps vsmacros vss vst vsw vxd ' +
    'ws wsc wsf wsh xnk'
  ).split(' '),
)
const extensionOf = (filename: string) => /\.([^.]*)$/.exec(filename)?.[1]?.toLowerCase() ?? ''

/** Why Resend refuses a file of this name; undefined if it doesn't. */
export const filenameIssue = (filename: string) =>
  refusedExtensions.has(extensionOf(filename)) ? 'this channel takes no files with this extension' : undefined

/** The tag by which receipts are matched (receipts.ts). */
export const requestIdTag = 'requestId'

/** Why what a client says of a mail can't be sent; undefined if it can. */
export function mailIssue(fields: MailFields): string | undefined {
  const { tags = {}, attachments = [] } = fields
  const steering = steeringHeaderIssue(fields)
  if (steering) return steering
  if (Object.hasOwn(tags, requestIdTag))
    return `email.tags.${requestIdTag}: this channel sets it; use another name`
  const index = attachments.findIndex(({ filename }) => filenameIssue(filename))
  const name = attachments[index]?.filename
  return name === undefined ? undefined : `email.attachments[${index}].filename: ${filenameIssue(name)}`
}

export type ResendConfig = z.output<typeof config>
