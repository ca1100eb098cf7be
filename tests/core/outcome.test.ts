import { describe, expect, test } from 'vitest'
import { judge, type OnUncertain, type Outcome, type RetryRules } from '../../src/core/outcome.ts'

const schedule = [1, 5, 25, 120, 600, 2400, 7200]

function rules(over: Partial<RetryRules> = {}): RetryRules {
  return { retryDelaysSeconds: schedule, onUncertain: 'hold', random: 0.5, ...over }
}

const later = (retryAfterMs?: number): Outcome => ({
  outcome: 'retry_later',
  reason: 'HTTP 503',
  retryAfterMs,
})
const uncertain: Outcome = { outcome: 'uncertain', reason: 'connection lost' }

test('sent ends a send', () => {
  expect(judge({ outcome: 'sent', providerMessageId: 'x' }, 1, rules())).toEqual({ status: 'sent' })
})

test('a refusal ends it at once, whatever the attempt', () => {
  for (const attempt of [1, 3, 8]) {
    expect(judge({ outcome: 'rejected', reason: 'no such number' }, attempt, rules())).toEqual({
      status: 'failed',
      reason: 'no such number',
    })
  }
})

describe('a retry', () => {
  test.each(schedule.map((seconds, index) => [index + 1, seconds] as const))(
    'after attempt %i waits %i s',
    (attempt, seconds) => {
      expect(judge(later(), attempt, rules())).toEqual({
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
  ])('is spread by a fifth to either side: at random %d it waits %d of the delay', (random, part) => {
    for (const [index, seconds] of schedule.entries()) {
      expect(judge(later(), index + 1, rules({ random }))).toMatchObject({
        delayMs: Math.round(seconds * 1000 * part),
      })
    }
  })

  test('never leaves those bounds', () => {
    for (let i = 0; i < 1000; i++) {
      const verdict = judge(later(), 3, rules({ random: Math.random() }))
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
    expect(judge(later(retryAfterMs), 2, rules())).toMatchObject({ status: 'queued', delayMs })
  })

  test('a longer Retry-After is not shortened by the spread', () => {
    for (const random of [0, 0.5, 1]) {
      expect(judge(later(60_000), 2, rules({ random }))).toMatchObject({ delayMs: 60_000 })
    }
  })

  test('its wait is a whole number of milliseconds', () => {
    for (const retryAfterMs of [undefined, 5000.4, 1234.567]) {
      const verdict = judge(later(retryAfterMs), 1, rules({ random: 0.123456 }))
      expect(verdict).toMatchObject({ status: 'queued' })
      expect(verdict.status === 'queued' && Number.isInteger(verdict.delayMs)).toBe(true)
    }
  })
})

describe('the last attempt', () => {
  test('is one more than there are delays, and then the send has failed', () => {
    expect(judge(later(), 7, rules()).status).toBe('queued')
    const verdict = judge(later(), 8, rules())
    expect(verdict.status).toBe('failed')
    expect(verdict).toMatchObject({ reason: expect.stringMatching(/^HTTP 503.*8/) })
  })

  test('is the first where there are no delays', () => {
    expect(judge(later(), 1, rules({ retryDelaysSeconds: [] })).status).toBe('failed')
  })

  test('is the last whatever Retry-After says', () => {
    expect(judge(later(1000), 8, rules()).status).toBe('failed')
  })

  test('a delay of 0 s is a delay', () => {
    expect(judge(later(), 1, rules({ retryDelaysSeconds: [0] }))).toMatchObject({
      status: 'queued',
      delayMs: 0,
    })
  })
})

describe('an uncertain call', () => {
  test('is held where the channel holds, for good', () => {
    for (const attempt of [1, 8]) {
      expect(judge(uncertain, attempt, rules())).toEqual({ status: 'uncertain', reason: 'connection lost' })
    }
  })

  test('is made again, after the delay, where the channel resends', () => {
    expect(judge(uncertain, 2, rules({ onUncertain: 'resend' }))).toEqual({
      status: 'queued',
      reason: 'connection lost',
      delayMs: 5000,
    })
  })

  test('a resend that may be made no more leaves it uncertain, not failed', () => {
    // The provider may have it: nothing says that it failed.
    expect(judge(uncertain, 8, rules({ onUncertain: 'resend' })).status).toBe('uncertain')
  })
})

test.each<[OnUncertain]>([['hold'], ['resend']])(
  'a plain retry is the same where the channel would %s',
  (onUncertain) => {
    expect(judge(later(), 1, rules({ onUncertain }))).toMatchObject({ status: 'queued', delayMs: 1000 })
  },
)
