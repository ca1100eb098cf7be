import { eq } from 'drizzle-orm'
import { beforeEach, expect, test } from 'vitest'
import { updateChannel } from '../../db/accounts/channels.ts'
import { sends } from '../../db/schema.ts'
import { cancelSend } from '../../db/sends/cancel.ts'
import { settleSend } from '../../db/sends/settle.ts'
import { eraseContact } from '../../db/upkeep/erase.ts'
import type { AttemptOutcome } from '../../src/core/sends/outcome.ts'
import type { Timeline } from '../../src/core/sends/timeline.ts'
import { createEndSends } from '../../src/sends/end-sends.ts'
import type { EnteredSend } from '../../workers/sends/send-states.ts'
import { beginAttempt, endAttempt, loseAttempt, namesOf, rowOf, timelineOf } from '../support/attempts.ts'
import { type Account, accept, textBody } from '../support/builders.ts'
import { buildEndpoint, callbacksOf } from '../support/endpoints.ts'
import { buildChain, unreachable } from '../support/fallbacks.ts'
import { loseWakeUp } from '../support/queue.ts'
import { buildReceipt } from '../support/receipts.ts'
import { countsSince } from '../support/scrape.ts'
import { serviceOfFile } from '../support/service.ts'

const service = await serviceOfFile({ RETRY_DELAYS_SECONDS: '0,0,0' })
const { db } = service.runtime
const sent: AttemptOutcome = { outcome: 'sent', providerMessageId: 'SM1', providerStatus: 201 }
const inDoubt = 'not sent by its fallback Test: an earlier attempt may have got through'

const refused = (reason: string, fault: 'recipient' | 'message'): AttemptOutcome => ({
  outcome: 'rejected',
  fault,
  reason,
  providerStatus: 400,
})

/** Results of sends that ended on a channel with a fallback. */
const fallbacksCounted = countsSince(service.runtime.metrics.fallbacks, 'result')
beforeEach(async () => {
  await fallbacksCounted()
})

const next = async (requestId: string, outcome: AttemptOutcome, worker = 'next') =>
  await endAttempt(service, await beginAttempt(service, requestId, worker), outcome)

/** A send whose first attempt was lost; its worker may still answer. */
async function lost(account: Account, contact?: string): Promise<{ requestId: string; frozen: EnteredSend }> {
  const requestId = await accept(service, account, textBody('Hello', contact))
  await loseWakeUp(service, requestId)
  return { requestId, frozen: await loseAttempt(service, requestId, 'frozen') }
}

/** A channel that sends again after a lost attempt, and falls back on the second. */
async function resendingChain() {
  const chain = await buildChain(service)
  await updateChannel(db, chain.channels[0] ?? '', { onUncertain: 'resend' })
  const endpoint = await buildEndpoint(service, chain.account.accountId, 'https://example.org/calls')
  return { ...chain, endpoint }
}

/** One that was lost, sent again, and refused then: it failed in doubt. */
async function failedInDoubt(account: Account) {
  const { requestId, frozen } = await lost(account)
  await next(requestId, refused('refused at the second attempt', 'recipient'))
  expect((await timelineOf(service, requestId)).reason).toBe(`refused at the second attempt; ${inDoubt}`)
  return { requestId, frozen }
}

const logged = (requestId: string) => service.logsOf(requestId).map(({ event }) => event)

test('an uncertain send whose lost attempt is refused late goes on by the fallback, and nobody sees it fail', async () => {
  const { account, channels } = await buildChain(service)
  const endpoint = await buildEndpoint(service, account.accountId, 'https://example.org/calls')
  const { requestId, frozen } = await lost(account)
  expect(await timelineOf(service, requestId)).toMatchObject({ status: 'uncertain', sentThrough: null })
  await endAttempt(service, frozen, unreachable)

  const waiting = await timelineOf(service, requestId)
  expect(waiting).toMatchObject({
    ...{ status: 'queued', channelId: channels[0], sentThrough: channels[1], attempts: 1 },
    ...{ finishedAt: null, reason: null },
  })
  expect(namesOf(waiting)).toEqual([
    ...['accepted', 'attempt_started', 'attempt_lost', 'uncertain', 'attempt_finished', 'fell_back'],
  ])
  expect(waiting.events.at(-1)).toMatchObject({ reason: 'the contact is not on this network' })
  expect((await callbacksOf(service, endpoint)).map(({ type }) => type)).toEqual([
    ...['message.uncertain', 'message.fell_back'],
  ])
  expect(await fallbacksCounted()).toEqual({ fell_back: 1 })
  expect(logged(requestId)).toContain('fell_back')
  expect(logged(requestId)).not.toContain('failed')
  await next(requestId, sent)
  expect(await timelineOf(service, requestId)).toMatchObject({ status: 'sent', sentThrough: channels[1] })
})

