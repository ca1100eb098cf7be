import { createPublicKey, type KeyObject } from 'node:crypto'
import { z } from 'zod'
import { baseUrl, ownBaseUrl } from '../../core/channels/base-url.ts'
import { optional, singleLine, string } from '../../core/requests/fields.ts'
import { mailbox, mailSubject } from '../shared/mail/mail-fields.ts'
import type { ConfigField, ProviderForm } from './form.ts'

const forms: Record<NonNullable<ConfigField['as']>, z.ZodType<string>> = {
  token: string.regex(/^[!-~]{1,4096}$/, 'has to be on one line and without spaces'),
  line: singleLine(1, 512),
  number: string.regex(/^\+[1-9]\d{6,14}$/, 'has to be a number such as +15550100100'),
  sender: string.regex(
    /^(\+?[1-9]\d{2,14}|(?=.*[A-Za-z])[A-Za-z0-9 ]{1,11})$/,
    'has to be a number, or 1 to 11 letters, digits and spaces with a letter among them',
  ),
  mailbox,
  digits: string.regex(/^\d{1,32}$/, 'has to be digits only'),
  uuid: z.guid('has to be a UUID'),
  publicKey: string.refine(
    (value) => publicKeyOf(value) !== undefined,
    'has to be a public key, as PEM or base64',
  ),
}

const longestPatterned = 512

function fieldSchema(field: ConfigField) {
  const { as = 'token', choices, words } = field
  return valueSchema(field).meta({
    description: words,
    ...(choices && { enum: choices }),
    ...(as === 'publicKey' && { contentMediaType: 'application/x-pem-file' }),
  })
}

function valueSchema({
  as = 'token',
  choices,
  pattern,
  optional: isOptional,
  default: usual,
}: ConfigField): z.ZodType {
  const plain = choices
    ? string.refine((value) => choices.includes(value), `has to be one of ${choices.join(', ')}`)
    : pattern === undefined
      ? forms[as]
      : string.refine(
          (value) => value.length <= longestPatterned && new RegExp(`^(?:${pattern})$`).test(value),
          `has to be of the form ${pattern}`,
        )
  if (usual !== undefined) return optional(plain).transform((value) => value ?? usual)
  return isOptional ? optional(plain) : plain
}

/** The fields that the config of each file has, beside those that the file declares. */
const ownFields = ({ contacts, request }: ProviderForm) => [
  'baseUrl',
  ...(contacts.includes('email') ? ['subject'] : []),
  ...('oauth2' in request.auth ? ['tokenUrl'] : []),
]

/** A declared field of such a name would never be read. */
export function checkOwnFields(form: ProviderForm, issue: (path: string, message: string) => void): void {
  for (const name of ownFields(form).filter((own) => Object.hasOwn(form.config, own)))
    issue(`/config/${name}`, `each channel has a field ${name} already: leave it out, or use another name`)
}

const tokenUrl = (own: string) =>
  optional(ownBaseUrl(own))
    .transform((value) => value ?? own)
    .describe(`the address of the vendor's token endpoint; default: ${own}`)

/** The schema of a channel's config: strict, by the fields of the file. */
export function configSchema({ config, baseUrl: own, contacts, request: { auth } }: ProviderForm) {
  const fields = Object.entries(config).map(([name, field]) => [name, fieldSchema(field)] as const)
  return z.strictObject({
    ...Object.fromEntries(fields),
    ...(contacts.includes('email') && { subject: mailSubject }),
    ...('oauth2' in auth && { tokenUrl: tokenUrl(auth.oauth2.tokenUrl) }),
    baseUrl: own === undefined ? ownBaseUrl('https://xyz.api.example.com') : baseUrl(own),
  }) as unknown as z.ZodType<Record<string, string>>
}

/** A public key as vendors show it: PEM; the base64 of its DER (SPKI); or the 32 bytes of Ed25519. */
export function publicKeyOf(text: string): KeyObject | undefined {
  const ed25519Prefix = '302a300506032b6570032100'
  try {
    if (text.includes('-----BEGIN')) return createPublicKey(text)
    const bytes = Buffer.from(text, 'base64')
    const der = bytes.length === 32 ? Buffer.concat([Buffer.from(ed25519Prefix, 'hex'), bytes]) : bytes
    return createPublicKey({ key: der, format: 'der', type: 'spki' })
  } catch {
    return undefined
  }
}
