import { z } from 'zod'
import { isStorable } from '../../core/characters.ts'
import { anyContact, parseContact } from '../../core/contact.ts'
import { providerMessageIdsIn } from '../../core/provider-message-id.ts'
import { canBeRecordId } from '../../core/record-id.ts'
import { sendStatuses } from '../../core/timeline.ts'

/** An empty field counts as absent. */
export const field = <Schema extends z.ZodType>(schema: Schema) =>
  z.preprocess((text) => (text === '' ? undefined : text), schema.optional())

const contact = z
  .string()
  .transform((typed) => parseContact(typed)?.value)
  .refine((value) => value !== undefined, `Contact: enter ${anyContact}.`)

const messageId = z
  .string()
  .transform(providerMessageIdsIn)
  .refine((ids) => ids.length > 0, 'Provider message id: enter 4 to 512 characters without spaces.')

const written = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?$/

/** The value of a `datetime-local` field, which has no time zone: all times of these pages are UTC. */
export const moment = (name: string) =>
  z
    .string()
    .transform((text) => (written.test(text) ? Date.parse(`${text.replace(' ', 'T')}Z`) : Number.NaN))
    .refine((ms) => ms >= 0, `${name}: enter a date and time, such as 2026-11-21T14:00.`)
    .transform((ms) => new Date(ms))

/** A scheduled send is `queued`, but support looks for it apart. */
export const searchStates = [...sendStatuses, 'scheduled'] as const

const form = z.object({
  channel: field(z.string().refine(isStorable, 'Channel: no channel has this id or name.')),
  contact: field(contact),
  messageId: field(messageId),
  reference: field(z.string().refine(isStorable, 'Reference: no send has this reference.')),
  state: field(z.enum(searchStates, 'State: choose one from the list.')),
  from: field(moment('Accepted from')),
  to: field(moment('Accepted before')),
  before: field(z.string().refine(canBeRecordId, 'This page no longer exists. Search again.')),
})

const names = Object.keys(form.shape) as (keyof typeof form.shape)[]

/** The search fields as they were typed; the form shows them again. */
export type SearchInput = Partial<Record<(typeof names)[number], string>>
export type SearchForm = z.output<typeof form>

export function searchInputIn(fields: Record<string, unknown>): SearchInput {
  const typed = names.map((name) => [name, fields[name]] as const)
  return Object.fromEntries(
    typed.flatMap(([name, text]) => (typeof text === 'string' && text.trim() ? [[name, text.trim()]] : [])),
  )
}

/** Parses the search fields. `issues` has a sentence for each field that can't be used. */
export function readSearchForm(input: SearchInput): { form: SearchForm } | { issues: string[] } {
  const { data, error } = form.safeParse(input)
  return data ? { form: data } : { issues: error.issues.map(({ message }) => message) }
}

/**
 * Whether the search holds a contact, which must not get into a URL, because proxies and browsers record URLs. A provider's
 * message id may contain one: WhatsApp's do.
 */
export const isPrivate = ({ contact, messageId }: SearchInput) => Boolean(contact || messageId)

/** The search fields that may be in a URL. */
export const shareable = ({ contact: _, messageId: _id, ...input }: SearchInput): SearchInput => input

/** The search as a URL, without its private fields. */
export function searchLink(input: SearchInput, before?: string): string {
  const query = new URLSearchParams({ ...shareable(input), ...(before !== undefined && { before }) })
  return `/support/search?${query}`
}
