import { expect, test } from 'vitest'
import type { Timeline } from '../../../../src/core/sends/timeline.ts'
import { withoutHosts } from '../../../../src/core/sends/worker-name.ts'

test.each([
  ['ip-10-0-0-1.internal-4711-b217b8', 'worker-b217b8'],
  ['worker-1-4711-b217b8', 'worker-b217b8'],
  ['worker-3e91b02c77e4', 'worker-3e91b02c77e4'],
])('a client sees the worker %s of an attempt as %s', (worker, shown) => {
  const events = [
    { at: '2026-11-21T11:43:07.654Z', event: 'attempt_started', attempt: 1, worker },
    { at: '2026-11-21T11:43:07.659Z', event: 'sent' },
  ]
  expect(withoutHosts({ events } as Timeline).events).toEqual([{ ...events[0], worker: shown }, events[1]])
})
