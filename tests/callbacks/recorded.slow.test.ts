import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { deleteChannel } from '../../db/accounts/deleted-channels.ts'
import { recordTries } from '../../db/callbacks/record-tries.ts'
import { expireSends } from '../../db/delivery/expiry.ts'
import { recordReceipts } from '../../db/receipts/receipts.ts'
import { readBacklog } from '../../db/sends/backlog.ts'
import { cancelSend } from '../../db/sends/cancel.ts'
import { replaySends } from '../../db/sends/replay-sets.ts'
import { replaySend } from '../../db/sends/replays.ts'
import type { SendChange } from '../../src/core/callbacks/callback.ts'
import type { ReceiptKind } from '../../src/core/receipts/receipt.ts'
import type { AttemptOutcome } from '../../src/core/sends/outcome.ts'
import {
  attemptedSend,
  beginAttempt,
  endAttempt,
  lapse,
  loseAttempt,
  rowOf,
  sweepOnce,
} from '../support/attempts.ts'
import { type Account, accept, buildAccount, buildChannel, textBody } from '../support/builders.ts'
import { buildEndpoint, callbacksOf, type Endpoint } from '../support/endpoints.ts'
import { inSeconds, makeDue, moveDue, postBatch } from '../support/later.ts'
import { buildProviderChannel } from '../support/provider-channel.ts'
import { buildReceipt, whatsAppConfig } from '../support/receipts.ts'
import { startTestService, type TestService } from '../support/service.ts'

const url = 'https://example.com/hooks'
const sent: AttemptOutcome = { outcome: 'sent', providerMessageId: 'wamid.1', providerStatus: 200 }
const unsure: AttemptOutcome = { outcome: 'uncertain', fault: 'provider', reason: 'connection lost' }
const rejected: AttemptOutcome = {
  outcome: 'rejected',
  fault: 'recipient',
  reason: 'no such number',
  providerStatus: 400,
  providerCode: '131026',
}
const busy: AttemptOutcome = { outcome: 'retry_later', fault: 'provider', reason: 'busy' }

let service: TestService
let account: Account
let endpoint: Endpoint

beforeAll(async () => {
  service = await startTestService()
})
afterAll(() => service.stop())
beforeEach(async () => {
  const owner = await buildAccount(service)
  const channelId = await buildProviderChannel(service, owner.accountId, 'whatsapp-cloud', whatsAppConfig)
  account = { ...owner, channelId }
  endpoint = await buildEndpoint(service, account.accountId, url)
})

const told = async (of = endpoint) =>
  (await callbacksOf(service, of)).map(({ type, sequence }) => `${sequence} ${type.replace('message.', '')}`)

async function report(requestId: string, kinds: readonly ReceiptKind[]) {
  await recordReceipts(
    service.runtime.db,
    kinds.map((kind) => buildReceipt(requestId, account.channelId, kind, { providerMessageId: 'wamid.1' })),
  )
}

