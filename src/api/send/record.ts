import type { Channel } from '../../../db/accounts/channels.ts'
import { insertSends, insertSendWithMedia, type RecordedSend } from '../../../db/admission/accepts.ts'
import type { NewSend } from '../../../db/admission/new-send.ts'
import { isRowFault, isTooLate } from '../../../db/errors.ts'
import { maskContact } from '../../core/contact.ts'
import type { WakeUp } from '../../core/send-job.ts'
import type { SendRequest } from '../../core/send-request.ts'
import { freeMemory } from '../../platform/free-memory.ts'
import { logEvent } from '../../platform/logger.ts'
import { MicroBatch } from '../../platform/micro-batch.ts'
import type { Needs } from '../../runtime.ts'
import type { RequestState } from '../context.ts'
import { unavailable } from '../errors.ts'
import type { EarlierSend, earlierSendFinder, Idempotency } from './find-earlier.ts'
import { traceparentOf, traceRecord } from './trace-record.ts'

const maxRowsPerInsert = 200
/** Part of the request's deadline reserved for the answer: the insert's own deadline is this much earlier. */
const answerMarginMs = 200
/** The commit of media takes longer: 1 ms for so many bytes. */
const mediaBytesPerMs = 200_000

/** `recordByMs` is the deadline of the insert, on the clock of `performance.now()`. */
type AcceptedSend = Omit<NewSend, 'recordBy'> & { recordByMs: number }

/** The send's wake-up, or an earlier send with the same Idempotency-Key. */
type Recorded = { wakeUp: WakeUp } | { earlier: EarlierSend }

/**
 * Commits the send in PostgreSQL.
 *
 * @throws ApiError 503 if it was too late to commit it (docs/reference/errors.md).
 */
export function recorder(
  runtime: Needs<'db' | 'clock' | 'log' | 'metrics'>,
  findEarlier: ReturnType<typeof earlierSendFinder>,
) {
  const { clock, log, metrics } = runtime
  const insert = inserter(runtime)
  const record = async (
    { requestId, caller, deadline }: Pick<RequestState, 'requestId' | 'caller' | 'deadline'>,
    request: SendRequest,
    channel: Channel,
    idempotency: Idempotency | undefined,
    clientTrace: string | undefined,
  ): Promise<Recorded> => {
    const { mediaContent, channelId: _, ...requestFields } = request
    const { contact, message } = requestFields
    const { accountId } = caller
    const { channelId } = channel
    const mediaBytes = mediaContent?.length ?? 0
    const marginMs = answerMarginMs + mediaBytes / mediaBytesPerMs
    const row: AcceptedSend = {
      requestId,
      accountId,
      channelId,
      ordering: channel.ordering,
      expireAfterSeconds: channel.expireAfterSeconds ?? undefined,
      idempotency,
      traceparent: traceparentOf(clientTrace),
      recordByMs: performance.now() + deadline.leftMs - marginMs,
      // Last: V8 adds fields to a copied object slowly.
      ...requestFields,
    }
    const recorded = await deadline.spend(insert(row, mediaContent))
    if (!recorded) {
      const earlier = await findEarlier({ deadline }, idempotency)
      if (earlier) return { earlier }
      // Too late by PostgreSQL's clock. In case that clock was changed, read it again for the next requests.
      void clock.read().catch(() => {})
      throw unavailable()
    }
    const fields = { accountId, channelId, contact: maskContact(contact), messageType: message.type }
    logEvent(log, requestId, 'accepted', fields)
    metrics.accepted.inc({ message_type: message.type })
    if (mediaContent) metrics.acceptedMediaBytes.inc(mediaBytes)
    const { overflowOf, isBehind } = recorded
    return { wakeUp: { requestId, overflowOf, isBehind } }
  }
  return (...args: Parameters<typeof record>): Promise<Recorded> =>
    traceRecord(args[0].requestId, () => record(...args))
}

/** Concurrent sends share one insert. A send with media has its own, so that others don't wait for its bytes. */
function inserter({ db, clock, metrics }: Needs<'db' | 'clock' | 'metrics'>) {
  const inserts = new MicroBatch<AcceptedSend, RecordedSend | undefined>({
    maxItems: maxRowsPerInsert,
    isItemsFault: isRowFault,
    flush: async (rows) => {
      metrics.acceptBatch.observe(rows.length)
      const aheadMs = await clock.aheadMs()
      const inserted = await insertSends(
        db,
        rows.map((row) => inDatabaseTime(row, aheadMs)),
      )
      const recorded = new Map(inserted.map((row) => [row.requestId, row]))
      return rows.map(({ requestId }) => recorded.get(requestId))
    },
  })
  return async (row: AcceptedSend, content: Buffer | undefined): Promise<RecordedSend | undefined> => {
    if (!content) return await inserts.add(row)
    try {
      const recorded = await insertSendWithMedia(db, inDatabaseTime(row, await clock.aheadMs()), content)
      freeMemory(content)
      return recorded
    } catch (error) {
      if (isTooLate(error)) return undefined
      throw error
    }
  }
}

function inDatabaseTime({ recordByMs, ...row }: AcceptedSend, aheadMs: number): NewSend {
  return { ...row, recordBy: new Date(recordByMs + aheadMs) }
}
