import { z } from 'zod'
import { emailPattern, maxEmailLength, parseEmail } from '../contacts/email.ts'
import { entries } from '../requests/entries.ts'
import { characters, optional, singleLine } from '../requests/fields.ts'
import { clientHeaders } from './mail-headers.ts'

const maxHtmlCharacters = 262_144

/** Of names and values: what the vendors that have tags take. */
const tagText = /^(?!__proto__$)[A-Za-z0-9_-]{1,256}$/
const tagTextIs = '1 to 256 of letters, digits, _ and -'

const replyTo = characters(1, maxEmailLength)
  .refine((value) => parseEmail(value) !== undefined, 'has to be an e-mail address')
  .meta({ pattern: emailPattern, description: 'The address that answers go to.' })

/** The `email` of a body (docs/reference/api.md#mail). */
export const mailFields = z
  .strictObject({
    subject: optional(
      singleLine(1, 998).describe('The subject, in place of that of the channel or of the template.'),
    ),
    html: optional(
      characters(1, maxHtmlCharacters).describe(
        'The message as HTML, beside `message.text`, which mail programs without HTML show. It is sent as it is.',
      ),
    ),
    fromName: optional(
      singleLine(1, 256).describe("The name of the sender. The address stays the channel's."),
    ),
    replyTo: optional(replyTo),
    headers: optional(clientHeaders),
    tags: optional(
      entries({
        most: 10,
        names: tagText,
        namesAre: tagTextIs,
        values: z.string().regex(tagText, `has to be ${tagTextIs}`),
        description: 'Names and values for the statistics of mail vendors that have tags.',
      }),
    ),
  })
  .describe(
    'What a mail has besides its message. Only to a contact of the type `email`, by a channel that sends mail.',
  )
