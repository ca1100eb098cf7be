import { isRowFault } from '../../db/connection/errors.ts'
import { noteReceipts } from '../../db/receipts/awaited-receipts.ts'
import type { ReceiptEffect } from '../../db/receipts/receipt-rule.ts'
import { isNew, type ReceiptResult, type RecordedReceipt } from '../../db/receipts/receipts.ts'
import { type Receipt, tidyReceipt } from '../core/receipts/receipt.ts'
import { canBeRecordId } from '../core/requests/record-id.ts'
import { causeOfSign, suppressingSignOf } from '../core/suppression/suppression.ts'
import { logEvent } from '../platform/log/logger.ts'
import type { Metrics } from '../platform/metrics.ts'
import { MicroBatch } from '../platform/micro-batch.ts'
import { findProvider } from '../providers/known.ts'
import { createWakeEndpoints } from '../queue/wake-endpoints.ts'
import { createTolerantWake } from '../queue/wake-sends.ts'
import type { Needs } from '../runtime.ts'
import { channelMoments } from './channel-moments.ts'
import { createEndSends, type FallingReceipt } from './end-sends.ts'
import type { FallbackSettings, WithFallback } from './fall-back.ts'
import { noteEnd, noteFallback, wakeUpsOf } from './send-end.ts'

/** Together so few that a statement takes a fraction of a request's deadline. A larger request has a statement of its own. */
const maxRequestsPerFlush = 20
const maxReceiptsOfShared = 100

/** The receipts of one request, which are recorded together or not at all. */
export interface ReceivedReceipts {
  provider: string
  /** The channel that was addressed. */
  channelId: string
  receipts: readonly { receipt: Receipt; channelIds: readonly string[]; hasFallback: boolean }[]
  /** How many other things the request reported, and how many receipts that are malformed: they are only counted. */
  unexpected?: number
  unreadable?: number
}

type Recorded = WithFallback<RecordedReceipt>
type Request = Pick<ReceivedReceipts, 'provider' | 'channelId'> & { rows: FallingReceipt[] }

/** Without shards, a worker finds by itself the sends that may go now, and the endpoints to call. */
type Recording = Needs<'db' | 'clock' | 'log' | 'metrics', FallbackSettings> & Partial<Needs<'shards'>>

export type ReceiptRecorder = ReturnType<typeof createRecordReceipts>

/** Records receipts, and logs and counts the result of each. Concurrent requests share one statement. */
export function createRecordReceipts(runtime: Recording) {
  const { db, clock, log, metrics, shards = [] } = runtime
  const wakeEndpoints = createWakeEndpoints({ log, shards })
  const wake = createTolerantWake({ log, shards }, 'lane_not_woken')
  const { recordReceipts } = createEndSends(runtime)
  const lastOfChannels = channelMoments(log, 'last', (moments) => noteReceipts(db, moments))
  const record = async (batch: readonly Request[]): Promise<Recorded[][]> => {
    const recorded = await recordReceipts(batch.flatMap(({ rows }) => rows))
    wakeEndpoints(recorded.flatMap(({ endpointsToWake }) => endpointsToWake ?? []))
    // Not awaited, because receipts don't need Redis: a worker adds missing wake-ups.
    void wake([...recorded.flatMap(({ nextInLane }) => nextInLane ?? []), ...wakeUpsOf(recorded)])
    const now = new Date(clock.nowMs())
    for (const { channelId } of recorded) if (channelId !== null) lastOfChannels.note(channelId, now)
    let taken = 0
    return batch.map((request) => {
      const ofRequest = recorded.slice(taken, taken + request.rows.length)
      taken += request.rows.length
      note(runtime, request, ofRequest)
      return ofRequest
    })
  }
  const requests = new MicroBatch<Request, Recorded[]>({
    maxItems: maxRequestsPerFlush,
    mayOverlap: true,
    isItemsFault: isRowFault,
    flush: record,
  })
  const recordOne = async (request: Request): Promise<Recorded[]> => {
    if (request.rows.length === 0) return []
    if (request.rows.length <= maxReceiptsOfShared) return await requests.add(request)
    const [recorded = []] = await record([request])
    return recorded
  }
  /** @returns the results, in the order of the receipts. */
  return async ({
    provider,
    channelId,
    receipts,
    unexpected = 0,
    unreadable = 0,
  }: ReceivedReceipts): Promise<ReceiptResult[]> => {
    const rows = receipts.map((receipt) => rowOf(receipt, provider))
    const possible = rows.filter(({ requestId }) => canBeRecordId(requestId))
    const recorded = await recordOne({ provider, channelId, rows: possible })
    const counts = { unknown: rows.length - possible.length, unexpected, unreadable }
    for (const [result, count] of Object.entries(counts)) metrics.receipts.inc({ provider, result }, count)
    const resultOf = new Map(possible.map((row, index) => [row, recorded[index]?.result]))
    return rows.map((row) => resultOf.get(row) ?? 'unknown')
  }
}

