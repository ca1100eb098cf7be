import { type Database, inTransaction, type Transaction } from '../../db/connection/client.ts'
import { failWaiting, type Waiting } from '../../db/delivery/breakers.ts'
import type { FailedSend } from '../../db/delivery/fail-queued.ts'
import { type LateOutcome, recordLateOutcome, type SettledLate } from '../../db/delivery/late-outcomes.ts'
import type { Sweeper } from '../../db/delivery/leases.ts'
import { type GivenUp, type GivenUpRow, giveUpClaims } from '../../db/delivery/lost-claims.ts'
import {
  type OutcomeRow,
  type RecordedRow,
  recordOutcomes,
  recordOutcomesWithReceipts,
  recordUsualOutcomes,
  withoutRows,
} from '../../db/delivery/outcomes.ts'
import { type ReceiptRow, type RecordedReceipt, recordReceipts } from '../../db/receipts/receipts.ts'
import { runSuppressionChecks } from '../../db/suppression/checks.ts'
import { failSuppressed } from '../../db/suppression/fail-suppressed.ts'
import { suppressionKey as keyFrom } from '../core/suppression/suppression.ts'
import type { Needs } from '../runtime.ts'
import { createFallback, type Ended, type FallbackSettings, type WithFallback } from './fall-back.ts'

/** A send that may end, and the channel on which it does; only if that channel has a fallback. */
type MayFallBack<Given> = Given & { mayFallBack?: Ended | undefined }

/** A channel, and its provider if it has a fallback. */
type FallsBackFrom = { channelId: string; fallsBackFrom?: string | null | undefined }

const endedOn = (requestId: string, { channelId, fallsBackFrom: provider }: FallsBackFrom) =>
  provider ? { requestId, channelId, provider } : undefined

/** Creates the transaction in which sends end, and those whose channel has a fallback go on by it. */
function createEnd({ db, ...runtime }: Needs<'db' | 'log', FallbackSettings>) {
  const fallBack = createFallback(runtime)

  /** @param of where a row's send ended; undefined if that has no fallback. */
  const endWith = <Row extends { requestId: string }>(
    statement: (transaction: Transaction) => Promise<Row[]>,
    of: (row: Row) => Ended | undefined,
  ): Promise<WithFallback<Row>[]> =>
    inTransaction(db, async (transaction) => {
      const rows = await statement(transaction)
      const ended = rows.flatMap((row) => of(row) ?? [])
      const results = await fallBack(transaction, ended)
      const resultOf = new Map(results.map((result) => [result.requestId, result]))
      return rows.map((row) => ({ ...row, fallback: resultOf.get(row.requestId) }))
    })

  /** Without a fallback, it is the statement alone. */
  const end = async <Row extends { requestId: string }>(
    sends: readonly MayFallBack<{ requestId: string }>[],
    statement: (db: Database | Transaction) => Promise<Row[]>,
  ): Promise<WithFallback<Row>[]> => {
    const channels = new Map(
      sends.flatMap(({ requestId, mayFallBack }) => (mayFallBack ? [[requestId, mayFallBack]] : [])),
    )
    return channels.size === 0
      ? await statement(db)
      : await endWith(statement, ({ requestId }) => channels.get(requestId))
  }

  return { end, endWith }
}

type End = ReturnType<typeof createEnd>