test('a send that failed in doubt goes on when the lost attempt is refused late; its failure stays in timeline and callbacks', async () => {
  const { account, channels, endpoint } = await resendingChain()
  const { requestId, frozen } = await failedInDoubt(account)
  expect(await fallbacksCounted()).toEqual({ in_doubt: 1 })
  await endAttempt(service, frozen, unreachable)

  const waiting = await timelineOf(service, requestId)
  expect(waiting).toMatchObject({ status: 'queued', sentThrough: channels[1], attempts: 2, reason: null })
  expect(namesOf(waiting).slice(-4)).toEqual(['attempt_finished', 'failed', 'attempt_finished', 'fell_back'])
  expect(waiting.events.at(-1)).toMatchObject({ reason: 'refused at the second attempt' })
  expect((await callbacksOf(service, endpoint)).map(({ type }) => type)).toEqual([
    ...['message.failed', 'message.fell_back'],
  ])
  expect(await fallbacksCounted()).toEqual({ fell_back: 1 })
  await next(requestId, sent)
  expect(await timelineOf(service, requestId)).toMatchObject({ status: 'sent', sentThrough: channels[1] })
})

test('one that goes on so is the last of its contact there', async () => {
  const { account, channels } = await buildChain(service)
  const contact = '+4915177777001'
  const { requestId, frozen } = await lost(account, contact)
  const there = { ...account, channelId: channels[1] ?? '' }
  const other = await accept(service, there, textBody('there before', contact))
  await endAttempt(service, frozen, unreachable)
  expect(await rowOf(service, requestId)).toMatchObject({ behind: other, status: 'queued' })
})

test('as long as another attempt is in doubt, it stays; the last refusal decides', async () => {
  const { account, channels } = await resendingChain()
  const { requestId, frozen } = await lost(account)
  const second = await loseAttempt(service, requestId, 'frozen too')
  await next(requestId, unreachable)
  await endAttempt(service, second, unreachable)
  const still = await timelineOf(service, requestId)
  expect(still).toMatchObject({ status: 'failed', sentThrough: null })
  expect(still.reason).toBe(`the contact is not on this network; ${inDoubt}`)
  expect(await fallbacksCounted()).toEqual({ in_doubt: 1 })
  await endAttempt(service, frozen, unreachable)
  expect(await timelineOf(service, requestId)).toMatchObject({ status: 'queued', sentThrough: channels[1] })
})

test('a message that was reported as undelivered in doubt goes on when the lost attempt is refused late', async () => {
  const { account, channels, endpoint } = await resendingChain()
  const { requestId, frozen } = await lost(account)
  await next(requestId, sent)
  const receipt = buildReceipt(requestId, channels[0] ?? '', 'undelivered', { providerMessageId: 'SM1' })
  await createEndSends(service.runtime).recordReceipts([{ ...receipt, fallsBackFrom: 'sandbox' }])
  expect(await timelineOf(service, requestId)).toMatchObject({ status: 'sent', sentThrough: null })
  await endAttempt(service, frozen, unreachable)
  expect(await timelineOf(service, requestId)).toMatchObject({ status: 'queued', sentThrough: channels[1] })
  expect((await callbacksOf(service, endpoint)).map(({ type }) => type).at(-1)).toBe('message.fell_back')
})

