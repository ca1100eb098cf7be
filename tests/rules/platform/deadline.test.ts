import { once } from 'node:events'
import { setImmediate } from 'node:timers/promises'
import { MessageChannel } from 'node:worker_threads'
import { expect, test } from 'vitest'
import { Deadline, DeadlinePassed } from '../../../src/platform/deadline.ts'

test('work that is not done in time is given up', async () => {
  await expect(new Deadline(20).spend(new Promise(() => {}))).rejects.toThrow(DeadlinePassed)
})

test('what was answered while this process stood still counts as answered in time', async () => {
  // From here on timers come first, and only then what has been answered.
  await setImmediate()
  const { port1, port2 } = new MessageChannel()
  const spent = new Deadline(20).spend(once(port1, 'message'))
  port2.postMessage('the answer')
  const startedAt = performance.now()
  while (performance.now() - startedAt < 60);
  expect(await spent).toMatchObject([expect.anything()])
  port1.close()
})
