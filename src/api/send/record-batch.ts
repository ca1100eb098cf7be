import type { RecordedSend } from '../../../db/admission/accepts.ts'
import { insertBatch } from '../../../db/admission/batches.ts'
import type { NewSend } from '../../../db/admission/new-send.ts'
import { newId } from '../../core/requests/new-id.ts'
import type { WakeUp } from '../../core/sends/send-job.ts'
import type { Needs } from '../../runtime.ts'
import type { RequestState } from '../context.ts'
import { unavailable } from '../errors.ts'
import type { EarlierSend, EarlierSendFinder, Idempotency } from './find-earlier.ts'
import { type AcceptedSend, type CheckedSend, inDatabaseTime, logAccepted, rowOf } from './record.ts'
import { traceRecord } from './trace-record.ts'

/** The ids of the sends in their order, and the wake-ups of those that are to be sent now; or an earlier batch with the same key. */
export type RecordedBatch = { requestIds: string[]; wakeUps: WakeUp[] } | { earlier: EarlierSend }

/**
 * Commits all sends of a batch in PostgreSQL, or none.
 *
 * @throws ApiError 503 if it was too late to commit them.
 */
export function createRecordBatch(
  runtime: Needs<'db' | 'clock' | 'log' | 'metrics'>,
  findEarlier: EarlierSendFinder,
) {
  const { db, clock, metrics } = runtime
  const record = async (
    state: Pick<RequestState, 'requestId' | 'caller' | 'deadline'>,
    sends: readonly CheckedSend[],
    idempotency: Idempotency | undefined,
  ): Promise<RecordedBatch> => {
    const { requestId, deadline } = state
    const rows = sends.map((send) => rowOf({ ...state, requestId: newId() }, send, undefined))
    // Each has left time for its own media. They are stored one after the other.
    const longestMs = Math.max(...rows.map(({ recordByMs }) => recordByMs))
    const recordByMs = rows.reduce((sum, row) => sum - (longestMs - row.recordByMs), longestMs)
    const aheadMs = await deadline.spend(clock.aheadMs())
    const batch = rows.map((row, index) =>
      batched({ ...row, recordByMs }, sends[index] as CheckedSend, aheadMs),
    )
    const recordBy = new Date(recordByMs + aheadMs)
    metrics.acceptBatch.observe(rows.length)
    const recorded = await deadline.spend(insertBatch(db, { requestId, sends: batch, idempotency, recordBy }))
    if (recorded.length === 0) {
      const earlier = await findEarlier({ deadline }, idempotency)
      if (earlier) return { earlier }
      void clock.read().catch(() => {})
      throw unavailable()
    }
    for (const [index, row] of rows.entries())
      logAccepted(runtime, row.requestId, row, sends[index] as CheckedSend)
    const later = new Set(batch.filter(({ row }) => row.isLater).map(({ row }) => row.requestId))
    return {
      requestIds: rows.map((row) => row.requestId),
      wakeUps: inOrder(rows, recorded).filter((wakeUp) => !later.has(wakeUp.requestId)),
    }
  }
  return (...args: Parameters<typeof record>): Promise<RecordedBatch> =>
    traceRecord(args[0].requestId, () => record(...args))
}

function batched(row: AcceptedSend, { request, when }: CheckedSend, aheadMs: number) {
  const inTime: NewSend = inDatabaseTime(row, aheadMs)
  return { row: { ...inTime, isLater: when === 'later' }, mediaContent: request.mediaContent }
}

function inOrder(rows: readonly AcceptedSend[], recorded: readonly RecordedSend[]): RecordedSend[] {
  const byId = new Map(recorded.map((row) => [row.requestId, row]))
  return rows.flatMap(({ requestId }) => byId.get(requestId) ?? [])
}
