import { insertSends } from '../../db/admission/accepts.ts'
import type { NewSend } from '../../db/admission/new-send.ts'
import { type Transaction, undone } from '../../db/connection/client.ts'
import { expireLater, type ForeseenRow, foreseeSends } from '../../db/delivery/foresee.ts'
import { grantPermits } from '../../db/delivery/permits.ts'
import { type ReasonToWait, reasonsToWait } from '../../db/reasons-to-wait.ts'
import { failSuppressed } from '../../db/suppression/fail-suppressed.ts'
import { probeMarginSeconds } from '../core/sends/delivery-times.ts'
import { type Foreseen, foresee, ownWaits } from '../core/sends/foresee.ts'
import { suppressionKey as keyFrom } from '../core/suppression/suppression.ts'
import type { Needs } from '../runtime.ts'
import { createFallback, type FallbackSettings } from './fall-back.ts'
import { createForeseeFallbacks, type ForeseenFallback } from './foreseen-fallbacks.ts'

/** What would become of a send. */
export interface DryRun extends Foreseen {
  /** The channel that would send it. */
  channelId: string
  fallbacks: ForeseenFallback[]
  /** Whether its contact is suppressed on the channel of the request. */
  suppressed: boolean
}

/** Nothing is called by these permits. */
const permitValidSeconds = 10

const reasons = Object.entries<ReasonToWait>(reasonsToWait)

/** What a send may wait for, by the names of an answer: what goes on after "It waits for". */
export const waitNames: Record<string, string> = {
  ...ownWaits,
  ...Object.fromEntries(reasons.map(([name, { forWhat }]) => [name, forWhat])),
}

const endByPermit = new Set(reasons.flatMap(([name, reason]) => (reason.endsByPermit ? [name] : [])))

/**
 * Creates the function that finds what would become of sends now. They are recorded as by an accept; the worker's own statements fail
 * those that are suppressed, move them to their fallbacks, and grant permits; what these leave is read; then all is undone. So it
 * decides nothing by rules of its own, and others see nothing of it (docs/decisions/0064-dry-runs.md).
 *
 * @returns nothing if the sends came too late for their deadline.
 */
export function createDryRun(runtime: Needs<'db' | 'log', FallbackSettings | 'PROVIDER_TIMEOUT_SECONDS'>) {
  const { db, settings } = runtime
  const suppressionKey = keyFrom(settings.API_KEY_PEPPER)
  const fallBack = createFallback(runtime)
  const foreseeFallbacks = createForeseeFallbacks(runtime)
  const grantTimes = {
    probeSeconds: settings.PROVIDER_TIMEOUT_SECONDS + probeMarginSeconds,
    validSeconds: permitValidSeconds,
  }
  const lookAt = (transaction: Transaction, sends: readonly { requestId: string }[]) =>
    foreseeSends(transaction, idsOf(sends), suppressionKey)

  /** Fails those that are suppressed, also on the channels to which they fall back. */
  const failAndFallBack = async (transaction: Transaction, rows: ForeseenRow[]): Promise<ForeseenRow[]> => {
    const suppressed = rows.filter(({ isSuppressed }) => isSuppressed)
    if (suppressed.length === 0) return rows
    await failSuppressed(transaction, idsOf(suppressed), suppressionKey)
    const ended = suppressed.flatMap(({ requestId, channelId, fallsBackFrom: provider }) =>
      provider === null ? [] : [{ requestId, channelId, provider }],
    )
    await fallBack(transaction, ended)
    return await failAndFallBack(transaction, await lookAt(transaction, rows))
  }

  /** Grants permits to those that wait for nothing else, and to what goes before them. */
  const grant = async (transaction: Transaction, rows: ForeseenRow[]): Promise<ForeseenRow[]> => {
    const channelIds = new Set(rows.filter(needsOnlyPermit).map(({ channelId }) => channelId))
    if (channelIds.size === 0) return rows
    await grantPermits(transaction, [...channelIds], grantTimes)
    return await lookAt(transaction, rows)
  }

  return (sends: readonly NewSend[]): Promise<DryRun[] | undefined> =>
    undone(db, async (transaction) => {
      const recorded = await insertSends(transaction, sends)
      if (recorded.length < sends.length) return undefined
      if (sends.some(({ sendAt }) => sendAt)) await expireLater(transaction, idsOf(sends))
      const found = await lookAt(transaction, sends)
      const suppressed = new Set(idsOf(found.filter(({ isSuppressed }) => isSuppressed)))
      const decided = await grant(transaction, await failAndFallBack(transaction, found))
      const rows = new Map(decided.map((row) => [row.requestId, row]))
      const given = sends.map((send) => ({ send, row: rows.get(send.requestId) as ForeseenRow }))
      const fallbacks = await foreseeFallbacks(transaction, given)
      return given.map(({ row }, index) => ({
        ...foresee(row, endByPermit),
        channelId: row.channelId,
        fallbacks: fallbacks[index] ?? [],
        suppressed: suppressed.has(row.requestId),
      }))
    })
}

const idsOf = (rows: readonly { requestId: string }[]) => rows.map(({ requestId }) => requestId)

const needsOnlyPermit = ({ failure, isLater, waits }: ForeseenRow) =>
  failure === null && !isLater && waits.length > 0 && waits.every(({ reason }) => endByPermit.has(reason))
