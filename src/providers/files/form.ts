import { z } from 'zod'
import { contactTypes } from '../../core/contacts/contact.ts'
import { mediaTypes } from '../../core/messages/message.ts'
import { examplesForm } from './form/examples.ts'
import {
  conditionForm,
  costForm,
  fieldForm,
  locationsForm,
  nameForm,
  outcomesForm,
  partsForm,
  textForm,
  wordsForm,
} from './form/parts.ts'
import { receiptsForm } from './form/receipts.ts'
import { requestForm } from './form/request.ts'

const mediaLimits = z.strictObject({
  types: z.array(z.string()).min(1).optional().describe('Accepted types, in lower case. Default: any.'),
  maxMiB: z
    .number()
    .positive()
    .max(16)
    .optional()
    .describe('Limit of content that a client sends as base64.'),
  caption: z.boolean().default(true),
})

const media = z
  .strictObject(
    Object.fromEntries(mediaTypes.map((type) => [type, mediaLimits.prefault({})])) as Record<
      (typeof mediaTypes)[number],
      z.ZodPrefault<typeof mediaLimits>
    >,
  )
  .describe('Limits of each media type.')

const configField = z
  .strictObject({
    words: wordsForm.describe('What it is and where the vendor shows it.'),
    secret: z
      .boolean()
      .default(false)
      .describe('A secret stands only in auth, headers and signatures. It is never shown.'),
    optional: z.boolean().default(false),
    default: z.string().optional(),
    as: z
      .enum(['token', 'line', 'number', 'sender', 'mailbox', 'digits', 'uuid', 'publicKey'])
      .optional()
      .describe(
        'token: on one line and without spaces; line: any text on one line; number: +digits; sender: a number, or up to 11 letters and digits; mailbox: an address, or Name <address>; publicKey: PEM or base64. Default: token.',
      ),
    choices: z.array(z.string()).min(1).optional(),
    pattern: z
      .string()
      .max(200)
      .refine(
        isPlainPattern,
        'has to be a regular expression without a repeated group and without a reference back',
      )
      .optional(),
  })
  .describe("A field of a channel's config.")

/** A repeated group may take exponential time. */
function isPlainPattern(pattern: string): boolean {
  if (/\)[*+{?]|\\[1-9k]/.test(pattern)) return false
  try {
    return Boolean(new RegExp(pattern))
  } catch {
    return false
  }
}

const answerForm = z
  .strictObject({
    id: locationsForm.optional().describe("The vendor's id of an accepted message."),
    code: locationsForm.optional().describe('The code of a refusal.'),
    title: locationsForm
      .optional()
      .describe("The vendor's words. They are shown only if the refusal is about the channel."),
    refused: z
      .array(conditionForm)
      .optional()
      .describe('A 2xx is a refusal if one of these holds. Default: each 2xx is accepted.'),
    heldBack: locationsForm.optional(),
    cost: costForm.optional().describe('The price of an accepted message.'),
    parts: partsForm.optional(),
    statuses: outcomesForm
      .optional()
      .describe('Statuses that decide otherwise here than at most vendors, without a known code.'),
    codes: outcomesForm
      .default({})
      .describe('What the codes decide: outcome, then whose fault, then code and meaning.'),
    waitsSeconds: z.record(z.string(), z.number().int().min(1).max(86_400)).optional(),
  })
  .describe("How the vendor's answer is read.")

/** The form of a provider's file. */
export const providerForm = z
  .strictObject({
    name: nameForm,
    what: textForm.describe('Its kinds of messages, and the vendor.'),
    label: textForm.describe("The vendor's name in reasons."),
    documents: z
      .array(z.strictObject({ url: z.url(), read: z.iso.date(), what: textForm.optional() }))
      .min(1)
      .describe("The vendor's documents, and when they were read."),
    setUp: z.array(textForm).min(1).describe('The steps of the set-up at the vendor.'),
    setUpReceipts: z.array(textForm).optional().describe('The steps of the set-up of receipts.'),
    notes: z.array(textForm).optional().describe('What else an operator has to know.'),
    guessed: z.array(textForm).optional().describe("What the vendor's documents don't say."),
    baseUrl: z
      .url({ protocol: /^https$/ })
      .refine(
        (url) => /^https:\/\/[A-Za-z0-9.-]+(:\d+)?(\/[A-Za-z0-9._~/-]*)?$/.test(url),
        'has to be https, without user name, query and fragment',
      )
      .optional()
      .describe(
        "The address of the vendor's API. Leave it out if each account has its own: then it is required in the config.",
      ),
    regions: z
      .record(z.string(), z.url())
      .optional()
      .describe('Other addresses, for `baseUrl` of the config.'),
    contacts: z.array(z.enum(contactTypes)).length(1, 'has to be one kind of contact'),
    messages: z.strictObject({
      text: z.strictObject({ characters: z.number().int().min(1).max(4096) }),
      template: z.boolean().default(true),
      media: media.optional(),
    }),
    sms: z
      .boolean()
      .default(true)
      .describe(
        'A text to a phone goes as SMS, so that its segments are counted. A vendor of other messages says false.',
      ),
    config: z
      .record(
        fieldForm.regex(
          /^[a-z][A-Za-z0-9]{0,39}$/,
          'has to begin with a small letter; letters and digits only',
        ),
        configField,
        { error: (issue) => (issue.code === 'invalid_key' ? issue.issues[0]?.message : undefined) },
      )
      .describe("The fields of a channel's config."),
    request: requestForm,
    answer: answerForm,
    repeat: z
      .strictObject({
        recognisedBy: textForm.describe('The header or field by which the vendor recognises a repeat.'),
      })
      .optional()
      .describe(
        'Only if the vendor drops a repeated request: then an uncertain call is repeated by default.',
      ),
    suppressing: z
      .record(z.string(), z.enum(['bounce', 'complaint', 'opt_out', 'invalid_contact']))
      .optional()
      .describe('Codes of answers and receipts after which a contact is suppressed.'),
    receipts: receiptsForm.optional(),
    examples: examplesForm,
  })
  .describe('A provider that speaks HTTP.')

export type ProviderForm = z.output<typeof providerForm>
export type ConfigField = ProviderForm['config'][string]
