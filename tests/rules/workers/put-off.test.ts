import { expect, test } from 'vitest'
import { PutOffs } from '../../../workers/sends/dispatch/put-off.ts'

const delaysOf = (putOffs: PutOffs, requestId: string, times: number) =>
  Array.from({ length: times }, () => {
    const outcome = putOffs.putOff(requestId, 'no means')
    return outcome.outcome === 'not_called' ? outcome.delayMs : undefined
  })

test('a send is put off for twice as long each time, up to a minute, and anew after it had what it needs', () => {
  const putOffs = new PutOffs(() => 0)
  expect(delaysOf(putOffs, 'a', 8)).toEqual([1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000])
  putOffs.forget('a')
  expect(delaysOf(putOffs, 'a', 1)).toEqual([1000])
})

test("sends that are put off together don't come back together", () => {
  const putOffs = new PutOffs()
  const delays = Array.from({ length: 100 }, (_, i) => delaysOf(putOffs, String(i), 7).at(-1) ?? 0)
  expect(Math.min(...delays)).toBeGreaterThanOrEqual(30_000)
  expect(Math.max(...delays)).toBeLessThanOrEqual(60_000)
  const seconds = new Set(delays.map((delayMs) => Math.floor(delayMs / 1000)))
  expect(seconds.size).toBeGreaterThan(15)
})
