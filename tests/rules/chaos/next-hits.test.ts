import { expect, test } from 'vitest'
import { nextHits } from '../../chaos/phase.ts'

const nextHit = nextHits({
  inFlightAtKills: [
    { requestId: 'a', killedAt: 100 },
    { requestId: 'a', killedAt: 300 },
    { requestId: 'b', killedAt: 100 },
  ],
  waitingAtKills: [{ requestId: 'a', killedAt: 200 }],
})

test.each([
  { send: 'a', after: 100, next: 200, why: 'it waited when the next worker was killed' },
  { send: 'a', after: 200, next: 300, why: 'it was in flight at the next one' },
  { send: 'a', after: 300, next: Infinity, why: 'no worker was killed later' },
  { send: 'b', after: 100, next: Infinity, why: 'later kills did not hit it' },
])('a recovery from $after goes on until $next: $why', ({ send, after, next }) => {
  expect(nextHit(send, after)).toBe(next)
})
