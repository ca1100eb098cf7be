import { z } from 'zod'
import type { SendsQuery } from '../../../db/sends/list.ts'
import { anyContact } from '../../core/contacts/contact.ts'
import { providerMessageIdsIn } from '../../core/receipts/provider-message-id.ts'
import { deliveryStates } from '../../core/receipts/receipt.ts'
import { isStorable } from '../../core/requests/characters.ts'
import { contactInQuery, momentInQuery } from '../../core/requests/decoded-plus.ts'
import { readCursor } from '../../core/requests/list-query.ts'
import { priorities } from '../../core/sends/priority.ts'
import { sendStatuses } from '../../core/sends/timeline.ts'
import type { ResolvedList } from './resolve-list.ts'

/** An empty field counts as absent. */
export const field = <Schema extends z.ZodType>(schema: Schema) =>
  z.preprocess((text) => (text === '' ? undefined : text), schema.optional())

const parsed = <Value>(parse: (text: string) => Value | undefined, issue: string) =>
  z.string().transform((text, context) => {
    const value = parse(text)
    if (value !== undefined) return value
    context.addIssue({ code: 'custom', message: issue })
    return z.NEVER
  })
const storable = (issue: string) => z.string().refine(isStorable, issue)

const local = /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(:\d\d(\.\d+)?)?$/

/** A time with an offset; or the value of a `datetime-local` field, which has none: all times of these pages are UTC. */
export function momentOf(text: string): Date | undefined {
  const at = local.test(text) ? new Date(`${text.replace(/[t ]/, 'T')}Z`) : momentInQuery(text)
  return at && at.getTime() >= 0 ? at : undefined
}
export const time = (name: string) =>
  parsed(momentOf, `${name}: enter a date and time, such as 2026-11-21T14:00.`)

/** The states that a list can be filtered by. People look for scheduled sends separately, and pages count all that wait as one. */
export const listStates = [...sendStatuses, 'scheduled', 'waiting', 'waiting_now'] as const

const longestReason = 500
/** Every counted cause is shorter. */
const longestFault = 60

const form = z.object({
  accountId: field(storable('Account: no account has this id or name.')),
  channelId: field(storable('Channel: no channel has this id or name.')),
  status: field(z.enum(listStates, 'State: choose one from the list.')),
  delivery: field(z.enum(deliveryStates, 'Delivery: choose one from the list.')),
  reason: field(
    storable('Reason: no send has this reason.').refine(
      ({ length }) => length <= longestReason,
      `Reason: enter at most ${longestReason} characters.`,
    ),
  ),
  fault: field(
    storable('Fault: choose one from the list.').refine(
      ({ length }) => length <= longestFault,
      'Fault: choose one from the list.',
    ),
  ),
  providerCode: field(storable('Code: no send has this code.')),
  priority: field(z.enum(priorities, 'Priority: choose one from the list.')),
  flowId: field(storable('Flow: no flow has this id or name.')),
  reference: field(storable('Reference: no send has this reference.')),
  contact: field(parsed(contactInQuery, `Contact: enter ${anyContact}.`)),
  messageId: field(
    z
      .string()
      .transform(providerMessageIdsIn)
      .refine((ids) => ids.length > 0, 'Provider message id: enter 4 to 512 characters without spaces.'),
  ),
  acceptedFrom: field(time('Accepted from')),
  acceptedTo: field(time('Accepted before')),
  dueFrom: field(time('Due from')),
  dueTo: field(time('Due before')),
  after: field(parsed(readCursor, 'This page no longer exists. Open the list again.')),
})

export type ListField = keyof typeof form.shape
const names = Object.keys(form.shape) as ListField[]

/** The filters as they were typed; the form shows them again. */
export type ListInput = Partial<Record<ListField, string>>
export type ListForm = z.output<typeof form>

export function listInputIn(fields: Record<string, unknown>): ListInput {
  const typed = names.map((name) => [name, fields[name]] as const)
  return Object.fromEntries(
    typed.flatMap(([name, text]) => (typeof text === 'string' && text.trim() ? [[name, text.trim()]] : [])),
  )
}

/** Parses the filters. `issues` has a sentence for each field that can't be used. */
export function readListForm(input: ListInput): { form: ListForm } | { issues: string[] } {
  const { data, error } = form.safeParse(input)
  if (!data) return { issues: error.issues.map(({ message }) => message) }
  const { status, dueFrom, dueTo } = data
  const isDue = dueFrom !== undefined || dueTo !== undefined
  if (isDue && status !== undefined && !hasDueTime(status))
    return { issues: ['Due: only queued and scheduled sends are due. Choose one of these states.'] }
  return { form: data }
}

/** Whether sends of this state are due at some time. */
const hasDueTime = (state: string | undefined) => state === 'queued' || state === 'scheduled'

/**
 * Whether the filters hold a contact, which must not get into a URL, because proxies and browsers record URLs. A provider's message
 * id may contain one: WhatsApp's do. A link from elsewhere may have them all the same.
 */
export const isPrivate = ({ contact, messageId }: ListInput) => Boolean(contact || messageId)

/** The filters that may be in a URL. */
const shareable = ({ contact: _, messageId: _id, ...input }: ListInput): ListInput => input

/** The list as a URL, without its private filters. */
export const listLink = (input: ListInput, path = '/sends'): string => {
  const query = String(new URLSearchParams(shareable(input)))
  return query === '' ? path : `${path}?${query}`
}

/** As a `datetime-local` field has it. */
export const toMinute = (ms: number): string => new Date(ms).toISOString().slice(0, 16)

/** The filter for the database. @param resolved the ids, as these fields may be names. */
export function queryOf(
  { status, contact, messageId, providerCode, accountId: _, channelId: _c, flowId: _f, ...form }: ListForm,
  { channelId, flowId }: Pick<ResolvedList, 'channelId' | 'flowId'>,
  limit: number,
): SendsQuery {
  return {
    ...form,
    ...statesOf(status),
    code: providerCode,
    limit,
    channelId,
    flowId,
    contact,
    providerMessageIds: messageId,
    near: true,
  }
}

function statesOf(state: ListForm['status']): Pick<SendsQuery, 'status' | 'scheduled' | 'waiting'> {
  if (state === undefined) return {}
  if (state === 'waiting') return { waiting: 'all' }
  if (state === 'waiting_now') return { waiting: 'now' }
  const isScheduled = state === 'scheduled'
  // `queued` leaves out those that wait for their time.
  return { status: isScheduled ? 'queued' : state, scheduled: isScheduled }
}
