import { canBeRecordId } from '../requests/record-id.ts'
import type { SkippedSends } from '../sends/left-out.ts'
import { faults } from '../sends/outcome.ts'
import type { StoredSuppression } from '../suppression/suppression-view.ts'
import type { AuditDetail, AuditEntry } from './audit.ts'

/** Names only the host of the URL: its path and query may hold secrets. */
export function endpointDetails({
  url,
  events,
}: {
  url?: string | undefined
  events?: string[] | null | undefined
}): Record<string, AuditDetail> {
  return {
    ...(url !== undefined && { host: new URL(url).host }),
    ...(events !== undefined && { events }),
  }
}

type Details = Record<string, AuditDetail>

/** The values that a change has changed, each with the former one beside it: `rate`, `rateBefore`. */
export function changedDetails(before: Details, after: Details): Details {
  const changed = Object.entries(after).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name]),
  )
  return Object.fromEntries(
    changed.flatMap(([name, value]) => [
      [name, value],
      [`${name}Before`, before[name] ?? null],
    ]),
  )
}

/**
 * Without the reason of the entry, which may name the contact: both are erased with the contact, and the audit isn't.
 *
 * @param more why it was removed (`removalFault` in suppression.ts), and ids by which the page of its contact finds this row.
 */
export function suppressionChanged(
  action: 'suppression.add' | 'suppression.remove',
  { suppressionId, channelId, cause, requestId }: StoredSuppression,
  accountId?: string,
  more: Record<string, string> = {},
): AuditEntry {
  const details = {
    ...(accountId !== undefined && { accountId }),
    channelId,
    cause,
    ...(requestId !== null && { requestId }),
    ...more,
  }
  return { action, target: suppressionId, details }
}

/** Before it is known how many. */
export function endpointResent({
  endpointId,
  since,
  onlyGivenUp,
}: {
  endpointId: string
  since: Date
  onlyGivenUp: boolean
}): AuditEntry {
  const details = { since: since.toISOString(), onlyGivenUp }
  return { action: 'endpoint.resend', target: endpointId, details }
}

/** The filters of a set of sends to replay. The audit gets no value that may name a contact, only that it was given. */
interface ReplayFilters {
  channelId: string
  status: string
  since?: Date | undefined
  until?: Date | undefined
  reason?: string | undefined
  contactValue?: string | undefined
  includeExpired?: boolean | undefined
  includeRefused?: boolean | undefined
}

/** Before it is known how many. */
export function sendsReplayed({ channelId, since, until, ...filters }: ReplayFilters): AuditEntry {
  const { status, reason, contactValue, includeExpired = false, includeRefused = false } = filters
  const details = {
    status,
    ...(since && { since: since.toISOString() }),
    ...(until && { until: until.toISOString() }),
    ...(reason !== undefined && { byReason: true }),
    ...(contactValue !== undefined && { byContact: true }),
    includeExpired,
    includeRefused,
  }
  return { action: 'sends.replay', target: channelId, details }
}

/** The filters of a list of sends. */
interface ListFilters {
  status?: string | undefined
  delivery?: string | undefined
  channelId?: string | undefined
  flowId?: string | undefined
  providerCode?: string | undefined
  fault?: string | undefined
  reference?: string | undefined
  contact?: object | undefined
  reason?: string | undefined
  acceptedFrom?: Date | undefined
  acceptedTo?: Date | undefined
  dueFrom?: Date | undefined
  dueTo?: Date | undefined
}

/** A code as providers have it, such as 131026, 5.1.1 or rate_limit: a text that was typed in its place may be a contact. */
const code = /^(?:\d{1,7}|[245]\.\d{1,3}\.\d{1,3}|(?=.{1,64}$)[a-z]+(?:[_-][a-z]+)*)$/i

const isFault = (text: string) => faults.some((fault) => fault === text)

/** Filters that may name a contact: the audit says only that they were given. */
export function listFilters(filters: ListFilters): Record<string, AuditDetail> {
  const { status, delivery, channelId, flowId, providerCode, acceptedFrom, acceptedTo } = filters
  const isCode = providerCode !== undefined && code.test(providerCode)
  return {
    ...(status !== undefined && { status }),
    ...(delivery !== undefined && { delivery }),
    ...(channelId !== undefined && { channelId }),
    ...(flowId !== undefined && (canBeRecordId(flowId) ? { flowId } : { byFlow: true })),
    ...(providerCode !== undefined && (isCode ? { providerCode } : { byProviderCode: true })),
    ...(filters.fault !== undefined &&
      (isFault(filters.fault) ? { fault: filters.fault } : { byFault: true })),
    ...(filters.reference !== undefined && { byReference: true }),
    ...(filters.contact !== undefined && { byContact: true }),
    ...(filters.reason !== undefined && { byReason: true }),
    ...(acceptedFrom && { since: acceptedFrom.toISOString() }),
    ...(acceptedTo && { until: acceptedTo.toISOString() }),
    ...(filters.dueFrom && { dueFrom: filters.dueFrom.toISOString() }),
    ...(filters.dueTo && { dueTo: filters.dueTo.toISOString() }),
  }
}

/** @param status by its end. */
export const sendCanceled = (requestId: string, status: string): AuditEntry => ({
  action: 'send.cancel',
  target: requestId,
  details: { status },
})

/** Not by which reference: it may name the contact. */
export function sendsCanceled(accountId: string, by: { reference: string } | { flowId: string }): AuditEntry {
  const details = 'flowId' in by ? { flowId: by.flowId } : { byReference: true }
  return { action: 'sends.cancel', target: accountId, details }
}

export const replayResult = ({ replayed, skipped }: { replayed: number; skipped: SkippedSends }) => ({
  replayed,
  skippedExpired: skipped.expired,
  skippedRefused: skipped.refused,
  skippedSuppressed: skipped.suppressed,
  skippedGone: skipped.gone,
})

export const sendSettled = (requestId: string, as: 'sent' | 'failed', reason: string): AuditEntry => ({
  action: 'send.settle',
  target: requestId,
  details: { as, reason },
})