test('a failure for which there was no fallback then stays, though the channel has one for it since', async () => {
  const { account, channels, endpoint } = await resendingChain()
  const [first = ''] = channels
  await updateChannel(db, first, { fallbackOn: ['undelivered'] })
  const { requestId, frozen } = await lost(account)
  await next(requestId, unreachable)
  await updateChannel(db, first, { fallbackOn: null })
  await endAttempt(service, frozen, unreachable)
  expect(await timelineOf(service, requestId)).toMatchObject({ status: 'failed', sentThrough: null })
  expect((await callbacksOf(service, endpoint)).map(({ type }) => type)).toEqual(['message.failed'])
})

test('a late refusal after --fallback-within says so in place of the doubt', async () => {
  const { account, channels } = await resendingChain()
  const { requestId, frozen } = await failedInDoubt(account)
  await updateChannel(db, channels[0] ?? '', { fallbackWithinSeconds: 60 })
  await db
    .update(sends)
    .set({ acceptedAt: new Date(Date.now() - 61_000) })
    .where(eq(sends.requestId, requestId))
  await endAttempt(service, frozen, unreachable)
  const stayed = await timelineOf(service, requestId)
  expect(stayed).toMatchObject({ status: 'failed', sentThrough: null })
  expect(stayed.reason).toBe(
    'refused at the second attempt; not sent by its fallback Test: more than 60 s have passed since its accept',
  )
})

const staying: [string, AttemptOutcome, onUncertain: 'hold' | 'resend', (requestId: string) => unknown][] = [
  ['that is refused by the fault of its message', refused('too long', 'message'), 'hold', () => {}],
  ['that was never called', { outcome: 'not_called', reason: 'no memory' }, 'hold', () => {}],
  ['that was canceled', unreachable, 'resend', (requestId) => cancelSend(db, requestId)],
  ['that a person settled', unreachable, 'hold', (requestId) => settleSend(db, requestId, 'failed', 'no')],
]

test.each(staying)(
  'an uncertain send %s fails by its late refusal, and stays',
  async (_, outcome, onUncertain, before) => {
    const { account, channels } = await buildChain(service)
    await updateChannel(db, channels[0] ?? '', { onUncertain })
    const { requestId, frozen } = await lost(account)
    await before(requestId)
    await endAttempt(service, frozen, outcome)
    expect(await timelineOf(service, requestId)).toMatchObject({ status: 'failed', sentThrough: null })
  },
)

test('a send whose contact was erased stays', async () => {
  const { account } = await resendingChain()
  const { requestId, frozen } = await failedInDoubt(account)
  const { contactValue } = await rowOf(service, requestId)
  const contact = { type: 'phone', value: contactValue } as const
  await eraseContact(db, { accountId: account.accountId, contact })
  await endAttempt(service, frozen, unreachable)
  expect(await rowOf(service, requestId)).toMatchObject({ status: 'failed', formerChannels: null })
})

test('a late success makes it sent, on the channel of its attempt', async () => {
  const { account } = await resendingChain()
  const { requestId, frozen } = await failedInDoubt(account)
  await endAttempt(service, frozen, sent)
  expect((await timelineOf(service, requestId)).sentThrough).toBeNull()
})

test.each([
  ['uncertain', async () => lost((await buildChain(service)).account)],
  ['failed in doubt', async () => failedInDoubt((await resendingChain()).account)],
])(
  'a late refusal whose answer was lost is recorded again, and moves the send once: one that was %s',
  async (_, build) => {
    const { recordLateOutcome } = createEndSends(service.runtime)
    const { requestId, frozen } = await build()
    const { channelId, claimId, provider, attempt } = frozen
    const answer = { durationMs: 5, providerStatus: 400, providerCode: null, providerMessageId: null }
    const record = {
      ...{ ...answer, attempt },
      ...({ outcome: 'rejected', fault: 'recipient', reason: 'no', late: true } as const),
    }
    const verdict = { status: 'failed', reason: 'no' } as const
    const mayFallBack = { requestId, channelId, provider }
    const late = { requestId, channelId, claimId, record, verdict, mayFallBack }
    const movesOf = ({ events }: Timeline) => events.filter(({ event }) => event === 'fell_back').length
    expect(await recordLateOutcome(late)).toMatchObject({ fallback: { result: 'fell_back' } })
    const moved = await timelineOf(service, requestId)
    expect(movesOf(moved)).toBe(1)
    await recordLateOutcome(late)
    expect(await timelineOf(service, requestId)).toEqual(moved)
  },
)
