import { expect, test } from 'vitest'
import { findLostClaims, giveUpClaims } from '../../db/delivery/lost-claims.ts'
import { findExplanation } from '../../db/sends/explanation.ts'
import { replaySend } from '../../db/sends/replays.ts'
import { explain } from '../../src/core/explanation/explain.ts'
import { buildTimeline } from '../../src/core/sends/timeline.ts'
import { createEnterConversation } from '../../workers/sends/enter-conversation.ts'
import {
  attemptedSend,
  beginAttempt,
  claimBy,
  endAttempt,
  idleSweeper,
  lapse,
  loseAttempt,
  namesOf,
  rowOf,
  sweepOnce,
  timelineOf,
} from '../support/attempts.ts'
import { accept, buildAccount, newContact } from '../support/builders.ts'
import { closingBody, conversationsWith, lockedConversation, untilWaiting } from '../support/conversations.ts'
import { deliverAs } from '../support/deliver-as.ts'
import { livingWorker } from '../support/living-worker.ts'
import { alikeProviders } from '../support/providers.ts'
import { serviceOfFile } from '../support/service.ts'

const service = await serviceOfFile()
const account = await buildAccount(service)

/** The time until the next attempt has passed. */
const due = (requestId: string) =>
  service.runtime.db.$client.query(
    'update sends set next_attempt_at = clock_timestamp() where request_id = $1 and next_attempt_at is not null',
    [requestId],
  )

/** Claimed by a worker that dies before it has closed the conversation, and swept. */
async function loseBeforeCall(requestId: string, worker: string) {
  const send = await claimBy(service, requestId, worker)
  await lapse(service, worker)
  await sweepOnce(service)
  return send
}

test('a worker that was frozen before it closed the conversation makes no call when it continues, and both workers close it once', async () => {
  const { contact, unlock } = await lockedConversation(service, account)
  const calls: string[] = []
  const deliverBy = (worker: string) => {
    const send = async () => {
      calls.push(worker)
      return { outcome: 'sent' } as const
    }
    return deliverAs(service, worker, alikeProviders({ send }))
  }
  const requestId = await accept(service, account, closingBody(contact))
  const frozen = (await deliverBy('frozen'))(requestId)
  await untilWaiting(service, 1)
  await lapse(service, 'frozen')
  await sweepOnce(service)
  await due(requestId)
  const next = (await deliverBy('next'))(requestId)
  await untilWaiting(service, 2)
  // Its lease has begun again, so it does not show that.
  await livingWorker(service, 'frozen')
  await unlock()

  expect(await frozen).toEqual({ wakesLaneHead: true })
  await next
  expect(calls).toEqual(['next'])
  const timeline = await timelineOf(service, requestId)
  expect(timeline).toMatchObject({ status: 'sent', attempts: 1 })
  expect(namesOf(timeline).filter((event) => event === 'conversation_closed')).toHaveLength(1)
  const conversations = await conversationsWith(service, account, contact)
  expect(conversations).toMatchObject([{ closedBy: requestId }, { closedAt: null, closedBy: null }])
})

test('a worker whose claim was given up before it closed the conversation gets no claim when it comes too late', async () => {
  const requestId = await accept(service, account, closingBody(newContact()))
  const send = await loseBeforeCall(requestId, 'late')
  const enterConversation = createEnterConversation(service.runtime)
  expect(await enterConversation(send)).toBeUndefined()
  await due(requestId)
  const again = { ...(await claimBy(service, requestId, 'next')), conversationId: null }
  expect(await enterConversation(send)).toBeUndefined()
  expect(await enterConversation(again)).toMatchObject({ requestId, conversationId: expect.any(String) })
  expect(
    namesOf(await timelineOf(service, requestId)).filter((e) => e === 'conversation_closed'),
  ).toHaveLength(1)
})

test('a claim that had closed the conversation when it was given up is uncertain, whatever was found before', async () => {
  const requestId = await accept(service, account, closingBody(newContact()))
  const send = await claimBy(service, requestId, 'revived')
  await lapse(service, 'revived')
  const { db } = service.runtime
  const claim = (await findLostClaims(db, idleSweeper, 100)).find((lost) => lost.requestId === requestId)
  if (!claim) throw new Error('not lost')
  expect(claim.mayHaveCalled).toBe(false)
  await createEnterConversation(service.runtime)(send)
  const given = { ...claim, status: 'queued', reason: 'lost', delayMs: 0 } as const
  expect(await giveUpClaims(db, idleSweeper, [given])).toEqual([])
  await sweepOnce(service)
  expect((await rowOf(service, requestId)).status).toBe('uncertain')
})

test('a later attempt, and one after a replay, is uncertain when its worker is lost: its conversation was closed before', async () => {
  const busy = { outcome: 'retry_later', fault: 'provider', reason: 'busy' } as const
  const retried = await attemptedSend(service, account, busy, closingBody(newContact()))
  const rejected = { outcome: 'rejected', fault: 'recipient', reason: 'no such number' } as const
  const replayed = await attemptedSend(service, account, rejected, closingBody(newContact()))
  await replaySend(service.runtime.db, replayed)
  for (const requestId of [retried, replayed]) {
    await loseBeforeCall(requestId, 'dead')
    expect(await rowOf(service, requestId)).toMatchObject({ status: 'uncertain', attempt: 2 })
  }
})

test('a send that loses five workers before the call is given up as failed, and was never called', async () => {
  const { db } = service.runtime
  const requestId = await accept(service, account, closingBody(newContact()))
  for (let loss = 1; loss <= 5; loss++) {
    await due(requestId)
    await loseBeforeCall(requestId, `killed-${loss}`)
    expect(await rowOf(service, requestId)).toMatchObject({ losses: loss, attempt: 0 })
  }
  const timeline = await timelineOf(service, requestId)
  expect(timeline).toMatchObject({ status: 'failed', attempts: 0, finishedAt: expect.any(String) })
  const lostAttempt = ['attempt_started', 'attempt_lost']
  const lostAttempts = Array.from({ length: 4 }, () => [...lostAttempt, 'retry_scheduled']).flat()
  expect(namesOf(timeline)).toEqual(['accepted', ...lostAttempts, ...lostAttempt, 'failed'])
  const found = await findExplanation(db, requestId)
  if (!found) throw new Error('no explanation')
  const explanation = explain(buildTimeline(found.send, found.events, 'masked'), found.facts)
  expect(explanation.summary).toMatch(/^Not delivered.*workers kept crashing on it.*No attempt was made/)

  await replaySend(db, requestId)
  await endAttempt(service, await beginAttempt(service, requestId, 'steady'), { outcome: 'sent' })
  expect(await timelineOf(service, requestId)).toMatchObject({ status: 'sent', attempts: 1 })
})

test('the timeline of a send that was lost before its call says so, and once called the send is uncertain like any other', async () => {
  const requestId = await accept(service, account, closingBody(newContact()))
  await loseBeforeCall(requestId, 'dead')
  const found = await findExplanation(service.runtime.db, requestId)
  if (!found) throw new Error('no explanation')
  const explanation = explain(buildTimeline(found.send, found.events, 'masked'), found.facts)
  const texts = explanation.entries.map(({ text }) => text)
  expect(texts).toContain(
    'The worker of attempt 1 was lost before it called the provider, so no attempt is counted.',
  )
  expect(explanation.summary).toContain('the last one did not go through')
  expect(explanation.forCustomer).not.toContain('may have delivered')
  await due(requestId)
  await loseAttempt(service, requestId, 'dead too')
  expect((await rowOf(service, requestId)).status).toBe('uncertain')
})
