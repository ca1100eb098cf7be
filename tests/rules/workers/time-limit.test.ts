import { randomBytes } from 'node:crypto'
import { stat } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { type Moved, withinTimeLimit } from '../../../workers/http/time-limit.ts'
import { expectSooner, StoodStill, timed } from '../../support/standstill.ts'

const timeoutMs = 400
const slowestBytesPerMs = 250
const timeToHeedMs = 1500
/** A further standstill of this length spoils the last test, which stands still by itself. */
const notableMs = 10

/** Work that moves so many bytes each 20 ms, so often, then does nothing more, and ends when its signal is aborted. */
async function work(signal: AbortSignal, moved: Moved, bytes: number, times: number, isHanging: boolean) {
  for (let i = 0; i < times && !signal.aborted; i++) {
    moved(bytes)
    await sleep(20)
  }
  if (isHanging && !signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve))
  return signal.aborted ? 'aborted' : 'done'
}

const run = (bytes: number, times: number, isHanging = false) =>
  timed(async () => ({
    result: await withinTimeLimit(
      timeoutMs,
      (signal, moved) => work(signal, moved, bytes, times, isHanging),
      'left behind',
    ),
  }))

test.concurrent('a call that moves bytes faster than a slow line may take longer than the timeout', async () => {
  const { result, tookMs } = await run(100 * slowestBytesPerMs, 100)
  expect(result).toBe('done')
  expect(tookMs).toBeGreaterThan(2 * timeoutMs)
})

test.concurrent('a call that hangs after moving many bytes ends one timeout later, not when a slow line would have', async () => {
  const { result, ...span } = await run(10_000 * slowestBytesPerMs, 3, true)
  expect(result).toBe('aborted')
  expectSooner(span, timeoutMs + timeToHeedMs)
})

test.concurrent('a call that trickles ends as soon as one that moves nothing', async () => {
  const { result, ...span } = await run(1, 1000)
  expect(result).toBe('aborted')
  expectSooner(span, timeoutMs + timeToHeedMs)
})

test.concurrent('a call that moves nothing ends after the timeout', async () => {
  const { result, ...span } = await run(0, 1, true)
  expect(result).toBe('aborted')
  expect(span.tookMs).toBeGreaterThanOrEqual(timeoutMs)
  expectSooner(span, timeoutMs + timeToHeedMs)
})

test('an answer that arrives while the process stands still at the end of the time is read before the call is aborted', async () => {
  // Both callbacks run when Node.js polls, like those of the network. The second one is due before the time limit's timer.
  const work = (signal: AbortSignal) =>
    new Promise((resolve) => {
      signal.addEventListener('abort', () => resolve('aborted'))
      const standStillAsTheAnswerComes = () => {
        randomBytes(16, () => resolve('answered'))
        for (const until = performance.now() + 200; performance.now() < until; );
      }
      setTimeout(() => stat('.', standStillAsTheAnswerComes), timeoutMs + 10)
    })
  const { result, stoodStillMs } = await timed(async () => ({
    result: await withinTimeLimit(timeoutMs, work, 'left behind'),
  }))
  // After a later standstill than this test's own, the answer came after the call was aborted.
  if (result === 'aborted' && stoodStillMs > notableMs) throw new StoodStill(`for ${stoodStillMs} ms`)
  expect(result).toBe('answered')
})
