import { once } from 'node:events'
import { setImmediate } from 'node:timers/promises'
import { MessageChannel } from 'node:worker_threads'
import { expect, onTestFinished, test, vi } from 'vitest'
import { Deadline, DeadlinePassed } from '../../../src/platform/deadline.ts'

test('work that is not done in time is given up', async () => {
  await expect(new Deadline(20).spend(new Promise(() => {}))).rejects.toThrow(DeadlinePassed)
})

test('calls share the time, and time between them does not count', async () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const deadline = new Deadline(1000)
  for (const leftMs of [940, 880]) {
    const spent = deadline.spend(new Promise((done) => setTimeout(done, 60)))
    await vi.advanceTimersByTimeAsync(60)
    await spent
    expect(deadline.leftMs).toBe(leftMs)
  }
  await vi.advanceTimersByTimeAsync(60)
  expect(deadline.leftMs).toBe(880)
})

test('an answer that came while this process stood still counts as in time', async () => {
  // From here on timers come first, and only then what has been answered.
  await setImmediate()
  const { port1, port2 } = new MessageChannel()
  const deadline = new Deadline(40)
  const spent = deadline.spend(once(port1, 'message'))
  port2.postMessage('the answer')
  const startedAt = performance.now()
  while (performance.now() - startedAt < 60);
  expect(await spent).toMatchObject([expect.anything()])
  const { leftMs } = deadline
  await setImmediate()
  expect(deadline.leftMs).toBe(leftMs)
  port1.close()
})