const endsOfAttempts = (db: Database, { end, endWith }: End) => ({
  /** Records what its claims still allow: outcomes whose claim no longer holds are missing from the result. */
  async recordOutcomes(outcomes: readonly MayFallBack<OutcomeRow>[]): Promise<WithFallback<RecordedRow>[]> {
    const isFailing = ({ status, mayFallBack }: MayFallBack<OutcomeRow>) =>
      status === 'failed' && mayFallBack !== undefined
    const usual = outcomes.filter((outcome) => !isFailing(outcome))
    const recorded = await recordUsualOutcomes(db, usual)
    // Receipts came during their calls, or their claims no longer hold.
    const left = withoutRows(usual, recorded)
    const others = left.filter(({ mayFallBack }) => !mayFallBack)
    const ending = [...outcomes.filter(isFailing), ...left.filter(({ mayFallBack }) => mayFallBack)]
    return [
      ...recorded,
      ...(await recordOutcomesWithReceipts(db, others)),
      ...(await end(ending, (db) => recordOutcomes(db, ending))),
    ]
  },

  /** The outcome of an attempt whose claim was given up. */
  async recordLateOutcome(late: MayFallBack<LateOutcome>): Promise<WithFallback<SettledLate> | undefined> {
    const { requestId, verdict, mayFallBack } = late
    if (verdict?.status !== 'failed' || !mayFallBack) return await recordLateOutcome(db, late)
    const [settled] = await endWith(
      async (transaction) => {
        const row = await recordLateOutcome(transaction, late)
        return row ? [{ requestId, ...row }] : []
      },
      ({ isEnded }) => ({ ...mayFallBack, wasSeen: !isEnded }),
    )
    return settled
  },

  giveUpClaims: (sweeper: Sweeper, claims: readonly MayFallBack<GivenUp>[]) =>
    end<GivenUpRow>(claims, (db) => giveUpClaims(db, sweeper, claims)),
})

const endsOfWaits = (db: Database, suppressionKey: Buffer, { end, endWith }: End) => ({
  /** Fails the sends of a channel that have waited for too long for a provider that keeps failing. */
  failWaiting: (which: Waiting & FallsBackFrom): Promise<WithFallback<FailedSend>[]> =>
    which.fallsBackFrom
      ? endWith(
          (transaction) => failWaiting(transaction, which),
          ({ requestId }) => endedOn(requestId, which),
        )
      : failWaiting(db, which),

  /** Fails those of the sends that are queued, and whose contact is suppressed. */
  failSuppressed(
    sends: readonly (FallsBackFrom & { requestId: string })[],
  ): Promise<WithFallback<FailedSend>[]> {
    const ids = sends.map(({ requestId }) => requestId)
    const ending = sends.map((send) => ({
      requestId: send.requestId,
      mayFallBack: endedOn(send.requestId, send),
    }))
    return end(ending, (db) => failSuppressed(db, ids, suppressionKey))
  },

  /** A pass over the waiting sends of contacts that were suppressed. */
  async runSuppressionChecks(): Promise<{ failed: WithFallback<FailedSend>[]; isMore: boolean }> {
    let isMore = false
    const failed = await endWith(
      async (transaction) => {
        const pass = await runSuppressionChecks(transaction, suppressionKey)
        isMore = pass.isMore
        return pass.failed
      },
      (send) => endedOn(send.requestId, send),
    )
    return { failed, isMore }
  },
})

const endsByReceipts = (db: Database, { endWith }: End) => ({
  /** A send goes on by its fallback if it is reported as undelivered. */
  async recordReceipts(receipts: readonly FallingReceipt[]): Promise<WithFallback<RecordedReceipt>[]> {
    if (receipts.every(({ fallsBackFrom }) => !fallsBackFrom)) return await recordReceipts(db, receipts)
    const record = async (transaction: Transaction) =>
      (await recordReceipts(transaction, receipts)).map((row) => ({
        ...row,
        requestId: receipts[row.ord]?.requestId ?? '',
      }))
    return await endWith(record, ({ ord, requestId, channelId, effect }) => {
      const isUndelivered = effect?.event === 'undelivered' && effect.isRaised
      const { fallsBackFrom } = receipts[ord] ?? {}
      return isUndelivered && channelId !== null
        ? endedOn(requestId, { channelId, fallsBackFrom })
        : undefined
    })
  },
})

/**
 * The ways in which sends end. Each opens the transaction in which its statement ends them, their fallbacks are decided, and those
 * that fall back are moved: no reader sees an end that a fallback undoes.
 */
export function createEndSends(runtime: Needs<'db' | 'log', FallbackSettings>) {
  const end = createEnd(runtime)
  const suppressionKey = keyFrom(runtime.settings.API_KEY_PEPPER)
  return {
    ...endsOfAttempts(runtime.db, end),
    ...endsOfWaits(runtime.db, suppressionKey, end),
    ...endsByReceipts(runtime.db, end),
  }
}

/** A receipt of a channel with a fallback has its provider. */
export type FallingReceipt = ReceiptRow & Pick<FallsBackFrom, 'fallsBackFrom'>

export type EndSends = ReturnType<typeof createEndSends>