describe('a callback is recorded by the statement that records', () => {
  test.each([
    ['sent', sent, '1 sent'],
    ['failed', rejected, '1 failed'],
    ['uncertain', unsure, '1 uncertain'],
  ])('an outcome: %s', async (status, outcome, callback) => {
    const requestId = await attemptedSend(service, account, outcome)
    expect(await told()).toEqual([callback])
    expect(await rowOf(service, requestId)).toMatchObject({ status, changeNumber: 1 })
  })

  test('the provider’s code, the attempts and the conversation', async () => {
    const requestId = await attemptedSend(service, account, rejected)
    const { conversationId } = await rowOf(service, requestId)
    expect(conversationId).not.toBeNull()
    expect(await callbacksOf(service, endpoint)).toMatchObject([
      {
        requestId,
        attempts: 1,
        providerCode: '131026',
        providerAt: null,
        conversationId,
        tried: 0,
        tries: [],
      },
    ])
  })

  test('no retry', async () => {
    const requestId = await attemptedSend(service, account, busy)
    expect(await told()).toEqual([])
    expect(await rowOf(service, requestId)).toMatchObject({ status: 'queued', changeNumber: 0 })
  })

  test('receipts, each with its number, also when they come in one request', async () => {
    const requestId = await attemptedSend(service, account, sent)
    await report(requestId, ['accepted', 'delivered', 'delivered', 'read'])
    await report(requestId, ['undelivered'])
    expect(await told()).toEqual(['1 sent', '2 delivered', '3 read'])
  })

  test('a receipt that settles an uncertain send', async () => {
    await report(await attemptedSend(service, account, unsure), ['delivered'])
    expect(await told()).toEqual(['1 uncertain', '2 sent', '3 delivered'])
  })

  test('receipts that came during the call', async () => {
    const requestId = await accept(service, account, textBody())
    const send = await beginAttempt(service, requestId, 'first')
    await report(requestId, ['delivered', 'read'])
    expect(await told()).toEqual([])
    await endAttempt(service, send, sent)
    expect(await told()).toEqual(['1 sent', '2 delivered', '3 read'])
  })

  test('a receipt during a call with an unknown outcome', async () => {
    const requestId = await accept(service, account, textBody())
    const send = await beginAttempt(service, requestId, 'first')
    await report(requestId, ['delivered'])
    await endAttempt(service, send, unsure)
    expect(await told()).toEqual(['1 sent', '2 delivered'])
  })

  test('a lost claim, and its outcome when it comes late', async () => {
    const requestId = await accept(service, account, textBody())
    const send = await loseAttempt(service, requestId, 'lost')
    expect(await told()).toEqual(['1 uncertain'])
    await endAttempt(service, send, sent)
    expect(await told()).toEqual(['1 uncertain', '2 sent'])
  })

  test('a lost claim with a receipt', async () => {
    const requestId = await accept(service, account, textBody())
    await beginAttempt(service, requestId, 'lost too')
    await report(requestId, ['delivered'])
    await lapse(service, 'lost too')
    await sweepOnce(service)
    expect(await told()).toEqual(['1 sent', '2 delivered'])
  })

  test('a replay, of one send and of a set', async () => {
    const requestId = await attemptedSend(service, account, rejected)
    await replaySend(service.runtime.db, requestId)
    expect(await told()).toEqual(['1 failed', '2 replayed'])
    await endAttempt(service, await beginAttempt(service, requestId, 'again'), unsure)
    await replaySends(service.runtime.db, { channelId: account.channelId, status: 'uncertain', limit: 10 })
    expect(await told()).toEqual(['1 failed', '2 replayed', '3 uncertain', '4 replayed'])
  })

  test('an expiry', async () => {
    const requestId = await accept(service, account, textBody())
    const { db } = service.runtime
    await db.$client.query('update sends set expires_at = now() where request_id = $1', [requestId])
    await expireSends(db, 10)
    expect(await told()).toEqual(['1 failed'])
  })

  test('a cancel, of a send that waits or is scheduled, once', async () => {
    const { db } = service.runtime
    const waiting = await accept(service, account, textBody())
    const scheduled = await accept(service, account, { ...textBody(), sendAt: inSeconds(3600) })
    for (const requestId of [waiting, scheduled, waiting, scheduled]) await cancelSend(db, requestId)
    expect(await callbacksOf(service, endpoint)).toMatchObject(
      [waiting, scheduled].map((requestId) => ({
        ...{ requestId, type: 'message.canceled', sequence: 1, attempts: 0, conversationId: null },
      })),
    )
    for (const requestId of [waiting, scheduled])
      expect((await rowOf(service, requestId)).changeNumber).toBe(1)
  })

  test('a cancel of a send that may have got through, and its outcome when it comes late', async () => {
    const channelId = await buildChannel(service, account.accountId, 'resend')
    const requestId = await accept(service, { ...account, channelId }, textBody())
    const send = await loseAttempt(service, requestId, 'lost for good')
    expect(await told()).toEqual([])
    await cancelSend(service.runtime.db, requestId)
    expect(await told()).toEqual(['1 uncertain'])
    await endAttempt(service, send, sent)
    expect(await told()).toEqual(['1 uncertain', '2 sent'])
  })

  test('the deletion of a channel, also of scheduled sends', async () => {
    await accept(service, account, textBody())
    await accept(service, account, { ...textBody(), sendAt: inSeconds(3600) })
    await deleteChannel(service.runtime.db, account.channelId)
    expect(await told()).toEqual(['1 failed', '1 failed'])
  })
})

