import { expect, test } from 'vitest'
import { hasLostEachAttempt } from '../../chaos/faults/workers.ts'

const row = { requestId: 'a', onUncertain: 'resend' } as const
const phaseOf = (...requestIds: string[]) => ({
  inFlightAtKills: requestIds.map((requestId) => ({ requestId, killedAt: 0 })),
  world: { attempts: 3 },
})

test('a send may fail where a worker was killed at each of its attempts', () => {
  expect(hasLostEachAttempt(phaseOf('a', 'b', 'a', 'a'), row)).toBe(true)
})

test('a send may not fail while it has attempts left', () => {
  expect(hasLostEachAttempt(phaseOf('a', 'b', 'b', 'a'), row)).toBe(false)
})

test('a send that is held when its outcome is unknown may not fail', () => {
  expect(hasLostEachAttempt(phaseOf('a', 'a', 'a'), { ...row, onUncertain: 'hold' })).toBe(false)
})
