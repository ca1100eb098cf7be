import type { Context } from 'hono'
import { insertSends, insertSendWithMedia, type NewSend } from '../../db/accepts.ts'
import type { Channel } from '../../db/channels.ts'
import { databaseClock } from '../../db/clock.ts'
import { isRowFault, isTooLate } from '../../db/errors.ts'
import { maskContact } from '../core/contact.ts'
import type { SendRequest } from '../core/send-request.ts'
import { logEvent } from '../platform/logger.ts'
import { MicroBatch } from '../platform/micro-batch.ts'
import type { Runtime } from '../platform/runtime.ts'
import type { ApiEnv } from './context.ts'
import { unavailable } from './errors.ts'
import type { earlierSends, Idempotency } from './idempotency.ts'

const maxRowsPerInsert = 200
/** What is kept of the request's wait between the last moment of an insert and the answer that must tell of it. */
const answerMarginMs = 200
/** And for media, whose bytes are written after that moment. */
const mediaBytesPerMs = 50_000

/**
 * Commits the send in PostgreSQL, or answers 503 (docs/api.md#errors). Concurrent sends share one insert; one with
 * media goes alone, so that nobody waits for its bytes.
 *
 * @returns the id of another send where that one has come first with the same Idempotency-Key.
 */
export function recorder({ db, log }: Runtime, findEarlier: ReturnType<typeof earlierSends>) {
  const clockAheadMs = databaseClock(db)
  const inserts = new MicroBatch<NewSend, boolean>({
    maxItems: maxRowsPerInsert,
    isItemsFault: isRowFault,
    flush: async (rows) => {
      const aheadMs = await clockAheadMs()
      const inserted = await insertSends(
        db,
        rows.map((row) => inDatabaseTime(row, aheadMs)),
      )
      const recorded = new Set(inserted.map(({ requestId }) => requestId))
      return rows.map(({ requestId }) => recorded.has(requestId))
    },
  })
  const insert = async (row: NewSend, content: Buffer | undefined): Promise<boolean> => {
    if (!content) return await inserts.add(row)
    try {
      return (await insertSendWithMedia(db, inDatabaseTime(row, await clockAheadMs()), content)).length === 1
    } catch (error) {
      if (isTooLate(error)) return false
      throw error
    }
  }

  return async (
    c: Context<ApiEnv>,
    request: SendRequest,
    channel: Channel,
    idempotency: Idempotency | undefined,
  ): Promise<string | undefined> => {
    const { requestId, caller, budget } = c.var
    const { contact, message, mediaContent } = request
    const { accountId } = caller
    const { channelId } = channel
    const marginMs = answerMarginMs + (mediaContent?.length ?? 0) / mediaBytesPerMs
    const row: NewSend = {
      requestId,
      accountId,
      channelId,
      contact,
      message,
      flowId: request.flowId,
      closeConversation: request.closeConversation,
      ordering: channel.ordering,
      expireAfterSeconds: channel.expireAfterSeconds ?? undefined,
      idempotency,
      recordBy: new Date(Date.now() + budget.leftMs - marginMs),
    }
    if (!(await budget.spend(insert(row, mediaContent)))) {
      const earlier = await findEarlier(c, idempotency)
      if (earlier === undefined) throw unavailable()
      return earlier
    }
    const fields = { accountId, channelId, contact: maskContact(contact), messageType: message.type }
    logEvent(log, requestId, 'accepted', fields)
    return undefined
  }
}

function inDatabaseTime(row: NewSend, aheadMs: number): NewSend {
  return { ...row, recordBy: new Date(row.recordBy.getTime() + aheadMs) }
}