/** A receipt as the statement takes it. */
export function rowOf(
  { receipt, channelIds, hasFallback }: ReceivedReceipts['receipts'][number],
  provider: string,
): FallingReceipt {
  const { requestId, kind, sender: _, suppresses: given, ...fields } = tidyReceipt(receipt)
  const suppressingCodes = findProvider(provider)?.suppressingCodes
  const { providerCode } = fields
  const ofFailure = () => suppressingSignOf({ providerCode, suppresses: given }, suppressingCodes)
  const suppresses = kind === 'complained' ? 'complaint' : kind === 'undelivered' ? ofFailure() : null
  const mayFallBack = hasFallback && kind === 'undelivered'
  return {
    requestId: requestId.toLowerCase(),
    channelIds,
    kind,
    fields,
    suppresses,
    ...(mayFallBack && { fallsBackFrom: provider }),
  }
}

function note(runtime: Recording, request: Request, recorded: readonly Recorded[]): void {
  const { log, metrics } = runtime
  const { provider, channelId, rows } = request
  for (const [index, { result, effect, confirms, fallback }] of recorded.entries()) {
    const { requestId = '', fields } = rows[index] ?? { fields: undefined }
    metrics.receipts.inc({ provider, result })
    const sign = rows[index]?.suppresses
    if (sign && isNew(result)) metrics.contactsRefused.inc({ provider, cause: causeOfSign(sign) })
    // A repeat may come days later, and says nothing of how late receipts are.
    if (result === 'applied') observeLag(metrics, provider, fields?.providerAt, runtime.clock.nowMs())
    if (confirms) noteEnd(runtime, { requestId, status: 'sent', fields: {} })
    if (effect) noteEffect(runtime, provider, requestId, effect)
    if (fallback) noteFallback(runtime, fallback)
  }
  const unknown = rows.find((_row, index) => recorded[index]?.result === 'unknown')
  if (unknown) {
    const count = recorded.filter(({ result }) => result === 'unknown').length
    log.warn({ event: 'receipts_unknown', channelId, count, firstId: unknown.requestId })
  }
}

/** Logs and counts the event that a receipt made. */
export function noteEffect(
  { log, metrics }: Needs<'log' | 'metrics'>,
  provider: string,
  requestId: string,
  { event, fields }: ReceiptEffect,
): void {
  logEvent(log, requestId, event, fields)
  if (event !== 'receipt') metrics.deliveries.inc({ provider, state: event })
}

function observeLag(
  { receiptLag }: Metrics,
  provider: string,
  providerAt: string | null | undefined,
  nowMs: number,
): void {
  const at = Date.parse(providerAt ?? '')
  if (!Number.isNaN(at)) receiptLag.observe({ provider }, Math.max(0, nowMs - at) / 1000)
}
