import { expect, onTestFinished, test, vi } from 'vitest'
import { createLogger } from '../../../src/platform/log/logger.ts'
import { createTolerantWake } from '../../../src/queue/wake-sends.ts'

const wakeUps = [{ requestId: '01a2008f-5644-7058-8112-8a94d49971f5', overflowOf: null }]

test('while Redis fails, waking is tried each time and never throws, and each event is logged once a minute in a process', async () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const logged: string[] = []
  const log = createLogger('info', {
    write: (line) => {
      const { event, reason } = JSON.parse(line)
      logged.push(`${event}: ${reason}`)
    },
  })
  let tries = 0
  const throughBreaker = () => Promise.reject(new Error(`try ${++tries}`))
  const runtime = { shards: [{ throughBreaker }], log } as unknown as Parameters<typeof createTolerantWake>[0]
  const [wake, wakeLater, wakePermits] = ['lane', 'lane', 'permit'].map((one) =>
    createTolerantWake(runtime, `${one}_not_woken`),
  )
  await wake?.([])
  expect(tries).toBe(0)
  for (let second = 0; second < 90; second++) {
    await wake?.(wakeUps)
    await wakeLater?.(wakeUps)
    vi.advanceTimersByTime(1000)
  }
  await wakePermits?.(wakeUps)
  expect(tries).toBe(181)
  expect(logged).toEqual(['lane_not_woken: try 1', 'lane_not_woken: try 121', 'permit_not_woken: try 181'])
})
