import { stat } from 'node:fs/promises'
import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { Deadline, DeadlinePassed } from '../../src/platform/deadline.ts'

test('work that is not done in time is given up', async () => {
  await expect(new Deadline(20).spend(new Promise(() => {}))).rejects.toThrow(DeadlinePassed)
})

test('what was answered while this process stood still counts as answered in time', async () => {
  // From here on timers come first, and only then what has been answered.
  await setImmediate()
  const spent = new Deadline(20).spend(stat('.'))
  const startedAt = performance.now()
  while (performance.now() - startedAt < 60);
  expect((await spent).isDirectory()).toBe(true)
})
