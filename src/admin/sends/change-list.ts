import type { Context } from 'hono'
import type { Database } from '../../../db/connection/client.ts'
import type { AuditDetail, AuditRow } from '../../core/accounts/audit.ts'
import { listFilters } from '../../core/accounts/audit-details.ts'
import { pageActor } from '../audit/page-actor.ts'
import type { AdminEnv } from '../context.ts'
import { PageError } from '../errors.tsx'
import { fieldsOf } from '../support/form-fields.ts'
import { type ListForm, type ListInput, listInputIn, readListForm } from './list-form.ts'
import { type ResolvedList, resolveList } from './resolve-list.ts'

/** So many sends of a list are counted before it is changed, and downloaded. */
export const maxOfList = 100_000

export const replayNeeds =
  'To replay a list, choose the state failed or uncertain, and an account or a channel; neither a delivery nor a provider message id.'
export const cancelNeeds =
  'To cancel a list, choose the state queued or scheduled, and an account, a channel, a flow, a reference or a contact; no provider message id.'

export const canBeReplayed = ({ status, accountId, channelId, delivery, messageId }: ListInput): boolean =>
  (status === 'failed' || status === 'uncertain') &&
  Boolean(accountId || channelId) &&
  !delivery &&
  !messageId

export const canBeCanceled = ({ status, messageId, ...input }: ListInput): boolean => {
  const { accountId, channelId, flowId, reference, contact } = input
  const isNarrow = [accountId, channelId, flowId, reference, contact].some(Boolean)
  return (status === 'queued' || status === 'scheduled') && isNarrow && !messageId
}

/** A list as a form has sent it, with what else the form has. */
export interface SentList {
  fields: Record<string, unknown>
  input: ListInput
  form: ListForm
  resolved: ResolvedList
}

/** Reads the list of a form that is to change it. @param needs said of a list that can't be changed. */
export async function readSentList(
  db: Database,
  c: Context,
  canBeChanged: (input: ListInput) => boolean,
  needs: string,
): Promise<SentList> {
  const fields = await fieldsOf(c)
  const input = listInputIn(fields)
  const read = readListForm(input)
  if ('issues' in read) throw new PageError(400, read.issues.join(' '))
  if (!canBeChanged(input)) throw new PageError(400, needs)
  const resolved = await resolveList(db, read.form)
  if ('issues' in resolved) throw new PageError(400, resolved.issues.join(' '))
  return { fields, input, form: read.form, resolved }
}

/** The audit's details of a change of a list: whose it is, which one, and the form's other fields. */
export const listChanged = (
  c: Context<AdminEnv>,
  action: 'list.replay' | 'list.cancel',
  { form, resolved: { channelId, flowId, ownerId } }: SentList,
  options: Record<string, AuditDetail> = {},
): AuditRow => ({
  ...pageActor(c),
  action,
  target: ownerId ?? null,
  details: { ...listFilters({ ...form, channelId, flowId }), ...options },
})

const unreadable = () => new PageError(400, 'This form could not be read. Open the list again.')

export function countIn(fields: Record<string, unknown>, name: string): number {
  const text = fields[name]
  if (text === undefined) return 0
  if (typeof text === 'string' && /^\d{1,9}$/.test(text)) return Number(text)
  throw unreadable()
}

export function momentIn(fields: Record<string, unknown>, name: string): Date {
  const moment = new Date(typeof fields[name] === 'string' ? fields[name] : '')
  if (Number.isNaN(moment.getTime())) throw unreadable()
  return moment
}

/** A text of a form that has to have this form; undefined if it is absent. */
export function textIn(fields: Record<string, unknown>, name: string, form: RegExp): string | undefined {
  const text = fields[name]
  if (text === undefined) return undefined
  if (typeof text === 'string' && form.test(text)) return text
  throw unreadable()
}