test('a change behind one that is tried again later is due with it, not before', async () => {
  const requestId = await attemptedSend(service, account, sent)
  const other = await buildEndpoint(service, account.accountId, url)
  const failed = { status: 503, reason: null, durationMs: 5, result: 'failed', delayMs: 60_000 } as const
  const which = { endpointId: endpoint.endpointId, requestId, sequence: 1, tried: 0 }
  expect(await recordTries(service.runtime.db, [{ ...which, ...failed }])).toHaveLength(1)
  await report(requestId, ['delivered'])
  await report(requestId, ['read'])
  const [first, ...later] = await callbacksOf(service, endpoint)
  expect(first?.nextTryAt.getTime()).toBeGreaterThan(Date.now() + 50_000)
  expect(later.map(({ nextTryAt }) => nextTryAt)).toEqual([first?.nextTryAt, first?.nextTryAt])
  for (const { nextTryAt, createdAt } of await callbacksOf(service, other))
    expect(nextTryAt.getTime() - createdAt.getTime()).toBeLessThan(1000)
})

test('a replay behind one that is tried again later is due with it', async () => {
  const requestId = await attemptedSend(service, account, unsure)
  const failed = { status: 503, reason: null, durationMs: 5, result: 'failed', delayMs: 60_000 } as const
  const which = { endpointId: endpoint.endpointId, requestId, sequence: 1, tried: 0 }
  await recordTries(service.runtime.db, [{ ...which, ...failed }])
  await replaySend(service.runtime.db, requestId)
  const [first, second] = await callbacksOf(service, endpoint)
  expect(second?.nextTryAt).toEqual(first?.nextTryAt)
})

test('neither an accept, a batch nor the time of a scheduled send is a change', async () => {
  const { status, body } = await postBatch(service, account, [
    textBody(),
    { ...textBody(), sendAt: inSeconds(3600) },
  ])
  expect(status).toBe(202)
  const [, { requestId: scheduled }] = body.messages
  await makeDue(service, scheduled)
  await moveDue(service)
  for (const { requestId } of body.messages)
    expect(await rowOf(service, requestId)).toMatchObject({ status: 'queued', changeNumber: 0 })
  expect(await told()).toEqual([])
})

test('an endpoint is told only what it takes, and sees the gaps', async () => {
  const events: SendChange[] = ['message.failed', 'message.read']
  const picky = await buildEndpoint(service, account.accountId, url, events)
  const requestId = await attemptedSend(service, account, sent)
  await report(requestId, ['delivered', 'read'])
  expect(await told(picky)).toEqual(['3 read'])
  expect(await told()).toEqual(['1 sent', '2 delivered', '3 read'])
})

test('receipts of many sends wake an endpoint once, if any of them changes', async () => {
  const ids = [await attemptedSend(service, account, sent), await attemptedSend(service, account, sent)]
  const woken = async (kind: ReceiptKind) => {
    const receipts = ids.map((id) => buildReceipt(id, account.channelId, kind))
    const recorded = await recordReceipts(service.runtime.db, receipts)
    return recorded.flatMap(({ endpointsToWake }) => endpointsToWake ?? [])
  }
  expect(await woken('delivered')).toEqual([endpoint.endpointId])
  expect(await woken('accepted')).toEqual([])
})

test('changes are counted also while an account has no endpoint', async () => {
  const other = await buildAccount(service)
  const channelId = await buildProviderChannel(service, other.accountId, 'whatsapp-cloud', whatsAppConfig)
  const requestId = await attemptedSend(service, { ...other, channelId }, unsure)
  const later = await buildEndpoint(service, other.accountId, url)
  await replaySend(service.runtime.db, requestId)
  expect(await told(later)).toEqual(['2 replayed'])
  expect(await told()).toEqual([])
})

test('a callback behind an earlier one of its send is not late; the earlier one is', async () => {
  const { db } = service.runtime
  const requestId = await attemptedSend(service, account, sent)
  await report(requestId, ['delivered'])
  await db.$client.query('update endpoints set disabled_at = now() where id <> $1', [endpoint.endpointId])
  const dueSince = async (sequence: number, secondsAgo: number) => {
    await db.$client.query(
      `update callbacks set next_try_at = now() - $3 * interval '1 s' where request_id = $1 and sequence = $2`,
      [requestId, sequence, secondsAgo],
    )
    const { callbacks } = await readBacklog(db)
    return Math.round(callbacks.oldestDue)
  }
  await dueSince(1, -3600)
  expect(await dueSince(2, 3600)).toBe(0)
  expect(await dueSince(1, 600)).toBeGreaterThanOrEqual(600)
  expect(await dueSince(1, 600)).toBeLessThan(3600)
})
