import { describe, expect, test } from 'vitest'
import {
  type AttemptOutcome,
  decide,
  decideLate,
  decideLoss,
  type OnUncertain,
  type Outcome,
  type RetryRules,
  tidy,
} from '../../../../src/core/sends/outcome.ts'
import { ownReasons } from '../../../../src/core/sends/own-reasons.ts'

const schedule = [1, 5, 25, 120, 600, 2400, 7200]

function rules(over: Partial<RetryRules> = {}): RetryRules {
  return { retryDelaysSeconds: schedule, onUncertain: 'hold', random: 0.5, ...over }
}

const later = (retryAfterMs?: number): Outcome => ({
  outcome: 'retry_later',
  fault: 'provider',
  reason: 'HTTP 503',
  retryAfterMs,
})
const uncertain: Outcome = { outcome: 'uncertain', fault: 'provider', reason: 'connection lost' }

test('a provider’s text is cut between characters: PostgreSQL refuses the half of one', () => {
  const reason = `x${'😀'.repeat(300)}`
  const cut = tidy({ outcome: 'uncertain', fault: 'provider', reason })
  expect(cut).toMatchObject({ reason: expect.stringMatching(/^x(?:😀){249}/u) })
  expect(JSON.stringify(cut)).not.toMatch(/\\ud83d/)
})

test('sent ends a send', () => {
  expect(decide({ outcome: 'sent', providerMessageId: 'x' }, 1, rules())).toEqual({ status: 'sent' })
})

test('a refusal ends it at once, whatever the attempt', () => {
  for (const attempt of [1, 3, 8]) {
    expect(
      decide({ outcome: 'rejected', fault: 'recipient', reason: 'no such number' }, attempt, rules()),
    ).toEqual({
      status: 'failed',
      reason: 'no such number',
    })
  }
})

describe('a retry', () => {
  test.each(schedule.map((seconds, index) => [index + 1, seconds] as const))(
    'after attempt %i waits %i s',
    (attempt, seconds) => {
      expect(decide(later(), attempt, rules())).toEqual({
        status: 'queued',
        reason: 'HTTP 503',
        delayMs: seconds * 1000,
      })
    },
  )

  test.each([
    [0, 0.8],
    [0.25, 0.9],
    [0.5, 1],
    [1, 1.2],
  ])(
    'is spread by a fifth either way: with the random number %d it waits %d of the delay',
    (random, part) => {
      for (const [index, seconds] of schedule.entries()) {
        expect(decide(later(), index + 1, rules({ random }))).toMatchObject({
          delayMs: Math.round(seconds * 1000 * part),
        })
      }
    },
  )

  test('never leaves those bounds', () => {
    for (let i = 0; i < 1000; i++) {
      const verdict = decide(later(), 3, rules({ random: Math.random() }))
      const delayMs = verdict.status === 'queued' ? verdict.delayMs : Number.NaN
      expect(delayMs).toBeGreaterThanOrEqual(20_000)
      expect(delayMs).toBeLessThanOrEqual(30_000)
    }
  })

  test.each([
    ['a longer Retry-After wins', 60_000, 60_000],
    ['a shorter one does not', 1000, 5000],
    ['none changes nothing', undefined, 5000],
    ['one of nothing changes nothing', 0, 5000],
    ['a negative one changes nothing', -1000, 5000],
  ])('%s', (_what, retryAfterMs, delayMs) => {
    expect(decide(later(retryAfterMs), 2, rules())).toMatchObject({ status: 'queued', delayMs })
  })

  test('a longer Retry-After is not shortened by the spread', () => {
    for (const random of [0, 0.5, 1]) {
      expect(decide(later(60_000), 2, rules({ random }))).toMatchObject({ delayMs: 60_000 })
    }
  })

  test('its wait is a whole number of milliseconds', () => {
    for (const retryAfterMs of [undefined, 5000.4, 1234.567]) {
      const verdict = decide(later(retryAfterMs), 1, rules({ random: 0.123456 }))
      expect(verdict).toMatchObject({ status: 'queued' })
      expect(verdict.status === 'queued' && Number.isInteger(verdict.delayMs)).toBe(true)
    }
  })
})

test('a limit that lasts until the next day costs one attempt a day, however short the delays are', () => {
  const day = 24 * 3_600_000
  const verdicts = schedule.map((_, index) => decide(later(day), index + 1, rules()))
  expect(verdicts).toEqual(schedule.map(() => ({ status: 'queued', reason: 'HTTP 503', delayMs: day })))
  expect(decide(later(day), schedule.length + 1, rules()).status).toBe('failed')
})

describe('the last attempt', () => {
  test('is one more than there are delays, and then the send has failed', () => {
    expect(decide(later(), 7, rules()).status).toBe('queued')
    const verdict = decide(later(), 8, rules())
    expect(verdict.status).toBe('failed')
    expect(verdict).toMatchObject({ reason: expect.stringMatching(/^HTTP 503.* \(the last attempt\)$/) })
  })

  test('is the first where there are no delays', () => {
    expect(decide(later(), 1, rules({ retryDelaysSeconds: [] })).status).toBe('failed')
  })

  test('is the last whatever Retry-After says', () => {
    expect(decide(later(1000), 8, rules()).status).toBe('failed')
  })

  test('a delay of 0 s is a delay', () => {
    expect(decide(later(), 1, rules({ retryDelaysSeconds: [0] }))).toMatchObject({
      status: 'queued',
      delayMs: 0,
    })
  })
})

