import { describe, expect, test } from 'vitest'
import { listChannels } from '../../db/accounts/channels.ts'
import { recordLateOutcome } from '../../db/delivery/late-outcomes.ts'
import { replaySend } from '../../db/sends/replays.ts'
import type { AttemptOutcome } from '../../src/core/sends/outcome.ts'
import type { AttemptRecord } from '../../src/core/sends/timeline.ts'
import { openProviders } from '../../workers/providers/index.ts'
import {
  beginAttempt,
  endAttempt,
  loseAttempt,
  namesOf,
  received,
  rowOf,
  timelineOf,
} from '../support/attempts.ts'
import { type Account, accept, buildAccount, buildChannel, textBody } from '../support/builders.ts'
import { deliverAs } from '../support/deliver-as.ts'
import { serviceOfFile } from '../support/service.ts'

const service = await serviceOfFile()
const account = await buildAccount(service)
const resending = { ...account, channelId: await buildChannel(service, account.accountId, 'resend') }

const sent: AttemptOutcome = { outcome: 'sent', providerMessageId: 'p-1', providerStatus: 200 }
const unsure: AttemptOutcome = { outcome: 'uncertain', fault: 'provider', reason: 'connection lost' }
const refusals: AttemptOutcome[] = [
  { outcome: 'rejected', fault: 'recipient', reason: 'no such number', providerStatus: 400 },
  { outcome: 'retry_later', fault: 'provider', reason: 'busy', providerStatus: 503, retryAfterMs: 1000 },
  { outcome: 'channel_refused', fault: 'sender', reason: 'gone', providerStatus: 410 },
  { outcome: 'not_called', reason: 'no lease' },
]
const byOutcome = (results: AttemptOutcome[]) => results.map((result) => [result.outcome, result] as const)

/** A send whose attempt `dead` has lost. */
async function lose(by: Account) {
  const requestId = await accept(service, by, textBody())
  return { requestId, send: await loseAttempt(service, requestId, 'dead') }
}

const heldChannels = async () =>
  (await listChannels(service.runtime.db, account.accountId)).filter(({ heldAt }) => heldAt !== null)

async function deliverByAnother(requestId: string) {
  const { senders } = openProviders(service.runtime)
  return await (await deliverAs(service, 'another', senders))(requestId)
}

const lostAndUncertain = ['accepted', 'attempt_started', 'attempt_lost', 'uncertain']
const lostAndWaiting = ['accepted', 'attempt_started', 'attempt_lost', 'retry_scheduled']

describe('a send that was given up as uncertain', () => {
  test('becomes sent when its worker records that late', async () => {
    const { requestId, send } = await lose(account)
    const before = await timelineOf(service, requestId)
    expect(await endAttempt(service, send, sent)).toEqual({ wakeInMs: undefined })
    const timeline = await timelineOf(service, requestId)
    expect(timeline).toMatchObject({ status: 'sent', attempts: 1, providerMessageId: 'p-1' })
    expect(namesOf(timeline)).toEqual([...lostAndUncertain, 'attempt_finished', 'sent'])
    expect(timeline.events.slice(0, 4)).toEqual(before.events)
    const finished = {
      attempt: 1,
      outcome: 'sent',
      late: true,
      providerMessageId: 'p-1',
      providerStatus: 200,
    }
    expect(timeline.events[4]).toMatchObject(finished)
    expect(timeline.finishedAt).toBe(timeline.events.at(-1)?.at)
    expect(Date.parse(timeline.finishedAt ?? '')).toBeGreaterThan(Date.parse(before.finishedAt ?? ''))
  })

  test.each(byOutcome(refusals))(
    'becomes failed when its worker records that late: %s',
    async (_, outcome) => {
      const { requestId, send } = await lose(account)
      expect(await endAttempt(service, send, outcome)).toEqual({ wakeInMs: undefined })
      const timeline = await timelineOf(service, requestId)
      expect(timeline).toMatchObject({ status: 'failed', attempts: 1, providerMessageId: null })
      expect(namesOf(timeline)).toEqual([...lostAndUncertain, 'attempt_finished', 'failed'])
      const reason = outcome.outcome === 'sent' ? undefined : outcome.reason
      expect(timeline.events[4]).toMatchObject({ outcome: outcome.outcome, late: true, reason })
      expect(timeline.events[5]).toEqual({ at: timeline.finishedAt, event: 'failed', reason })
      expect(await heldChannels()).toEqual([])
    },
  )

  test('stays uncertain when its worker does not know either, and the timeline shows that it was late', async () => {
    const { requestId, send } = await lose(account)
    const before = await timelineOf(service, requestId)
    await endAttempt(service, send, unsure)
    const { events, ...timeline } = await timelineOf(service, requestId)
    expect({ ...timeline, events: events.slice(0, 4) }).toEqual(before)
    expect(events.slice(4)).toMatchObject([{ event: 'attempt_finished', outcome: 'uncertain', late: true }])
  })

  test('has its late outcome in the log as in its timeline', async () => {
    const { requestId, send } = await lose(account)
    await endAttempt(service, send, sent)
    const logged = service.logsOf(requestId).slice(-2)
    expect(logged).toMatchObject([
      { event: 'attempt_finished', late: true, outcome: 'sent' },
      { event: 'sent' },
    ])
  })
})

