import { z } from 'zod'
import { type AuditAction, auditActions } from '../../core/accounts/audit.ts'
import { isStorable } from '../../core/requests/characters.ts'
import { placesOf } from '../../core/requests/list-place.ts'
import { parsedText } from '../../core/requests/query.ts'
import { canBeRecordId } from '../../core/requests/record-id.ts'
import { field, time } from '../sends/list-form.ts'

export const places = placesOf('audit', canBeRecordId)
export const actions = Object.keys(auditActions) as AuditAction[]
const text = (name: string) => z.string().refine(isStorable, `${name}: there is none of this name.`)

const form = z.object({
  target: field(text('Target')),
  by: field(text('Who')),
  action: field(z.enum(actions, 'What: choose one from the list.')),
  from: field(time('From')),
  to: field(time('Before')),
  after: field(parsedText(places.read, 'This page no longer exists. Start again.')),
})

const names = Object.keys(form.shape) as (keyof typeof form.shape)[]

/** The fields as they were typed; the form shows them again. */
export type AuditInput = Partial<Record<(typeof names)[number], string>>

export function auditInputIn(fields: Record<string, string>): AuditInput {
  const typed = names.map((name) => [name, fields[name]?.trim()] as const)
  return Object.fromEntries(typed.filter(([, value]) => value))
}

/** Parses the fields. `issues` has a sentence for each that can't be used. */
export function readAuditForm(input: AuditInput): { form: z.output<typeof form> } | { issues: string[] } {
  const { data, error } = form.safeParse(input)
  return data ? { form: data } : { issues: error.issues.map(({ message }) => message) }
}
