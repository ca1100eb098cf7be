import { eq, sql } from 'drizzle-orm'
import { v7 as uuidv7 } from 'uuid'
import { sandboxMessages, sends, workers } from '../../db/schema.ts'
import { findSend } from '../../db/sends/sends.ts'
import type { AttemptOutcome } from '../../src/core/sends/outcome.ts'
import { buildTimeline, type Timeline } from '../../src/core/sends/timeline.ts'
import type { NextWakeUp } from '../../workers/queue/queue-worker.ts'
import { createPermits } from '../../workers/sends/claim/permits.ts'
import { createClaim } from '../../workers/sends/claim.ts'
import { createEnterConversation } from '../../workers/sends/enter-conversation.ts'
import { createRecordOutcome } from '../../workers/sends/record-outcome.ts'
import type { EnteredSend, OwnSend } from '../../workers/sends/send-states.ts'
import { createWakeNext } from '../../workers/sends/wake-next.ts'
import { startSweeps } from '../../workers/upkeep/sweeps.ts'
import { type Account, accept, textBody } from './builders.ts'
import { livingWorker } from './living-worker.ts'
import { loseWakeUp } from './queue.ts'
import type { TestService } from './service.ts'

/** A living worker's claim, at the moment before it closes the conversation. */
export async function claimBy(service: TestService, requestId: string, worker: string): Promise<OwnSend> {
  await livingWorker(service, worker)
  const claimed = await createClaim(service.runtime, worker, createPermits(service.runtime))(requestId)
  if ('next' in claimed) throw new Error(`${worker} could not claim ${requestId}`)
  return claimed.send
}

/** An attempt that a living worker has begun, at the moment when it calls the provider. */
export async function beginAttempt(
  service: TestService,
  requestId: string,
  worker: string,
): Promise<EnteredSend> {
  const send = await claimBy(service, requestId, worker)
  const entered = await createEnterConversation(service.runtime)(send)
  if (!entered) throw new Error(`the claim of ${worker} on ${requestId} was given up`)
  return entered
}

/** Records the outcome as the worker of the attempt would, however late. */
export async function endAttempt(
  service: TestService,
  send: EnteredSend,
  outcome: AttemptOutcome,
): Promise<NextWakeUp> {
  const { runtime } = service
  const recorded = await createRecordOutcome(runtime)(send, { outcome, durationMs: 5 })
  await createWakeNext(runtime, createPermits(runtime))(recorded)
  return { wakeInMs: recorded.delayMs }
}

/** Lets the worker's lease run out. */
export async function lapse(service: TestService, worker: string): Promise<void> {
  const { db } = service.runtime
  const past = sql`clock_timestamp() - interval '1 ms'`
  await db.update(workers).set({ aliveUntil: past }).where(eq(workers.name, worker))
}

/** A sweeper with nothing in flight. */
export const idleSweeper = { worker: 'sweeper', inFlight: [], sweepsUntil: new Date('2100-01-01') }

/** One run of all sweeps, by a worker that may declare others dead. */
export async function sweepOnce(service: TestService): Promise<void> {
  await startSweeps(service.runtime, await livingWorker(service, idleSweeper.worker), () => []).stop()
}

/** An attempt whose worker died in the middle of it, its claim given up. */
export async function loseAttempt(
  service: TestService,
  requestId: string,
  worker: string,
): Promise<EnteredSend> {
  const send = await beginAttempt(service, requestId, worker)
  await lapse(service, worker)
  await sweepOnce(service)
  return send
}

/** A send whose first attempt ended so; nothing is left in the queue that would wake it. */
export async function attemptedSend(
  service: TestService,
  by: Account,
  outcome: AttemptOutcome,
  body: object = textBody(),
): Promise<string> {
  const requestId = await accept(service, by, body)
  await loseWakeUp(service, requestId)
  await endAttempt(service, await beginAttempt(service, requestId, 'first'), outcome)
  return requestId
}

export async function rowOf(service: TestService, requestId: string) {
  const { db } = service.runtime
  const [row] = await db.select().from(sends).where(eq(sends.requestId, requestId))
  if (!row) throw new Error(`no send ${requestId}`)
  return row
}

export async function timelineOf(service: TestService, requestId: string): Promise<Timeline> {
  const found = await findSend(service.runtime.db, requestId)
  if (!found) throw new Error(`no send ${requestId}`)
  return buildTimeline(found.send, found.events, 'whole')
}

export const namesOf = ({ events }: Timeline) => events.map(({ event }) => event)

/** The messages that the sandbox got of the send. */
export function received(service: TestService, requestId: string) {
  const { db } = service.runtime
  return db.select().from(sandboxMessages).where(eq(sandboxMessages.requestId, requestId))
}

/** The row of a send in a later state, without the steps that lead there. */
export function buildSendRow(
  account: Account,
  changes: Partial<typeof sends.$inferInsert> = {},
): typeof sends.$inferInsert & { requestId: string } {
  const { accountId, channelId } = account
  return {
    accountId,
    channelId,
    contactType: 'phone',
    contactValue: '+4915112345678',
    messageType: 'text',
    message: { type: 'text', text: { value: 'Hello' } },
    closeConversation: false,
    ...changes,
    requestId: changes.requestId ?? uuidv7(),
  }
}
