import type { Channel } from '../../../db/accounts/channels.ts'
import {
  insertSends,
  insertSendWithMedia,
  type RecordedSend,
  scheduleSends,
  type When,
} from '../../../db/admission/accepts.ts'
import type { NewSend } from '../../../db/admission/new-send.ts'
import { isRowFault, isTooLate } from '../../../db/connection/errors.ts'
import { maskContact } from '../../core/contacts/contact.ts'
import type { SmsSize } from '../../core/messages/segments.ts'
import type { WakeUp } from '../../core/sends/send-job.ts'
import type { SendRequest } from '../../core/sends/send-request.ts'
import { logEvent } from '../../platform/log/logger.ts'
import { freeMemory } from '../../platform/memory/free-memory.ts'
import { MicroBatch } from '../../platform/micro-batch.ts'
import type { Needs } from '../../runtime.ts'
import type { RequestState } from '../context.ts'
import { unavailable } from '../errors.ts'
import type { EarlierSend, EarlierSendFinder, Idempotency } from './find-earlier.ts'
import { traceparentOf, traceRecord } from './trace-record.ts'

const maxRowsPerInsert = 200
/** Part of the request's deadline reserved for the answer: the insert's own deadline is this much earlier. */
export const answerMarginMs = 200
/** The commit of media takes longer: 1 ms for so many bytes. */
const mediaBytesPerMs = 200_000

/** `recordByMs` is the deadline of the insert, on the clock of `performance.now()`. */
export type AcceptedSend = Omit<NewSend, 'recordBy'> & { recordByMs: number }

/** A valid send, with all that was checked and looked up for it. */
export interface CheckedSend {
  request: SendRequest
  channel: Channel
  when: When
  /** Undefined if it doesn't go as SMS, or only the provider knows the text. */
  sms: SmsSize | undefined
  /** The client's own. */
  traceparent: string | undefined
}

/** The send's wake-up, or an earlier send with the same Idempotency-Key. */
export type Recorded = { wakeUp: WakeUp } | { earlier: EarlierSend }

/**
 * Commits the send in PostgreSQL.
 *
 * @throws ApiError 503 if it was too late to commit it (docs/reference/errors.md).
 */
export function createRecord(
  runtime: Needs<'db' | 'clock' | 'log' | 'metrics'>,
  findEarlier: EarlierSendFinder,
) {
  const { clock } = runtime
  const insert = createInsert(runtime)
  const record = async (
    { requestId, caller, deadline }: Pick<RequestState, 'requestId' | 'caller' | 'deadline'>,
    send: CheckedSend,
    idempotency: Idempotency | undefined,
  ): Promise<Recorded> => {
    const row = rowOf({ requestId, caller, deadline }, send, idempotency)
    const { mediaContent } = send.request
    const recorded = await deadline.spend(insert(row, mediaContent, send.when))
    if (!recorded) {
      const earlier = await findEarlier({ deadline }, idempotency)
      if (earlier) return { earlier }
      // Too late by PostgreSQL's clock. In case that clock was changed, read it again for the next requests.
      void clock.read().catch(() => {})
      throw unavailable()
    }
    logAccepted(runtime, requestId, row, send)
    const { overflowOf, isBehind } = recorded
    return { wakeUp: { requestId, overflowOf, isBehind } }
  }
  return (...args: Parameters<typeof record>): Promise<Recorded> =>
    traceRecord(args[0].requestId, () => record(...args))
}

/** The row of a send to record, with the deadline of its insert. */
export function rowOf(
  { requestId, caller, deadline }: Pick<RequestState, 'requestId' | 'caller' | 'deadline'>,
  { request, channel, sms, traceparent }: CheckedSend,
  idempotency: Idempotency | undefined,
): AcceptedSend {
  const { mediaContent, channelId: _, ...requestFields } = request
  const marginMs = answerMarginMs + (mediaContent?.length ?? 0) / mediaBytesPerMs
  return {
    requestId,
    accountId: caller.accountId,
    channelId: channel.channelId,
    apiKeyId: caller.keyId,
    ordering: channel.ordering,
    expireAfterSeconds: shorterOf(channel.expireAfterSeconds, request.expiresInSeconds),
    idempotency,
    traceparent: traceparentOf(traceparent),
    recordByMs: performance.now() + deadline.leftMs - marginMs,
    ...sms,
    // Last: V8 adds fields to a copied object slowly.
    ...requestFields,
  }
}

function shorterOf(ofChannel: number | null, own: number | undefined): number | undefined {
  return own === undefined ? (ofChannel ?? undefined) : Math.min(own, ofChannel ?? own)
}

/** Logs and counts a send that was recorded. */
export function logAccepted(
  { log, metrics }: Needs<'log' | 'metrics'>,
  requestId: string,
  { accountId, channelId, contact, message, priority, reference, sendAt }: AcceptedSend,
  { request, when }: CheckedSend,
): void {
  const fields = {
    accountId,
    channelId,
    contact: maskContact(contact),
    messageType: message.type,
    priority,
    reference,
  }
  logEvent(log, requestId, 'accepted', fields)
  if (when === 'later' && sendAt) logEvent(log, requestId, 'scheduled', { sendAt: sendAt.toISOString() })
  metrics.accepted.inc({ message_type: message.type })
  // Not by its content, which may be freed by now.
  if (request.mediaContent && message.type === 'media')
    metrics.acceptedMediaBytes.inc(message.media.sizeBytes)
}

/** Concurrent sends share one insert. A send with media has its own, so that others don't wait for its bytes. */
function createInsert({ db, clock, metrics }: Needs<'db' | 'clock' | 'metrics'>) {
  const insertsBy = (insert: typeof insertSends) =>
    new MicroBatch<AcceptedSend, RecordedSend | undefined>({
      maxItems: maxRowsPerInsert,
      isItemsFault: isRowFault,
      flush: async (rows) => {
        metrics.acceptBatch.observe(rows.length)
        const aheadMs = await clock.aheadMs()
        const inserted = await insert(
          db,
          rows.map((row) => inDatabaseTime(row, aheadMs)),
        )
        const recorded = new Map(inserted.map((row) => [row.requestId, row]))
        return rows.map(({ requestId }) => recorded.get(requestId))
      },
    })
  const inserts = { now: insertsBy(insertSends), later: insertsBy(scheduleSends) }
  return async (
    row: AcceptedSend,
    content: Buffer | undefined,
    when: When,
  ): Promise<RecordedSend | undefined> => {
    try {
      if (!content) return await inserts[when].add(row)
      const recorded = await insertSendWithMedia(
        db,
        inDatabaseTime(row, await clock.aheadMs()),
        content,
        when,
      )
      freeMemory(content)
      return recorded
    } catch (error) {
      if (isTooLate(error)) return undefined
      throw error
    }
  }
}

export function inDatabaseTime({ recordByMs, ...row }: AcceptedSend, aheadMs: number): NewSend {
  return { ...row, recordBy: new Date(recordByMs + aheadMs) }
}
