import { expect, test } from 'vitest'
import type { AttemptOutcome } from '../../src/core/outcome.ts'
import { attemptedSend, beginAttempt, endAttempt, namesOf, rowOf, timelineOf } from '../support/attempts.ts'
import { buildChain, unreachable } from '../support/fallbacks.ts'
import { serviceOfFile } from '../support/service.ts'

const service = await serviceOfFile({ RETRY_DELAYS_SECONDS: '0' })
const sent: AttemptOutcome = { outcome: 'sent', providerMessageId: 'SM1', providerStatus: 201 }

test('a send that its recipient’s provider refuses goes on by the fallback: one row, one requestId, and it is sent there', async () => {
  const { account, channels } = await buildChain(service)
  const requestId = await attemptedSend(service, account, unreachable)
  const waiting = await timelineOf(service, requestId)
  expect(waiting).toMatchObject({
    ...{ status: 'queued', channelId: channels[0], sentThrough: channels[1], attempts: 1 },
    ...{ finishedAt: null, reason: null, providerCode: null, providerMessageId: null },
  })
  expect(namesOf(waiting)).toEqual(['accepted', 'attempt_started', 'attempt_finished', 'fell_back'])
  expect(waiting.events.at(-1)).toMatchObject({
    ...{ fromChannelId: channels[0], toChannelId: channels[1] },
    reason: 'the contact is not on this network',
  })
  const attempt = await beginAttempt(service, requestId, 'second')
  expect(attempt).toMatchObject({ channelId: channels[1], attempt: 2, attemptsBeforeReplay: 1 })
  await endAttempt(service, attempt, sent)
  const timeline = await timelineOf(service, requestId)
  expect(timeline).toMatchObject({ status: 'sent', sentThrough: channels[1], providerMessageId: 'SM1' })
  const { conversationId } = await rowOf(service, requestId)
  expect(conversationId).toBe(attempt.conversationId)
})