describe('a send that waits for its resend', () => {
  test('becomes sent, without the next attempt, when its worker records late that the provider accepted it', async () => {
    const { requestId, send } = await lose(resending)
    await endAttempt(service, send, sent)
    const timeline = await timelineOf(service, requestId)
    expect(timeline).toMatchObject({ status: 'sent', attempts: 1, providerMessageId: 'p-1' })
    expect(namesOf(timeline)).toEqual([...lostAndWaiting, 'attempt_finished', 'sent'])
    expect(timeline.events[4]).toMatchObject({ attempt: 1, late: true })
    expect(timeline.finishedAt).toBe(timeline.events.at(-1)?.at)
    expect(await deliverByAnother(requestId)).toMatchObject({ wakeInMs: undefined })
    expect(await timelineOf(service, requestId)).toEqual(timeline)
    expect(await received(service, requestId)).toEqual([])
  })

  test.each(byOutcome([...refusals, unsure]))(
    'keeps its resend when its worker records late: %s',
    async (_, outcome) => {
      const { requestId, send } = await lose(resending)
      const before = await rowOf(service, requestId)
      await endAttempt(service, send, outcome)
      expect(await rowOf(service, requestId)).toEqual(before)
      await deliverByAnother(requestId)
      const timeline = await timelineOf(service, requestId)
      expect(timeline).toMatchObject({ status: 'sent', attempts: 2 })
      const second = ['attempt_started', 'attempt_finished', 'sent']
      expect(namesOf(timeline)).toEqual([...lostAndWaiting, 'attempt_finished', ...second])
      expect(timeline.events[4]).toMatchObject({ attempt: 1, outcome: outcome.outcome, late: true })
      expect(await heldChannels()).toEqual([])
    },
  )
})

describe('a late outcome is only added to the timeline', () => {
  const changesOnlyTimeline = async (requestId: string, end: () => Promise<unknown>) => {
    const [row, before] = [await rowOf(service, requestId), await timelineOf(service, requestId)]
    await end()
    expect(await rowOf(service, requestId)).toEqual(row)
    const { events } = await timelineOf(service, requestId)
    expect(events.slice(0, -1)).toEqual(before.events)
    expect(events.at(-1)).toMatchObject({ event: 'attempt_finished', attempt: 1, late: true })
  }

  test.each(byOutcome([sent, ...refusals, unsure]))('while another attempt runs: %s', async (_, outcome) => {
    const { requestId, send } = await lose(resending)
    const second = await beginAttempt(service, requestId, 'another')
    await changesOnlyTimeline(requestId, () => endAttempt(service, send, outcome))
    await endAttempt(service, second, { outcome: 'sent', providerMessageId: 'p-2' })
    expect(await timelineOf(service, requestId)).toMatchObject({ status: 'sent', providerMessageId: 'p-2' })
  })

  test.each(byOutcome([sent, ...refusals, unsure]))(
    'after another attempt has ended the send: %s',
    async (_, outcome) => {
      for (const end of [{ outcome: 'sent', providerMessageId: 'p-2' }, refusals[0]] as AttemptOutcome[]) {
        const { requestId, send } = await lose(resending)
        await endAttempt(service, await beginAttempt(service, requestId, 'another'), end)
        await changesOnlyTimeline(requestId, () => endAttempt(service, send, outcome))
      }
    },
  )

  test.each(byOutcome([sent, ...refusals, unsure]))(
    'after another attempt was lost too: %s',
    async (_, outcome) => {
      const { requestId, send } = await lose(resending)
      await loseAttempt(service, requestId, 'dead too')
      await changesOnlyTimeline(requestId, () => endAttempt(service, send, outcome))
      expect(await rowOf(service, requestId)).toMatchObject({ status: 'queued', attempt: 2 })
    },
  )

  test.each(byOutcome([sent, ...refusals, unsure]))('after a replay: %s', async (_, outcome) => {
    const { requestId, send } = await lose(account)
    expect(await replaySend(service.runtime.db, requestId)).toBe(true)
    await changesOnlyTimeline(requestId, () => endAttempt(service, send, outcome))
    await deliverByAnother(requestId)
    expect(await timelineOf(service, requestId)).toMatchObject({ status: 'sent', attempts: 2 })
  })
})

test.each([
  ['sent', sent, { status: 'sent' } as const],
  ['failed', refusals[0], { status: 'failed', reason: 'no such number' } as const],
  ['uncertain still', unsure, undefined],
])(
  'a late outcome whose answer was lost is recorded again, and changes nothing more: %s',
  async (_, outcome, verdict) => {
    for (const by of [account, resending]) {
      const { requestId, send } = await lose(by)
      const record = {
        attempt: 1,
        outcome: outcome?.outcome ?? 'sent',
        durationMs: 5,
        providerStatus: null,
        providerCode: null,
        providerMessageId: null,
        late: true,
      } satisfies AttemptRecord
      const late = { requestId, channelId: by.channelId, claimId: send.claimId, record, verdict }
      const recordOnce = async () => ({
        became: await recordLateOutcome(service.runtime.db, late),
        timeline: await timelineOf(service, requestId),
      })
      const first = await recordOnce()
      expect(await recordOnce()).toEqual(first)
    }
  },
)

test('a retry whose answer was lost is not recorded again as late when another attempt has begun meanwhile', async () => {
  const requestId = await accept(service, account, textBody())
  const send = await beginAttempt(service, requestId, 'first')
  const busy: AttemptOutcome = { outcome: 'retry_later', fault: 'provider', reason: 'busy' }
  await endAttempt(service, send, busy)
  await beginAttempt(service, requestId, 'another')
  const timeline = await timelineOf(service, requestId)
  await endAttempt(service, send, busy)
  expect(await timelineOf(service, requestId)).toEqual(timeline)
})

test('the late outcome of a send that is no longer kept is dropped', async () => {
  const { requestId, send } = await lose(account)
  await service.runtime.db.$client.query('delete from sends where request_id = $1', [requestId])
  await endAttempt(service, send, sent)
  const { rows } = await service.runtime.db.$client.query('select from send_events where request_id = $1', [
    requestId,
  ])
  expect(rows).toEqual([])
})