describe('an uncertain call', () => {
  test('is held where the channel holds, for good', () => {
    for (const attempt of [1, 8]) {
      expect(decide(uncertain, attempt, rules())).toEqual({ status: 'uncertain', reason: 'connection lost' })
    }
  })

  test('is made again, after the delay, where the channel resends', () => {
    expect(decide(uncertain, 2, rules({ onUncertain: 'resend' }))).toEqual({
      status: 'queued',
      reason: 'connection lost',
      delayMs: 5000,
    })
  })

  test('when no resend is left, it stays uncertain, not failed', () => {
    // The provider may have it: nothing says that it failed.
    expect(decide(uncertain, 8, rules({ onUncertain: 'resend' })).status).toBe('uncertain')
  })
})

test.each<[OnUncertain]>([['hold'], ['resend']])(
  'a plain retry is the same where the channel would %s',
  (onUncertain) => {
    expect(decide(later(), 1, rules({ onUncertain }))).toMatchObject({ status: 'queued', delayMs: 1000 })
  },
)

describe('a call that was not made', () => {
  const notCalled: AttemptOutcome = { outcome: 'not_called', reason: 'no lease' }

  test.each([1, 7, 8, 100])('is made a second later, and does not count, also at attempt %i', (attempt) => {
    for (const onUncertain of ['hold', 'resend'] as const) {
      expect(decide(notCalled, attempt, rules({ onUncertain }))).toEqual({
        status: 'queued',
        reason: 'no lease',
        delayMs: 1000,
        isUncounted: true,
      })
    }
  })

  test('too late for its permit, keeps the time at which its send fell due, and asks for another permit at once', () => {
    expect(decide({ ...notCalled, keepsDueTime: true }, 1, rules())).toEqual({
      status: 'queued',
      reason: 'no lease',
      delayMs: 0,
      isUncounted: true,
      keepsDueTime: true,
    })
  })

  test('does not hold the channel, unlike a refusal of the channel', () => {
    expect(decide(notCalled, 1, rules())).not.toHaveProperty('holdsChannel')
    expect(decide({ outcome: 'channel_refused', fault: 'sender', reason: 'gone' }, 1, rules())).toMatchObject(
      {
        holdsChannel: true,
        isUncounted: true,
      },
    )
  })
})

describe('a late outcome', () => {
  test('that was sent makes the send sent', () => {
    expect(decideLate({ outcome: 'sent', providerMessageId: 'x' })).toEqual({ status: 'sent' })
  })

  test.each<AttemptOutcome>([
    { outcome: 'rejected', fault: 'recipient', reason: 'why' },
    { outcome: 'retry_later', fault: 'provider', reason: 'why' },
    { outcome: 'channel_refused', fault: 'sender', reason: 'why' },
    { outcome: 'not_called', reason: 'why' },
  ])('that was $outcome makes it failed, and never tries it again', (outcome) => {
    expect(decideLate(outcome)).toEqual({ status: 'failed', reason: 'why' })
  })

  test('that is uncertain changes nothing', () => {
    expect(decideLate(uncertain)).toBeUndefined()
  })
})

describe('a loss of the worker', () => {
  const claim = { worker: 'w1', losses: 0, attempt: 1, attemptsBeforeReplay: 0, mayHaveCalled: true }
  const resend = { onUncertain: 'resend' } as const
  const reason = expect.stringContaining('w1')

  test('is held where the channel holds, and names the worker', () => {
    expect(decideLoss(claim, rules())).toEqual({ status: 'uncertain', reason })
  })

  test('is followed by another attempt, after the delay, where the channel resends', () => {
    const second = { ...claim, attempt: 2 }
    expect(decideLoss(second, rules(resend))).toEqual({ status: 'queued', reason, delayMs: 5000 })
  })

  test('leaves the send uncertain in the last attempt', () => {
    expect(decideLoss({ ...claim, attempt: 7 }, rules(resend)).status).toBe('queued')
    expect(decideLoss({ ...claim, attempt: 8 }, rules(resend)).status).toBe('uncertain')
  })

  test.each<[OnUncertain]>([['hold'], ['resend']])(
    'before the call is followed by the same attempt soon, whatever the delays: %s',
    (onUncertain) => {
      const before = { ...claim, mayHaveCalled: false }
      expect(decideLoss(before, rules({ onUncertain }))).toEqual({ status: 'queued', reason, delayMs: 1000 })
      const last = decideLoss({ ...before, losses: 4 }, rules({ onUncertain }))
      expect(last).toEqual({ status: 'failed', reason: expect.stringMatching(ownReasons.givenUp) })
    },
  )

  test('restarts the count of attempts after a replay', () => {
    const replayed = { ...claim, attempt: 10, attemptsBeforeReplay: 8 }
    expect(decideLoss(replayed, rules(resend))).toMatchObject({ status: 'queued', delayMs: 5000 })
  })

  test.each<[OnUncertain]>([['hold'], ['resend']])('for the fifth time parks the send: %s', (onUncertain) => {
    const decisionAfter = (losses: number) => decideLoss({ ...claim, losses }, rules({ onUncertain }))
    for (const losses of [0, 1, 2, 3]) expect(decisionAfter(losses).status).not.toBe('failed')
    for (const losses of [4, 5]) {
      expect(decisionAfter(losses)).toEqual({
        status: 'failed',
        reason: expect.stringMatching(ownReasons.givenUp),
      })
    }
  })
})
