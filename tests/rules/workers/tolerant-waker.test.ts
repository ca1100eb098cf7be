import { expect, onTestFinished, test, vi } from 'vitest'
import { type Queues, tolerantWaker } from '../../../workers/sends/wake.ts'

const wakeUps = [{ requestId: '01a2008f-5644-7058-8112-8a94d49971f5', overflowOf: null }]

test('while Redis fails, waking is tried each time and never throws, and its failure is reported once a minute', async () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  onTestFinished(() => void vi.useRealTimers())
  vi.advanceTimersByTime(1)
  let tries = 0
  const throughBreaker = () => Promise.reject(new Error(`try ${++tries}`))
  const reported: unknown[] = []
  const wake = tolerantWaker({ throughBreaker } as unknown as Queues, (error) => reported.push(error))
  await wake([])
  expect(tries).toBe(0)
  for (let second = 0; second < 90; second++) {
    await wake(wakeUps)
    vi.advanceTimersByTime(1000)
  }
  expect(tries).toBe(90)
  expect(reported).toEqual([new Error('try 1'), new Error('try 61')])
})
