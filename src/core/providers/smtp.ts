import { z } from 'zod'
import { parseEmail } from '../email.ts'
import { besideOtherFaults, optional, singleLine } from '../fields.ts'
import type { ProviderRules } from '../provider.ts'
import { isInNetworks, literalAddress, parseNetwork } from '../public-address.ts'
import { meaningOfReply } from './smtp-replies.ts'
import { mailTemplate } from './smtp-template.ts'

const maxFieldLength = 255

const host = singleLine(1, maxFieldLength).refine(
  (value) => /^[A-Za-z0-9_]([A-Za-z0-9._-]*[A-Za-z0-9_.])?$/.test(value) || literalAddress(value) === value,
  'has to be a host name or an IP address, without protocol and port',
)

const from = singleLine(1, 512).refine(
  (value) => parseMailbox(value) !== undefined,
  'has to be an address, or Name <address>',
)

const port = z.number().int('has to be a whole number').min(1, 'at least 1').max(65_535, 'at most 65535')

const config = z
  .strictObject({
    host,
    port: optional(port),
    secure: optional(z.boolean()).transform((value) => value ?? false),
    user: optional(singleLine(1, maxFieldLength)),
    pass: optional(singleLine(1, 4096)),
    from,
    subject: optional(singleLine(1, maxFieldLength)).transform((value) => value ?? 'Message'),
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
  }, besideOtherFaults)
  .transform((given) => ({ ...given, port: given.port ?? (given.secure ? 465 : 587) }))

/** Hands every message as a mail to an SMTP server (docs/providers/smtp.md). */
export const smtp = {
  contactTypes: ['email'],
  messageTypes: ['text', 'template', 'media'],
  maxTextCharacters: 4096,
  onUncertain: 'hold',
  template: mailTemplate,
  meaningOf: meaningOfReply,
  config,
} as const satisfies ProviderRules

export type SmtpConfig = z.output<typeof config>

/** An address with the name in front of it, if any: `ann@example.com`, `Ann <ann@example.com>`, `"Ann" <…>`. */
export function parseMailbox(value: string): { name: string; address: string } | undefined {
  const [, name = '', inBrackets = ''] = /^([^<>]*)<([^<>]*)>$/.exec(value.trim()) ?? []
  const address = parseEmail(inBrackets || value.trim())
  if (address === undefined) return undefined
  const [, quoted] = /^"(.*)"$/.exec(name.trim()) ?? []
  return { name: quoted?.replace(/\\(.)/g, '$1') ?? name.trim(), address }
}

const loopback = [parseNetwork('127.0.0.0/8'), parseNetwork('::1/128')]

/** Whether what is said to the host stays on this machine, and needs no TLS. */
export function isLoopback(host: string): boolean {
  const address = literalAddress(host)
  return address ? isInNetworks(address, loopback) : host.toLowerCase() === 'localhost'
}
