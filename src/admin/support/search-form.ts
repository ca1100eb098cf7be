import { z } from 'zod'
import { isStorable } from '../../core/characters.ts'
import { contactKinds, contactTypes, parseContact } from '../../core/contact.ts'
import { providerMessageIdsIn } from '../../core/provider-message-id.ts'
import { canBeRecordId } from '../../core/record-id.ts'
import { sendStatuses } from '../../core/timeline.ts'

/** An empty field counts as absent. */
const field = <Schema extends z.ZodType>(schema: Schema) =>
  z.preprocess((text) => (text === '' ? undefined : text), schema.optional())

const contactsCalled = contactTypes.map((type) => contactKinds[type].called)

const contact = z
  .string()
  .transform((typed) => parseContact(typed)?.value)
  .refine((value) => value !== undefined, `Contact: neither ${contactsCalled.join(' nor ')}.`)

const messageId = z
  .string()
  .transform(providerMessageIdsIn)
  .refine((ids) => ids.length > 0, 'Provider message id: one word of 4 to 512 characters.')

const written = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?$/

/** As a `datetime-local` field writes it: without a zone, for all times of these pages are UTC. */
const moment = (name: string) =>
  z
    .string()
    .transform((text) => (written.test(text) ? Date.parse(`${text.replace(' ', 'T')}Z`) : Number.NaN))
    .refine((ms) => ms >= 0, `${name}: not a date and time, such as 2026-11-21T14:00.`)
    .transform((ms) => new Date(ms))

const form = z.object({
  channel: field(z.string().refine(isStorable, 'Channel: none has such an id or name.')),
  contact: field(contact),
  messageId: field(messageId),
  state: field(z.enum(sendStatuses, 'State: choose one of the list.')),
  from: field(moment('Accepted from')),
  to: field(moment('Accepted before')),
  before: field(z.string().refine(canBeRecordId, 'That page is gone. Search again.')),
})

const names = Object.keys(form.shape) as (keyof typeof form.shape)[]

/** What was asked for, as it was typed: the form shows it again. */
export type Asked = Partial<Record<(typeof names)[number], string>>
export type SearchForm = z.output<typeof form>

export function askedIn(fields: Record<string, unknown>): Asked {
  const typed = names.map((name) => [name, fields[name]] as const)
  return Object.fromEntries(
    typed.flatMap(([name, text]) => (typeof text === 'string' && text.trim() ? [[name, text.trim()]] : [])),
  )
}

/** What is looked for, or a sentence for each field that can't be used. */
export function readSearchForm(asked: Asked): { form: SearchForm } | { faults: string[] } {
  const { data, error } = form.safeParse(asked)
  return data ? { form: data } : { faults: error.issues.map(({ message }) => message) }
}

/**
 * Whether the search holds somebody's number or address, which must not get into a link, nor into the logs that links get
 * into. Providers' message ids may hold one: WhatsApp's do.
 */
export const isPrivate = ({ contact, messageId }: Asked) => Boolean(contact || messageId)

/** What may be in a link. */
export const shareable = ({ contact: _, messageId: _id, ...asked }: Asked): Asked => asked

/** The search as a link, without what is private. */
export function searchLink(asked: Asked, before?: string): string {
  const query = new URLSearchParams({ ...shareable(asked), ...(before !== undefined && { before }) })
  return `/support/search?${query}`
}
